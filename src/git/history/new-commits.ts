import { isObjectId } from '../core/object-ids.ts'
import { type ReadOptions, readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { independentCommits } from './independent-commits.ts'

/** A branch that is about to move. */
export interface BranchMove {
  /** The commit that it is at; undefined for a new branch. */
  readonly from: string | undefined
  /** The commit that it is to be at. */
  readonly to: string
}

/** Where the objects are, besides the repository, and how long to look at them. */
export type MoveReading = Pick<ReadOptions, 'quarantine' | 'timeoutMs'>

/** Kept of a path. Longer ones cannot be checked out anywhere. */
const MAX_PATH_BYTES = 64 * 1024

/**
 * Whether a move loses commits: whether its branch is at something that does not lead to where it
 * is to be.
 *
 * @throws GitError NOT_FOUND when one end of it is no commit; BUSY, TIMEOUT
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
 * The ids of the commits that a move brings to its branch, newest first; to a new branch those that
 * no branch has. Where commits are dated long before those that they follow there may be more of
 * them, that the branch has already, and never fewer.
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

/**
 * The paths that a move changes: those in which it leaves the branch another than it was, and those
 * in which any of the commits that it brings differs from its parents, a merge from all of them,
 * although a later one may undo that. Of a file that is renamed both paths. A path may come more
 * than once; bytes that are not UTF-8 are U+FFFD.
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

function rangeOf({ from, to }: BranchMove): string[] {
  return from === undefined ? [to, '--not', '--branches'] : [to, `^${from}`]
}
