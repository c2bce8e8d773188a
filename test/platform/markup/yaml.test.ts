import { describe, expect, it } from 'vitest'
import { parseYaml } from '../../../src/platform/markup/yaml.ts'

const VALUES: readonly (readonly [string, unknown])[] = [
  ['', null],
  ['a: &x [1]\nb: *x', { a: [1], b: [1] }],
  [
    'a: .nan\nb: -.inf\nc: yes\nd: 1.5\ne: 0x10',
    { a: '.nan', b: '-.inf', c: 'yes', d: 1.5, e: 16 },
  ],
  ['<<: {a: 1}', { '<<': { a: 1 } }],
  [`${'- '.repeat(30)}a`, JSON.parse(`${'['.repeat(30)}"a"${']'.repeat(30)}`)],
]

const FAULTS: readonly (readonly [string, RegExp])[] = [
  ['a: !!str 1', /has a tag/],
  ['a: !own {b: 1}', /has a tag/],
  ['a: *b', /\bb\b/],
  ['a: &a [*a]', /nested too deeply/],
  [`${'- '.repeat(40)}a`, /nested too deeply/],
  ['['.repeat(100_000), /nested too deeply|call stack/],
  [`a: &a 1\nb: [${'*a,'.repeat(101)}]`, /too many aliases/],
  [`a: &a [${'x,'.repeat(20_000)}]\nb: [${'*a,'.repeat(99)}]`, /too large/],
  ['a: 1\na: 2', /key a appears twice/],
  ['a: b\n---\nc: d', /multiple documents/],
  ['a: b\n- [', /^line 2: /],
]

describe('YAML', () => {
  it.each(VALUES)('has a value: %j', (text, value) => {
    expect(parseYaml(text)).toEqual({ value })
  })

  it('has keys that are no members of objects', () => {
    const result = parseYaml('__proto__: {a: 1}')
    expect(JSON.stringify(result)).toBe('{"value":{"__proto__":{"a":1}}}')
  })

  it.each(FAULTS)('has a fault: %#', (text, fault) => {
    expect(parseYaml(text)).toEqual({ error: expect.stringMatching(fault) })
  })
})
