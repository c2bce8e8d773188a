import { describe, expect, it } from 'vitest'
import { openGaps } from '../../../src/web/code/diff-gaps.ts'
import { type DiffLine, readDiff } from '../../../src/web/code/diff-text.ts'

/** Of a file with 30 lines, whose line 10 is gone, and which has a new line before 20. */
const DIFF = `diff --git a/x b/x
--- a/x
+++ b/x
@@ -9,3 +9,2 @@
 9
-10
 11
@@ -19,2 +18,3 @@
 19
+new
 20
`
const WHOLE = [
  ...Array.from({ length: 9 }, (_, i) => `${i + 1}`),
  ...Array.from({ length: 9 }, (_, i) => `${i + 11}`),
  'new',
  ...Array.from({ length: 11 }, (_, i) => `${i + 20}`),
]

const [{ lines } = { lines: [] }] = readDiff(DIFF)
const hunks = lines.filter(({ kind }) => kind === 'hunk')
const textOf = ({ kind, text, oldNumber, newNumber }: DiffLine) =>
  kind === 'hunk' ? '@@' : `${oldNumber ?? ''}/${newNumber ?? ''} ${text}`
const opened = (...counts: readonly (readonly [DiffLine | undefined, number])[]) =>
  new Map(counts.flatMap(([line, count]) => (line ? [[line, count] as const] : [])))

describe('the gaps of a diff', () => {
  it('are above hunks and below the last line', () => {
    const { lines: shown, gaps, end } = openGaps(lines, opened(), undefined)
    expect(shown).toEqual(lines)
    expect(hunks.map((hunk) => gaps.get(hunk))).toEqual([
      { from: 1, to: 8 },
      { from: 11, to: 17 },
    ])
    expect(end).toEqual({ from: 21, to: undefined })
  })

  it('open from below, with the numbers of both sides', () => {
    const { lines: shown, gaps, end } = openGaps(lines, opened([hunks[1], 2]), WHOLE)
    expect(shown.map(textOf).slice(4, 9)).toEqual([
      '@@',
      '17/16 17',
      '18/17 18',
      '19/18 19',
      '/19 new',
    ])
    expect(gaps.get(hunks[1] as DiffLine)).toEqual({ from: 11, to: 15 })
    expect(end).toEqual({ from: 21, to: 30 })
  })

  it('leave no line between hunks when they are open, and end with the file', () => {
    const wide = opened([hunks[0], 50], [hunks[1], 50], [lines.at(-1), 50])
    const { lines: shown, gaps, end } = openGaps(lines, wide, WHOLE)
    expect(shown.map(({ kind }) => kind)).not.toContain('hunk')
    expect(shown.filter(({ kind }) => kind !== 'removed').map(({ text }) => text)).toEqual(WHOLE)
    expect(textOf(shown.at(-1) as DiffLine)).toBe('30/30 30')
    expect([gaps.size, end]).toEqual([0, undefined])
  })
})
