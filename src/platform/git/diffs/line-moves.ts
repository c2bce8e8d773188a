import type { Repositories } from '../repositories/repositories.ts'
import type { FilePair } from './diff-reader.ts'
import { HUNK_HEADER } from './hunks.ts'
import { AT, diffPairs } from './pair-diffs.ts'

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
