import { describe, expect, it } from 'vitest'
import { replaceLines, suggestionOf } from '../../../../src/forge/pulls/review/suggestions.ts'

const proposed = (body: string, line = 5) => suggestionOf({ body, side: 'new', line })

describe('the suggestion of a comment', () => {
  it.each<[title: string, body: string, range: readonly [number, number], lines: string[]]>([
    ['a line', '```suggestion\nx\n```', [5, 5], ['x']],
    ['no line', '```suggestion\n```', [5, 5], []],
    ['an empty line', '```suggestion\n\n```', [5, 5], ['']],
    ['lines around', '```suggestion:-1+2\nx\n```', [4, 7], ['x']],
    ['no line before the first', '```suggestion:-9+0\nx\n```', [1, 5], ['x']],
    ['line ends of browsers', 'Hm.\r\n~~~ suggestion\r\nx\r\ny\r\n~~~\r\n', [5, 5], ['x', 'y']],
    ['an indented fence', '  ```suggestion\n    x\n y\n  ```', [5, 5], ['  x', 'y']],
    ['shorter fences', '````suggestion\n```\n````', [5, 5], ['```']],
    ['a block after others', '```js\n```\n```suggestion\nx\n```', [5, 5], ['x']],
    ['the first one', '```suggestion\nx\n```\n```suggestion\ny\n```', [5, 5], ['x']],
  ])('has %s', (_, body, [from, to], lines) => {
    expect(proposed(body)).toEqual({ from, to, lines })
  })

  it.each([
    ['without an end', '```suggestion\nx'],
    ['inside another block', '````\n```suggestion\nx\n```\n````'],
    ['of another language', '```suggestions\nx\n```'],
    ['with a tick in its language', '```suggestion`\nx\n```'],
  ])('is no block %s', (_, body) => {
    expect(proposed(body)).toBeUndefined()
  })

  it('is for a line of the head', () => {
    const body = '```suggestion\nx\n```'
    expect(suggestionOf({ body, side: 'old', line: 5 })).toBeUndefined()
    expect(proposed(body, 0)).toBeUndefined()
  })
})

describe('replaced lines', () => {
  const replace = (text: string, from: number, to: number, ...lines: string[]) =>
    replaceLines(Buffer.from(text), [{ from, to, lines }])?.toString()

  it.each<[text: string, from: number, to: number, lines: string[], result: string | undefined]>([
    ['a\nb\nc\n', 2, 2, ['x', 'y'], 'a\nx\ny\nc\n'],
    ['a\nb\nc\n', 1, 2, [], 'c\n'],
    ['a\r\nb\r\n', 2, 2, ['x', 'y'], 'a\r\nx\r\ny\r\n'],
    ['a\nb', 2, 2, ['x', 'y'], 'a\nx\ny'],
    ['a\r\nb', 2, 2, ['x', 'y'], 'a\r\nx\r\ny'],
    ['a', 1, 1, ['x', 'y'], 'x\ny'],
    ['a\n', 2, 2, ['x'], undefined],
    ['a\n', 1, 2, ['x'], undefined],
    ['', 1, 1, ['x'], undefined],
  ])('of %j from %i to %i', (text, from, to, lines, result) => {
    expect(replace(text, from, to, ...lines)).toBe(result)
  })

  it('keep bytes of other encodings, and are replaced several at a time', () => {
    const content = Buffer.from([0xe4, 0x0a, 0x62, 0x0a, 0xff, 0x0a])
    const suggestions = [
      { from: 1, to: 1, lines: ['ä', ''] },
      { from: 2, to: 2, lines: ['ü'] },
    ]
    expect(replaceLines(content, suggestions)).toEqual(
      Buffer.concat([Buffer.from('ä\n\nü\n'), Buffer.from([0xff, 0x0a])]),
    )
  })
})
