import { describe, expect, it } from 'vitest'
import { compileGlob, type Separators } from '../../../../src/forge/core/globs.ts'
import {
  branchMatcher,
  compileTagPattern,
  fileMatcher,
  isBranchGlob,
  isFileList,
} from '../../../../src/forge/repositories/protection/patterns.ts'
import { seededRandom } from '../../../platform/rpc/rest/random.ts'

describe('the name of a branch protection', () => {
  it.each<[name: string, isGlob: boolean, fits: string[], not: string[]]>([
    ['main', false, ['main', 'MAIN'], ['main2', 'xmain', 'main/x', '']],
    ['Größe', false, ['größe', 'GRÖßE'], ['grösse']],
    ['a.b+c', false, ['A.B+C'], ['axb+c', 'a.bbc']],
    [
      'release/*',
      true,
      ['release/1', 'release/', 'release/1.0-rc'],
      ['release', 'release/1/2', 'Release/1', 'x/release/1'],
    ],
    ['release/**', true, ['release/1', 'release/1/2', 'release/'], ['release', 'release1']],
    ['**/x', true, ['a/x', 'a/b/x', '/x'], ['x', 'a/x/b']],
    ['*', true, ['main', ''], ['a/b']],
    ['**', true, ['main', 'a/b', 'ä\n'], []],
    ['v?', true, ['v1', 'vü'], ['v', 'v12', 'v/']],
    ['v[0-9]', true, ['v5'], ['va', 'v55']],
    ['v[!0-9]', true, ['va'], ['v5', 'v']],
    ['{main,dev/*}', true, ['main', 'dev/x'], ['dev', 'dev/x/y', 'Main']],
    ['{a,b}{c,d}', true, ['ac', 'bd'], ['ab', 'a']],
    ['a\\*', true, ['a*'], ['ab', 'a\\*']],
    ['*.*', true, ['a.b', '.'], ['ab', 'a/.b']],
    // Invalid globs match literally.
    ['a[', true, ['a['], ['A[', 'a']],
    ['{a', true, ['{a'], ['a']],
    ['x\\', true, ['x\\'], ['x']],
  ])('%s matches branches', (name, isGlob, fits, not) => {
    expect(isBranchGlob(name)).toBe(isGlob)
    expect(fits.filter((branch) => !branchMatcher(name)(branch))).toEqual([])
    expect(not.filter((branch) => branchMatcher(name)(branch))).toEqual([])
  })
})

describe('a list of file patterns', () => {
  it.each<[patterns: string, fits: string[], not: string[]]>([
    ['README.md', ['README.md', 'readme.MD'], ['docs/README.md', 'README.mdx']],
    ['docs/**', ['docs/a', 'docs/a/b.md', 'DOCS/x'], ['docs', 'mydocs/a']],
    ['docs/*', ['docs/a'], ['docs/a.md', 'docs/a/b']],
    ['docs/*.*', ['docs/a.md'], ['docs/a', 'docs/a.tar.gz']],
    ['*.md', ['a.md', 'A.MD'], ['docs/a.md', 'a.b.md']],
    ['**.md', ['a.md', 'docs/a.md', 'a.b.md'], ['a.mdx']],
    ['a?c', ['abc', 'aüc'], ['a.c', 'a/c']],
    ['.github/**', ['.github/workflows/ci.yml'], ['github/x']],
    [' a ; ;; B;c[ ', ['a', 'b', 'B'], ['c[', 'c', '']],
    ['größe.txt', ['Größe.txt', 'GRÖßE.TXT'], ['grösse.txt']],
    // As one who checks this out where names are composed gets another file of the same name.
    ['größe.txt', ['Gro\u0308ße.txt'], ['gr\u0308öße.txt']],
    ['o\u0308?', ['öx'], ['ö']],
  ])('%s matches some paths and not others', (patterns, fits, not) => {
    const matches = fileMatcher(patterns).matches ?? (() => false)
    expect(fits.filter((path) => !matches(path))).toEqual([])
    expect(not.filter((path) => matches(path))).toEqual([])
  })

  it.each(['', ' ', ';', ' ; ; '])('%j has none', (patterns) => {
    expect(fileMatcher(patterns).matches).toBeUndefined()
  })

  it('has at most 100 patterns of limited length', () => {
    expect(isFileList('a;'.repeat(100))).toBe(true)
    expect(isFileList('a;'.repeat(101))).toBe(false)
    const longest = `a;${'b'.repeat(255)}`
    expect(isFileList(longest)).toBe(true)
    expect(fileMatcher(longest).matches?.('b'.repeat(255))).toBe(true)
    expect(isFileList(`${longest}b`)).toBe(false)
  })
})

/** A part of a glob, with its text. */
type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'star' | 'stars' | 'one' }
  | { readonly kind: 'class'; readonly negated: boolean; readonly members: string }
  | { readonly kind: 'choice'; readonly options: readonly (readonly Piece[])[] }

/** Matches by backtracking, which is exponential on bad patterns but simple enough to be right. */
function fitsNaively(pieces: readonly Piece[], text: string, separators: Separators): boolean {
  const [piece, ...rest] = pieces
  if (!piece) return text === ''
  const isSeparator = (character: string | undefined) =>
    character !== undefined && separators.includes(character)
  const [first] = text
  switch (piece.kind) {
    case 'text':
      return (
        text.startsWith(piece.text) && fitsNaively(rest, text.slice(piece.text.length), separators)
      )
    case 'one':
      return (
        first !== undefined && !isSeparator(first) && fitsNaively(rest, text.slice(1), separators)
      )
    case 'class':
      return (
        first !== undefined &&
        piece.members.includes(first) !== piece.negated &&
        fitsNaively(rest, text.slice(1), separators)
      )
    case 'star':
    case 'stars': {
      if (fitsNaively(rest, text, separators)) return true
      const mayTake = first !== undefined && (piece.kind === 'stars' || !isSeparator(first))
      return mayTake && fitsNaively(pieces, text.slice(1), separators)
    }
    case 'choice':
      return piece.options.some((option) => fitsNaively([...option, ...rest], text, separators))
  }
}

function globOf(pieces: readonly Piece[]): string {
  return pieces
    .map((piece) => {
      if (piece.kind === 'text') return piece.text.replace(/[*?{},[\]\\]/g, '\\$&')
      if (piece.kind === 'class') return `[${piece.negated ? '!' : ''}${piece.members}]`
      if (piece.kind === 'choice') return `{${piece.options.map(globOf).join(',')}}`
      return { star: '*', stars: '**', one: '?' }[piece.kind]
    })
    .join('')
}

describe('any glob', () => {
  it.each<Separators>(['', '/', './'])(
    'fits what it fits by the definition, with separators %j',
    (separators) => {
      const random = seededRandom(7 + separators.length)
      const randomText = (limit: number) =>
        Array.from({ length: random.below(limit) }, () =>
          random.pick(['a', 'b', '/', '.', '*', '{', '\\', '+']),
        ).join('')
      const randomPieces = (depth: number): Piece[] =>
        Array.from({ length: 1 + random.below(3) }, () => randomPiece(depth)).flat()
      const randomPiece = (depth: number): Piece[] => {
        const kind = random.pick([
          'text',
          'text',
          'star',
          'stars',
          'one',
          'class',
          depth > 0 ? 'choice' : 'text',
        ])
        if (kind === 'class')
          return [
            { kind, negated: random.below(2) === 0, members: random.pick(['ab', '/.', 'a/', 'b']) },
          ]
        if (kind === 'choice')
          return [{ kind, options: [randomPieces(depth - 1), randomPieces(depth - 1)] }]
        if (kind === 'one') return [{ kind }]
        // Two adjacent stars would be another wildcard.
        const text: Piece = {
          kind: 'text',
          text: random.pick(['a', 'b', '/', '.', '{', '*', '\\']),
        }
        return kind === 'text' ? [text] : [{ kind: kind as 'star' | 'stars' }, text]
      }
      let fitting = 0
      for (let round = 0; round < 4_000; round += 1) {
        const pieces = randomPieces(2)
        const glob = globOf(pieces)
        const text = randomText(8)
        const fits = compileGlob(glob, separators)?.(text)
        expect([glob, text, fits]).toEqual([glob, text, fitsNaively(pieces, text, separators)])
        if (fits) fitting += 1
      }
      expect(fitting).toBeGreaterThan(100)
    },
  )
})

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
