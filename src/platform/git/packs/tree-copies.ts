import { feed } from '../../concurrency/feed.ts'
import { printedByGit, spawnGit } from '../processes/child-process.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'

/** Enough for a tree of some gigabytes. */
const TIMEOUT_MS = 10 * 60_000

/**
 * Copies a tree with everything below it to another repository, without any commit. No ref points to
 * the copy.
 *
 * @param treeId full id.
 */
export async function copyTree(
  repositories: Repositories,
  fromId: number,
  treeId: string,
  toId: number,
): Promise<void> {
  const { processes } = repositories
  const options = { processes, timeoutMs: TIMEOUT_MS, priority: 'transfer' as const }
  const pack = printedByGit(
    ['pack-objects', '--revs', '--stdout', '--quiet'],
    { ...options, repository: repositoryPath(repositories, fromId) },
    `${treeId}\n`,
  )
  const indexing = spawnGit(['index-pack', '--stdin'], {
    ...options,
    repository: repositoryPath(repositories, toId),
  })
  indexing.stdout.resume()
  try {
    await feed(pack, indexing.stdin)
    const { code, stderr } = await indexing.exited
    if (code !== 0) throw new Error(`git index-pack failed: ${stderr}`)
  } finally {
    indexing.stop()
  }
}
