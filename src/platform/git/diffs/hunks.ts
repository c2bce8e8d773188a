import type { Repositories } from '../repositories/repositories.ts'
import type { FilePair } from './diff-reader.ts'
import { AT, CONTEXT_LINES, diffPairs, MINUS, PLUS, SPACE } from './pair-diffs.ts'

/** A line of the old or the new version of a changed file. */
export interface LinePlace {
  readonly side: 'old' | 'new'
  /** Line number, starting at 1. */
  readonly line: number
}

/** The requested line and the preceding ones, as in compatible systems. */
const MAX_LINES = 4

/** Bytes of a character in UTF-8. */
const MAX_CHARACTER_BYTES = 4

/** `@@ -start,count +start,count @@`. A count of 1 is omitted. */
const HUNK_HEADER = /^@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@/

/**
 * Returns the part of a hunk that ends at a line, with a header for this part. Clients show the
 * part above a comment on the line.
 *
 * @param maxCharacters length to which lines are truncated.
 * @returns undefined when no hunk contains the line, as in binary files.
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

/** The latest lines of a hunk with their position. */
class HunkTail {
  /** Numbers of the next lines. */
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

  /** Formats the range of a side. A side without lines starts at the preceding line. */
  #range(side: LinePlace['side']): string {
    const count = this.#lines.filter(([sign]) => isOn(side, sign)).length
    return `${this.next[side] - Math.max(count, 1)},${count}`
  }
}

/** Returns whether a line of a hunk with this first character belongs to a side. */
function isOn(side: LinePlace['side'], sign: number | undefined): boolean {
  return sign === SPACE || sign === (side === 'old' ? MINUS : PLUS)
}

/** Two versions of a file and lines of the old version. */
export interface FollowedFile {
  readonly pair: FilePair
  /** Line numbers, starting at 1. */
  readonly lines: readonly number[]
}

/**
 * Finds the new numbers of unchanged lines.
 *
 * @returns for each file, the new line numbers by the old ones. Changed lines are left out. All
 *   lines of binary files keep their numbers.
 * @throws GitError BUSY, TIMEOUT
 */
export async function followLines(
  repositories: Repositories,
  id: number,
  files: readonly FollowedFile[],
): Promise<ReadonlyMap<number, number>[]> {
  const followers = files.map(({ lines }) => new LineFollower(lines))
  const options = { contextLines: 0, maxLineBytes: 1 }
  const pairs = files.map(({ pair }) => pair)
  await diffPairs(repositories, id, pairs, options, (pair, line) => {
    const header = line[0] === AT ? HUNK_HEADER.exec(line.toString('latin1')) : null
    if (header) followers[pair]?.take(header)
    return true
  })
  return followers.map((follower) => follower.finish())
}

/**
 * Computes new line numbers of one file from the headers of hunks without context, in their order.
 */
class LineFollower {
  /** Lines after all hunks so far, in their order. */
  #open: number[]
  readonly #found = new Map<number, number>()
  /** Number of added minus deleted lines so far. */
  #added = 0

  constructor(lines: readonly number[]) {
    this.#open = lines.toSorted((a, b) => a - b)
  }

  /** Takes a match of `HUNK_HEADER`. */
  take([, start, count = '1', , newCount = '1']: RegExpExecArray): void {
    const oldCount = Number(count)
    // A hunk that only adds lines names the preceding line.
    const first = Number(start) + (oldCount === 0 ? 1 : 0)
    this.#settle((line) => line < first)
    this.#open = this.#open.filter((line) => line >= first + oldCount)
    this.#added += Number(newCount) - oldCount
  }

  finish(): ReadonlyMap<number, number> {
    this.#settle(() => true)
    return this.#found
  }

  #settle(isBefore: (line: number) => boolean): void {
    for (const line of this.#open.filter(isBefore)) this.#found.set(line, line + this.#added)
    this.#open = this.#open.filter((line) => !isBefore(line))
  }
}
