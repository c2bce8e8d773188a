import { isObjectId } from '../core/object-ids.ts'
import { readCommit } from '../objects/commits.ts'
import { type ReadOptions, readGit, splitAtZeros, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { findMergeBase } from './history.ts'
import { independentCommits } from './independent-commits.ts'

/** A requested update of a branch. */
export interface BranchMove {
  /** Id of the current commit. Undefined for a new branch. */
  readonly from: string | undefined
  /** Id of the new commit. */
  readonly to: string
}

/** Location of the pushed objects and the time limit. */
export type MoveReading = Pick<ReadOptions, 'quarantine' | 'timeoutMs'>

/** Longest path. No system can check out longer ones. */
const MAX_PATH_BYTES = 64 * 1024

/**
 * Returns whether a move removes commits from the branch, as a force push does.
 *
 * @throws GitError NOT_FOUND when one of the ids names no commit; BUSY, TIMEOUT
 */
export async function losesCommits(
  repositories: Repositories,
  id: number,
  { from, to }: BranchMove,
  reading: MoveReading,
): Promise<boolean> {
  if (from === undefined || from === to) return false
  return (await independentCommits(repositories, id, [from, to], reading)).has(from)
}

/**
 * Yields the ids of the commits that a move adds to the branch, newest first. For a new branch,
 * yields the commits that are on no other branch. When commits have much earlier dates than their
 * parents, some commits may be yielded that the branch has already.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function* listNewCommits(
  repositories: Repositories,
  id: number,
  move: BranchMove,
  reading: MoveReading,
): AsyncGenerator<string, void, undefined> {
  const chunks = readGit(repositories, id, ['rev-list', ...rangeOf(move), '--'], reading)
  let rest = ''
  for await (const chunk of chunks) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter(isObjectId)
  }
}

/** Commits that are read without a Git process. A process costs as much as reading this many. */
const MAX_STEPS = 30

/**
 * Returns the ids of the latest commits that a move adds to the branch, newest first.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function latestCommits(
  repositories: Repositories,
  id: number,
  { from, to }: BranchMove,
  limit: number,
): Promise<string[]> {
  const few = from === undefined ? undefined : await fewCommits(repositories, id, from, to)
  if (few) return few.slice(0, limit)
  const range = from === undefined ? [to] : [to, `^${from}`]
  const args = ['rev-list', `--max-count=${limit}`, ...range, '--']
  const text = await textOf(readGit(repositories, id, args))
  return text.split('\n').filter(isObjectId)
}

/**
 * Returns the commits of a line that begins at the old head, or of one merge of a line into the old head,
 * as a pull request has. Reads them without a Git process. Undefined for other histories.
 */
async function fewCommits(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
): Promise<string[] | undefined> {
  if (from === to) return []
  const [first, merged, ...more] = (await readCommit(repositories, id, to))?.parentIds ?? []
  if (first === undefined || more.length > 0) return undefined
  if (merged !== undefined && first !== from) return undefined
  const base = merged === undefined ? from : await findMergeBase(repositories, id, from, merged)
  if (base === undefined) return undefined
  const line = await lineAfter(repositories, id, base, merged ?? first)
  return line && [to, ...line]
}

/** Returns the commits from a head back to one before, without that one; undefined if they are no line. */
async function lineAfter(
  repositories: Repositories,
  id: number,
  before: string,
  head: string,
): Promise<string[] | undefined> {
  const line: string[] = []
  for (let at = head; at !== before; ) {
    const [parent, ...others] = (await readCommit(repositories, id, at))?.parentIds ?? []
    if (parent === undefined || others.length > 0 || line.length === MAX_STEPS) return undefined
    line.push(at)
    at = parent
  }
  return line
}

/**
 * Yields the paths that a move changes: paths that differ between the old and the new head, and
 * paths that any of the new commits changes against its parents (a merge: against all of them),
 * even when a later commit reverts the change. A renamed file yields both paths. Paths may repeat.
 * Invalid UTF-8 becomes U+FFFD.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function* listChangedPaths(
  repositories: Repositories,
  id: number,
  move: BranchMove,
  reading: MoveReading,
): AsyncGenerator<string, void, undefined> {
  const names = ['-z', '--name-only', '--no-renames', '--ignore-submodules=none']
  const commands = [
    ...(move.from === undefined ? [] : [['diff-tree', '-r', ...names, move.from, move.to]]),
    ['log', ...names, '--format=', '-c', '--root', ...rangeOf(move), '--'],
  ]
  for (const args of commands) {
    for await (const path of splitAtZeros(
      readGit(repositories, id, args, reading),
      MAX_PATH_BYTES,
    )) {
      if (path.length > 0) yield path.toString()
    }
  }
}

/**
 * Finds a file of more than `maxBytes` that a move adds to the branch, in any of the new commits,
 * even when a later one removes the file.
 *
 * @returns a path of the file, or the id of its content when no commit shows the path; undefined if
 *   all files are small enough. Invalid UTF-8 becomes U+FFFD.
 * @throws GitError BUSY, TIMEOUT
 */
export async function findLargeFile(
  repositories: Repositories,
  id: number,
  move: BranchMove,
  maxBytes: number,
  reading: MoveReading,
): Promise<string | undefined> {
  // Git reads the sizes only, and prints the omitted files after all others.
  const filter = [`--filter=blob:limit=${maxBytes + 1}`, '--filter-print-omitted']
  const args = ['rev-list', '--objects', '--no-object-names', ...filter, ...rangeOf(move), '--']
  let objectId: string | undefined
  let rest = ''
  for await (const chunk of readGit(repositories, id, args, reading)) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    objectId = lines.find((line) => line.startsWith('~'))?.slice(1)
    if (objectId !== undefined) break
  }
  return objectId && ((await pathOf(repositories, id, move, objectId, reading)) ?? objectId)
}

async function pathOf(
  repositories: Repositories,
  id: number,
  move: BranchMove,
  objectId: string,
  reading: MoveReading,
): Promise<string | undefined> {
  const format = ['--format=', '--name-only', '-z', '--no-renames', '-m', '--root', '--max-count=1']
  const args = ['log', ...format, `--find-object=${objectId}`, ...rangeOf(move), '--']
  for await (const path of splitAtZeros(readGit(repositories, id, args, reading), MAX_PATH_BYTES)) {
    if (path.length > 0) return path.toString()
  }
  return undefined
}

function rangeOf({ from, to }: BranchMove): string[] {
  return from === undefined ? [to, '--not', '--branches'] : [to, `^${from}`]
}
