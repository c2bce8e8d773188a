import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { type ReadOptions, readGit, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
/**
 * Those of some commits that no other of them leads to: of two, the one that has all of the other,
 * or both when each has something of its own.
 *
 * Not by git-rev-list(1), which stops too early where commits are dated before those that they
 * follow.
 *
 * @param ids in full.
 * @param options where else the commits may be, and how long to look.
 * @throws GitError NOT_FOUND when one of them is no commit; BUSY, TIMEOUT
 */
export async function independentCommits(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  options: Omit<ReadOptions, 'input'> = {},
): Promise<ReadonlySet<string>> {
  try {
    const text = await textOf(
      readGit(repositories, id, ['merge-base', '--independent', ...ids], options),
    )
    return new Set(text.split('\n').filter(isObjectId))
  } catch (error) {
    // builtin/merge-base.c of Git 2.39; `LC_ALL` is C.
    const isNoCommit = error instanceof Error && error.message.includes('Not a valid commit name')
    throw isNoCommit ? new GitError('NOT_FOUND', error.message) : error
  }
}
