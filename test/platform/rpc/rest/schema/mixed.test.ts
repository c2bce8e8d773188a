import { describe, expect, it } from 'vitest'
import {
  type MixedPart,
  parseTemplate,
} from '../../../../../src/platform/rpc/rest/schema/template.ts'
import {
  compareMixed,
  mixedShape,
  splitMixed,
} from '../../../../../src/platform/rpc/rest/schema/tree.ts'
import { seededRandom } from '../random.ts'

function partsOf(segment: string): readonly MixedPart[] {
  const [parsed] = parseTemplate(`/${segment}`, 'extended').segments
  if (parsed?.kind !== 'mixed') throw new Error(`${segment} is not mixed`)
  return parsed.parts
}

describe('splitMixed', () => {
  it.each<[string, string, string[] | undefined]>([
    ['{i}.{k=diff|patch}', '12.diff', ['12', 'diff']],
    ['{i}.{k=diff|patch}', 'v1.2.diff', ['v1.2', 'diff']],
    ['{i}.{k=diff|patch}', '12', undefined],
    ['{i}.{k=diff|patch}', '12.zip', undefined],
    ['{i}.{k=diff|patch}', '12.DIFF', undefined], // case-sensitive
    ['{i}.{k=diff|patch}', '.diff', undefined], // no part is empty
    ['{r}.{f=zip|tar.gz}', 'v1.tar.gz', ['v1', 'tar.gz']], // the dot stands as far right as the alternatives allow
    ['{r}.{f=gz|tar.gz}', 'v1.tar.gz', ['v1.tar', 'gz']], // both fit: the dot further right wins
    ['{base}...{head}', 'main...dev', ['main', 'dev']],
    ['{base}...{head}', 'a....b', ['a.', 'b']],
    ['{base}...{head}', 'a......b', ['a...', 'b']],
    ['{base}...{head}', 'main...', undefined],
    ['{base}...{head}', '...dev', undefined],
    ['{a}.{b}.{c}', 'p.q.r.s', ['p.q', 'r', 's']],
    ['{a}.{b}.{c}', '...', undefined],
    ['{a}.{b}.{c}', '.....', ['.', '.', '.']],
    ['v{n}', 'v1', ['1']],
    ['v{n}', 'v', undefined],
    ['{n}.json', 'a.json.json', ['a.json']],
    ['{k=a|b}', 'b', ['b']],
    ['{k=a|b}', 'ab', undefined],
    ['{a=p|q}.{b}', 'p.x.y', ['p', 'x.y']], // not p.x and y: p.x is no alternative
    ['{a=p|q}.{k=x|x.x}', 'p.x.x', ['p', 'x.x']], // the shorter alternative leaves p.x
    ['x{a}x', 'xx', undefined], // the same character cannot be two literals
    ['x{a}x', 'xxx', ['x']],
  ])('splits along %s the text %s', (segment, text, values) => {
    expect(splitMixed(partsOf(segment), text)).toEqual(values)
  })

  it('finds the same split as an exhaustive search', () => {
    const segments = [
      '{a}.{b}',
      '{a}.{b}.{c}',
      '{a=x|x.x}.{b}',
      '{a}.{b=x|.x|x.x}',
      '{a}x{b}.{c=.|x}',
      '.{a=x|x.}.{b}x',
      '{a=x|xx}.{b}.{c}',
    ] as const
    const random = seededRandom(2)
    let matches = 0
    for (let i = 0; i < 5000; i++) {
      const parts = partsOf(random.pick(segments))
      const text = Array.from({ length: random.below(9) }, () => random.pick(['x', '.', 'y'])).join(
        '',
      )
      const expected = firstSplit(parts, text)
      expect(splitMixed(parts, text), `${mixedShape(parts)} ${text}`).toEqual(expected)
      if (expected !== undefined) matches++
    }
    expect(matches).toBeGreaterThan(500)
  })

  it('takes linear time for a long text with many positions of each literal', () => {
    const text = '.'.repeat(200_000)
    expect(splitMixed(partsOf('{a=p}.{b}.{c}.{d}'), text)).toBeUndefined()
    expect(splitMixed(partsOf('{a}.{b}.{c}.{d=x|y}'), text)).toBeUndefined()
  })
})

/**
 * The specification in its slowest form: from the right end, the shortest text of each variable
 * that lets the rest fit.
 */
function firstSplit(parts: readonly MixedPart[], text: string): string[] | undefined {
  const part = parts.at(-1)
  if (part === undefined) return text === '' ? [] : undefined
  const rest = parts.slice(0, -1)
  if (part.kind === 'literal') {
    return text.endsWith(part.text)
      ? firstSplit(rest, text.slice(0, text.length - part.text.length))
      : undefined
  }
  for (let length = 1; length <= text.length; length++) {
    const value = text.slice(text.length - length)
    if (part.alternatives.length > 0 && !part.alternatives.includes(value)) continue
    const before = firstSplit(rest, text.slice(0, text.length - length))
    if (before !== undefined) return [...before, value]
  }
  return undefined
}

describe('mixedShape', () => {
  it('ignores names and the order of alternatives', () => {
    expect(mixedShape(partsOf('{a}.{b=x|yy}'))).toBe(mixedShape(partsOf('{c}.{d=yy|x}')))
    expect(mixedShape(partsOf('{a}.{b=x|yy}'))).not.toBe(mixedShape(partsOf('{a}.{b=x}')))
    expect(mixedShape(partsOf('{a}.{b}'))).not.toBe(mixedShape(partsOf('{a}-{b}')))
  })
})

describe('compareMixed', () => {
  it('sorts by alternatives, then literal characters, then shape', () => {
    // '-' sorts before '.', which decides only because everything else is equal.
    const ordered = ['{a}.{b=x|y}', '{a=x|y}', '{a}...{b}', '{a}-{b}', '{a}.{b}']
    const random = seededRandom(3)
    for (let i = 0; i < 20; i++) {
      expect(random.shuffle(ordered).sort((a, b) => compareMixed(partsOf(a), partsOf(b)))).toEqual(
        ordered,
      )
    }
  })
})
