import type { Repositories } from '../repositories/repositories.ts'
import { AT, CONTEXT_LINES, diffPairs, type FilePair, MINUS, PLUS, SPACE } from './pair-diffs.ts'

/** A line of a file that differs: of the file as it was, or as it is. */
export interface LinePlace {
  readonly side: 'old' | 'new'
  /** From 1. */
  readonly line: number
}

/**
 * Lines shown: the one that was asked for and those in front of it, as compatible systems have it.
 */
const MAX_LINES = 4

/** Of a character in UTF-8. */
const MAX_CHARACTER_BYTES = 4

/** `@@ -start,count +start,count @@`; a count of 1 is left out. */
export const HUNK_HEADER = /^@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@/

/**
 * The end of the hunk that leads to a line, with a header of its own: what a remark about the line
 * is shown under.
 *
 * @param maxCharacters kept of a line.
 * @returns undefined when no hunk has the line, as for files that are binary.
 * @throws GitError BUSY, TIMEOUT
 */
export async function findHunk(
  repositories: Repositories,
  id: number,
  pair: FilePair,
  { side, line: wanted }: LinePlace,
  maxCharacters: number,
): Promise<string | undefined> {
  const hunk = new HunkTail()
  const options = {
    contextLines: CONTEXT_LINES,
    maxLineBytes: 1 + maxCharacters * MAX_CHARACTER_BYTES,
  }
  let isFound = false
  await diffPairs(repositories, id, [pair], options, (_, line) => {
    hunk.take(line)
    isFound = isOn(side, line[0]) && hunk.next[side] === wanted + 1
    return !isFound
  })
  return isFound ? hunk.text(maxCharacters) : undefined
}

/** The latest lines of a hunk, and where it is. */
class HunkTail {
  /** Numbers of the lines that would come next. */
  readonly next = { old: 0, new: 0 }
  #lines: Buffer[] = []

  take(line: Buffer): void {
    const header = line[0] === AT ? HUNK_HEADER.exec(line.toString('latin1')) : null
    if (header) {
      const [, oldStart, oldCount, newStart, newCount] = header
      this.next.old = Number(oldStart) + (oldCount === '0' ? 1 : 0)
      this.next.new = Number(newStart) + (newCount === '0' ? 1 : 0)
      this.#lines = []
      return
    }
    if (isOn('old', line[0])) this.next.old += 1
    if (isOn('new', line[0])) this.next.new += 1
    this.#lines = [...this.#lines.slice(1 - MAX_LINES), line]
  }

  text(maxCharacters: number): string {
    const lines = this.#lines.map((line) => line.toString().slice(0, 1 + maxCharacters))
    return [`@@ -${this.#range('old')} +${this.#range('new')} @@`, ...lines].join('\n')
  }

  /** A side that has no line is said to be at the line before. */
  #range(side: LinePlace['side']): string {
    const count = this.#lines.filter(([sign]) => isOn(side, sign)).length
    return `${this.next[side] - Math.max(count, 1)},${count}`
  }
}

/** Whether a line of a hunk that begins like this is on a side. */
function isOn(side: LinePlace['side'], sign: number | undefined): boolean {
  return sign === SPACE || sign === (side === 'old' ? MINUS : PLUS)
}
