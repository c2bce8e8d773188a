import { isObjectId } from '../core/object-ids.ts'
import { readGit, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/**
 * The commits that lead to some and not to another one, the newest first.
 *
 * @param tips, without ids of commits in full.
 * @param maxCommits how many to list.
 * @throws GitError NOT_FOUND, BUSY, TIMEOUT
 */
export async function listMergedCommits(
  repositories: Repositories,
  id: number,
  tips: readonly string[],
  without: string,
  maxCommits: number,
): Promise<string[]> {
  if (![...tips, without].every(isObjectId))
    throw new Error(`no ids of commits: ${tips.join(', ')}, ${without}`)
  const args = ['rev-list', `--max-count=${maxCommits}`, ...tips, `^${without}`, '--']
  return (await textOf(readGit(repositories, id, args))).split('\n').slice(0, -1)
}
