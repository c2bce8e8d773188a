import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { type ReadOptions, readGit, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/**
 * Returns the commits of a list that are not reachable from any other commit of the list.
 *
 * git-rev-list(1) would stop too early when a commit has an earlier date than its parents.
 *
 * @param ids full ids.
 * @throws GitError NOT_FOUND when an id names no commit; BUSY, TIMEOUT
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
