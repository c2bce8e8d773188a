import { readGit, textOf } from './reading.ts'
import { type Repositories, repositoryExists } from './repositories.ts'

/** What `git count-objects -v` counts in KiB: loose objects, and packs (git-count-objects(1)). */
const SIZES = /^size(?:-pack)?: (\d+)$/gm

/**
 * How much a repository has stored, in KiB. What forks share by links counts for each of them.
 *
 * @returns undefined when it is not there.
 * @throws GitError BUSY, TIMEOUT
 */
export async function measureRepository(
  repositories: Repositories,
  id: number,
): Promise<number | undefined> {
  if (!(await repositoryExists(repositories, id))) return undefined
  const printed = await textOf(readGit(repositories, id, ['count-objects', '-v']))
  return [...printed.matchAll(SIZES)].reduce((sum, [, kib]) => sum + Number(kib), 0)
}
