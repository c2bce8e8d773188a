import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../core/system-errors.ts'
import { createDraft, publishDraft, type Repositories, repositoryPath } from './repositories.ts'

/** A file in the folder of a repository that waits for its first commit. */
const MARK = 'branchline-unfinished'

/**
 * Creates an empty bare repository whose creation is not complete yet, which a crash does not
 * change.
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
  await writeFile(join(draft, MARK), '')
  await publishDraft(repositories, draft, id)
}

/** Completes the creation of a repository. */
export async function finish(repositories: Repositories, id: number): Promise<void> {
  await rm(join(repositoryPath(repositories, id), MARK), { force: true })
}

/** Returns whether the creation of a repository is not complete. */
export function isUnfinished(repositories: Repositories, id: number): Promise<boolean> {
  return stat(join(repositoryPath(repositories, id), MARK)).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return false
      throw error
    },
  )
}
