import { readGit, textOf } from './reading.ts'
import { type Repositories, repositoryExists } from './repositories.ts'

/** Sizes of loose objects and packs in KiB (git-count-objects(1)). */
const SIZES = /^size(?:-pack)?: (\d+)$/gm

/**
 * Returns the size of a repository in KiB, or undefined when it does not exist. Objects that forks
 * share by hard links count for each fork.
 *
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
