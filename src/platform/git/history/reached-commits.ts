import { OWN_REFS } from '../core/ref-names.ts'
import { readGit, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/**
 * Returns whether a ref reaches a commit. Refs that only the server knows do not count.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function isReached(
  repositories: Repositories,
  id: number,
  commitId: string,
): Promise<boolean> {
  const others = ['--not', `--exclude=${OWN_REFS}*`, '--all']
  const args = ['rev-list', '--max-count=1', commitId, ...others]
  return (await textOf(readGit(repositories, id, args))) === ''
}
