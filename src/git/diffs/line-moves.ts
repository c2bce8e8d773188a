import type { Repositories } from '../repositories/repositories.ts'
import { HUNK_HEADER } from './hunks.ts'
import { AT, diffPairs, type FilePair } from './pair-diffs.ts'

/** A file before and after, and some of the lines that it had. */
export interface FollowedFile {
  readonly pair: FilePair
  /** Their numbers, from 1. */
  readonly lines: readonly number[]
}

/**
 * Where lines of files are after others have changed around them.
 *
 * @returns for each file the numbers that its lines have now, by those that they had; those that
 *   were changed themselves are left out. What is binary has no lines that could move.
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
 * Follows lines of one file through the headers of the hunks of a difference without context, as
 * they come.
 */
class LineFollower {
  /** Those that no hunk so far is behind of, in their order. */
  #open: number[]
  readonly #found = new Map<number, number>()
  /** How many more lines there are now in front of what comes. */
  #added = 0

  constructor(lines: readonly number[]) {
    this.#open = lines.toSorted((a, b) => a - b)
  }

  /** @param header as `HUNK_HEADER` matches it. */
  take([, start, count = '1', , newCount = '1']: RegExpExecArray): void {
    const oldCount = Number(count)
    // What is only added is said to be behind a line.
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
