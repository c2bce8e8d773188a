import { expect, it } from 'vitest'
import { lineDiff } from '../../../src/web/code/line-diff.ts'

const textOf = (before: string, after: string) =>
  lineDiff(before, after).map(({ kind, text }) => `${SIGNS[kind]}${text}`)

const SIGNS = { added: '+', removed: '-', same: ' ', hunk: '', note: '\\ ' }

it('shows changed lines with the lines around them, as Git does', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n'
  expect(textOf(before, before.replace('b\n', 'B\nbb\n').replace('l\n', 'l'))).toEqual([
    '@@ -1,5 +1,6 @@',
    ' a',
    '-b',
    '+B',
    '+bb',
    ' c',
    ' d',
    ' e',
    '@@ -9,4 +10,4 @@',
    ' i',
    ' j',
    ' k',
    '-l',
    '+l',
    '\\ No newline at end of file',
  ])
  expect(textOf('', 'a\n')).toEqual(['@@ -0,0 +1,1 @@', '+a'])
  expect(textOf('a\n', '')).toEqual(['@@ -1,1 +0,0 @@', '-a'])
  expect(textOf(before, before)).toEqual([])
})

it('finds the fewest changes, and leads from one text to the other', () => {
  let seed = 1
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const text = () => Array.from({ length: random(12) }, () => `${'abc'[random(3)]}\n`).join('')
  for (let i = 0; i < 2000; i++) {
    const [before, after] = [text(), text()]
    // All lines are near a change of so short texts, unless they are equal.
    const lines = lineDiff(before, after).filter(({ kind }) => kind !== 'hunk')
    const side = (left: string) =>
      lines.filter(({ kind }) => kind !== left).map((line) => `${line.text}\n`)
    const shown = (whole: string, part: string[]) =>
      whole.includes(part.join('')) || before === after
    expect(shown(before, side('added')) && shown(after, side('removed'))).toBe(true)
    const changes = lines.filter(({ kind }) => kind !== 'same').length
    expect(changes).toBe(fewestChanges(before.split('\n'), after.split('\n')))
  }
})

it('shows texts that have little in common as one change', () => {
  const text = (letter: string) => `${letter}\n`.repeat(5000)
  const lines = lineDiff(text('a'), text('b'))
  expect(lines).toHaveLength(10_001)
})

/** The number of lines that differ, by the longest common subsequence. */
function fewestChanges(before: readonly string[], after: readonly string[]): number {
  const common = before.map(() => after.map(() => 0))
  const at = (i: number, j: number) => common[i]?.[j] ?? 0
  for (const [i, left] of before.entries())
    for (const [j, right] of after.entries()) {
      const row = common[i] ?? []
      row[j] = left === right ? at(i - 1, j - 1) + 1 : Math.max(at(i - 1, j), at(i, j - 1))
    }
  return before.length + after.length - 2 * at(before.length - 1, after.length - 1)
}
