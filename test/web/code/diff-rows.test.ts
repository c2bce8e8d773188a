import { describe, expect, it } from 'vitest'
import {
  changedWords,
  linesToShow,
  matchesOf,
  sideBySide,
} from '../../../src/web/code/diff-rows.ts'
import type { DiffLine } from '../../../src/web/code/diff-text.ts'

const removed = (text: string, oldNumber = 1): DiffLine => ({ kind: 'removed', text, oldNumber })
const added = (text: string, newNumber = 1): DiffLine => ({ kind: 'added', text, newNumber })
const note: DiffLine = { kind: 'note', text: 'No newline at end of file' }

/** The changed parts of both lines. */
const changes = (before: string, after: string) =>
  changedWords(before, after)?.map((parts) =>
    parts.filter(({ isChanged }) => isChanged).map(({ text }) => text),
  )

describe('matches of two lists', () => {
  it.each([
    ['abcdef', 'abxdef', 'abdef'],
    ['', 'abc', ''],
    ['abc', 'abc', 'abc'],
    ['abcbdab', 'bdcaba', 'bcba'],
    ['xaby', 'ab', 'ab'],
  ])('are the longest common subsequence: %s and %s', (one, other, common) => {
    const matches = matchesOf([...one], [...other])
    expect(matches.map(([i]) => one[i]).join('')).toHaveLength(common.length)
    expect(matches.every(([i, j]) => one[i] === other[j])).toBe(true)
  })

  it('of long lists are found at both ends only', () => {
    const long = (letter: string) => Array.from({ length: 600 }, (_, i) => `${letter}${i}`)
    const [one, other] = [
      ['a', ...long('x'), 'z'],
      ['a', ...long('y'), 'x1', 'z'],
    ]
    expect(matchesOf(one, other)).toEqual([
      [0, 0],
      [601, 602],
    ])
  })
})

describe('changed words', () => {
  it.each([
    ['const a = 1', 'const b = 1', ['a'], ['b']],
    ['call(one, two)', 'call(one, two, three)', [], [', three']],
    ['return größe', 'return größer', ['größe'], ['größer']],
  ])('are marked: %s and %s', (before, after, first, second) => {
    expect(changes(before, after)).toEqual([first, second])
  })

  it('are not looked for in lines that have little in common, or that are long', () => {
    expect(changedWords('import fs', 'a quite different line')).toBeUndefined()
    expect(changedWords('x '.repeat(1000), 'x '.repeat(1001))).toBeUndefined()
  })

  it('never change the text of a line', () => {
    const [before, after] = ['if (a  && 😀) {', 'if (a && b && 😀) {']
    const text = (parts: readonly { text: string }[] = []) => parts.map((p) => p.text).join('')
    expect(changedWords(before, after)?.map(text)).toEqual([before, after])
  })
})

describe('lines to show', () => {
  it('mark the words of a removed line and its successor', () => {
    const [first, second, third] = linesToShow(
      [removed('let a = 1'), added('let b = 1'), added('more', 2)],
      '',
    )
    expect(first?.parts?.find(({ isChanged }) => isChanged)?.text).toBe('a')
    expect(second?.parts?.find(({ isChanged }) => isChanged)?.text).toBe('b')
    expect(third?.parts).toBeUndefined()
  })

  it.each([
    ['ignore-eol', 'let a = 1  ', true],
    ['ignore-eol', '  let a = 1', false],
    ['ignore-change', 'let  a = 1', true],
    ['ignore-change', 'let a=1', false],
    ['ignore-all', '  let a=1', true],
    ['', 'let a = 1 ', false],
  ] as const)('with %s, %s is the same or not', (mode, text, isSame) => {
    const kinds = linesToShow([removed('let a = 1', 3), added(text, 4)], mode)
    if (isSame) expect(kinds).toEqual([{ kind: 'same', text, oldNumber: 3, newNumber: 4 }])
    else expect(kinds.map(({ kind }) => kind)).toEqual(['removed', 'added'])
  })

  it('keep the changes around a line that is the same without white space', () => {
    const lines = [removed('a', 1), removed('b', 2), added('x', 1), added('  b', 2), added('c', 3)]
    expect(linesToShow(lines, 'ignore-all').map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'removed a',
      'added x',
      'same   b',
      'added c',
    ])
  })
})

describe('two columns', () => {
  it('have removed lines on the left, and added ones on the right', () => {
    const same: DiffLine = { kind: 'same', text: 's', oldNumber: 2, newNumber: 2 }
    const hunk: DiffLine = { kind: 'hunk', text: '@@ -1 +1 @@' }
    const [out, in1, in2] = [removed('a'), added('b'), added('c', 2)]
    expect(sideBySide([hunk, out, in1, in2, same])).toEqual([
      { whole: hunk },
      { left: out, right: in1 },
      { left: undefined, right: in2 },
      { left: same, right: same },
    ])
  })

  it('have notes below the lines that they belong to', () => {
    const [out, inside] = [removed('a'), added('b')]
    expect(sideBySide([out, note, inside])).toEqual([{ left: out, right: inside }, { whole: note }])
  })

  it('begin anew with a removed line behind an added one', () => {
    const [in1, out] = [added('b'), removed('a')]
    expect(sideBySide([in1, out])).toEqual([
      { left: undefined, right: in1 },
      { left: out, right: undefined },
    ])
  })
})
