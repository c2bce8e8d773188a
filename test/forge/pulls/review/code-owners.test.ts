import { describe, expect, it } from 'vitest'
import { ownersOf, parseCodeOwners } from '../../../../src/forge/pulls/review/code-owners.ts'

/** The owners by the rules alone, however long a busy machine takes. */
const owners = (text: string, ...paths: string[]) =>
  ownersOf(parseCodeOwners(text), paths, Number.POSITIVE_INFINITY)

describe('a file CODEOWNERS', () => {
  it.each<[title: string, text: string, paths: string[], names: string[]]>([
    [
      'names people and teams',
      'a.txt @bob carol @acme/crew',
      ['a.txt'],
      ['bob', 'carol', 'acme/crew'],
    ],
    ['is about whole paths', 'a @bob', ['a.txt', 'x/a'], []],
    ['has alternatives for whole paths', 'a|b @bob', ['ax', 'xb'], []],
    ['has expressions', String.raw`src/.*\\.go @bob`, ['src/x/y.go'], ['bob']],
    [
      'has backslashes that take the meaning of one character',
      String.raw`with\ space @bob`,
      ['with space'],
      ['bob'],
    ],
    [
      'has a dot for any character, behind one backslash too',
      String.raw`a\.go @bob`,
      ['axgo'],
      ['bob'],
    ],
    ['has remarks', 'a @bob # and @carol', ['a'], ['bob']],
    ['may have nothing but remarks', '# a @bob', ['a'], []],
    ['turns an expression round', '!docs/.* @bob', ['docs/a', 'src/b'], ['bob']],
    ['turns an expression round for each file', '!docs/.* @bob', ['docs/a'], []],
    ['has rules that add up', 'a @bob\na|b\t@carol\n', ['a'], ['bob', 'carol']],
    ['comes from other systems too', 'a @bob\r\nb @carol\r\n', ['b'], ['carol']],
    ['may name nobody', 'a', ['a'], []],
    ['may be wrong in places', '( @bob\na @carol', ['a'], ['carol']],
    ['may be too expensive in places', `${'(a{1,100}){1,100}'} @bob\na @carol`, ['a'], ['carol']],
    ['may be empty', '', ['a'], []],
    ['is about the same names in other characters', 'caf\u00e9 @bob', ['cafe\u0301'], ['bob']],
  ])('%s', async (_, text, paths, names) => {
    expect(await owners(text, ...paths)).toEqual(names)
  })

  it('has a limited number of rules', async () => {
    const text = Array.from({ length: 300 }, (_, i) => `a @user${i}`).join('\n')
    expect(await owners(text, 'a')).toHaveLength(200)
  })

  it('takes linear time for every expression', async () => {
    expect(await owners('(a|a?)+(a|aa)+(a|a?)+b @carol', 'a'.repeat(4_000))).toEqual([])
  })

  it('requests too many reviewers rather than too few when the time is up', async () => {
    const matches = () => {
      // Longer than a turn.
      for (const begun = performance.now(); performance.now() - begun < 15; );
      return false
    }
    const rules = [{ matches, names: ['bob'] }, ...parseCodeOwners('z @carol')]
    expect(await ownersOf(rules, ['a', 'b'], 0)).toEqual(['bob', 'carol'])
    expect(await ownersOf(rules, ['a'], Number.POSITIVE_INFINITY)).toEqual([])
  })
})
