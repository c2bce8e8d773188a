import type { DiffLine } from './diff.ts'

/** Lines of one side of a hunk, which follow each other in the file. */
export type Passage = readonly DiffLine[]

/** Returns each hunk as it is in the new file, and as it was in the old one if it removes lines. */
export function passagesOf(lines: readonly DiffLine[]): Passage[] {
  const passages: Passage[] = []
  let [before, after]: [DiffLine[], DiffLine[]] = [[], []]
  const finish = () => {
    // Last, since a line of both sides has the colours of the new file.
    if (before.some(({ kind }) => kind === 'removed')) passages.push(before)
    if (after.length > 0) passages.push(after)
    ;[before, after] = [[], []]
  }
  for (const line of lines) {
    if (line.kind === 'hunk') finish()
    if (line.kind === 'removed' || line.kind === 'same') before.push(line)
    if (line.kind === 'added' || line.kind === 'same') after.push(line)
  }
  finish()
  return passages
}
