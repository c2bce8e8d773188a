import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../core/system-errors.ts'
import {
  createDraft,
  discardDraft,
  publishDraft,
  type Repositories,
  repositoryPath,
} from './repositories.ts'

/** A file in the folder of a repository that waits for its first commit. */
const MARK = 'branchline-unfinished'

/**
 * Creates an empty bare repository with a mark in its folder, for a repository that gets a first
 * commit before anybody knows of it. `finish` removes the mark.
 *
 * The mark is in the folder from the first moment, and a crash does not remove the mark. A server
 * that finds a marked repository without a commit therefore knows that the creation was interrupted,
 * and removes the repository. Without the mark, it would be an empty repository that somebody wanted.
 *
 * @param defaultBranch valid name of the branch that HEAD points to. The branch is not created.
 * @throws GitError EXISTS
 */
export async function createUnfinished(
  repositories: Repositories,
  id: number,
  defaultBranch: string,
): Promise<void> {
  const draft = await createDraft(repositories, defaultBranch)
  try {
    await writeFile(join(draft, MARK), '')
  } catch (error) {
    await discardDraft(draft)
    throw error
  }
  await publishDraft(repositories, draft, id)
}

/** Removes the mark. Called when the first commit is on the default branch. */
export async function finish(repositories: Repositories, id: number): Promise<void> {
  await rm(join(repositoryPath(repositories, id), MARK), { force: true })
}

/** Returns whether a repository has the mark. */
export function isUnfinished(repositories: Repositories, id: number): Promise<boolean> {
  return stat(join(repositoryPath(repositories, id), MARK)).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return false
      throw error
    },
  )
}
