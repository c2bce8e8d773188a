import { isObjectId } from '../core/object-ids.ts'
import { readGit, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** Enough to compare the trees of a million commits. */
const TIMEOUT_MS = 60_000

/**
 * Returns the oldest commit that a ref reaches and that adds or removes a file with some content
 * (git-log(1), `--find-object`).
 *
 * @param objectId the id of the content.
 * @throws GitError BUSY, TIMEOUT
 */
export async function firstCommitWith(
  repositories: Repositories,
  id: number,
  objectId: string,
): Promise<string | undefined> {
  const format = ['--format=%H', '--raw', '--root', '--no-renames', '--diff-merges=separate']
  const args = ['log', '--all', '--reverse', ...format, `--find-object=${objectId}`, '--']
  const text = await textOf(readGit(repositories, id, args, { timeoutMs: TIMEOUT_MS }))
  return text.split('\n').find(isObjectId)
}
