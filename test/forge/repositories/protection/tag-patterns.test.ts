import { describe, expect, it } from 'vitest'
import { compileTagPattern } from '../../../../src/forge/repositories/protection/tag-patterns.ts'

describe('a tag pattern', () => {
  it.each<[pattern: string, fits: string[], not: string[]]>([
    ['v1', ['v1'], ['V1', 'v1.0', 'xv1']],
    // Slashes are not special, unlike in branch patterns.
    ['v*', ['v', 'v1/2', 'v\n'], ['V1', '1v']],
    ['v?', ['v1', 'v/', 'vü'], ['v', 'v12']],
    ['v[0-9]', ['v5'], ['va', 'v[0-9]']],
    ['v[!0-9]', ['va'], ['v5', 'v']],
    ['v[^0]', ['v^', 'v0'], ['v1']],
    ['[\\]x]', [']', 'x'], ['\\']],
    ['[a\\-z]', ['-', 'a', 'z'], ['b']],
    ['[\\d]', ['d'], ['5', '\\']],
    ['[[:alpha:]]', [':]', 'a]', '[]'], ['b', 'b]']],
    ['{v,release-}[0-9]*', ['v1', 'release-1.0'], ['x1', '{v,release-}1']],
    ['{a,{b,c}d}', ['a', 'bd', 'cd'], ['b']],
    ['a,b', ['a,b'], ['a', 'b']],
    ['a\\*', ['a*'], ['ab', 'a\\*']],
    ['(a|b).+$', ['(a|b).+$'], ['ax']],
    ['v]', ['v]'], ['v']],
    ['/^v[0-9]/', ['v1', 'v1-rc'], ['rv1', '/v1/']],
    ['/rc/', ['v1-rc1'], ['v1-RC1']],
    ['/(?i)rc$/', ['v1-RC'], ['rc1']],
    // Two slashes without content are a glob.
    ['/', ['/'], ['']],
    ['//', ['//'], ['x']],
  ])('%s matches some names and not others', (pattern, fits, not) => {
    const matches = compileTagPattern(pattern)
    expect(fits.filter((name) => !matches?.(name))).toEqual([])
    expect(not.filter((name) => matches?.(name))).toEqual([])
  })

  it.each([
    ['left open', '['],
    ['left open', 'a[b'],
    ['left open', '{a'],
    ['left open', 'a\\'],
    ['closed before it was opened', 'a}'],
    ['a range backwards', '[z-a]'],
    ['no regular expression', '/(/'],
    ['one that goes back', '/(a)\\1/'],
    ['one that looks ahead', '/(?=v)/'],
    ['too expensive', '/((a{1,100}){1,100}){1,100}/'],
    ['too expensive', `/${'(a*)*'.repeat(50)}{1,1000}/`],
    ['too long', 'a'.repeat(256)],
  ])('cannot be %s: %s', (_, pattern) => {
    expect(compileTagPattern(pattern)).toBeUndefined()
  })

  it('may have the maximum length', () => {
    expect(compileTagPattern('x'.repeat(255))?.('x'.repeat(255))).toBe(true)
  })
})
