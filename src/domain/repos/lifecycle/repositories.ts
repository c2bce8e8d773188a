import * as git from '../../../git/repositories/repositories.ts'
import { isUniqueViolation, transaction } from '../../../storage/database/database.ts'
import { removeAttachmentsOf } from '../../../storage/repos/attachment-files.ts'
import * as rows from '../../../storage/repos/repositories.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { openRepository, openRepositoryById } from '../access/permissions.ts'
import { type RepositoryView, viewRepository } from '../listing/repository-views.ts'
import type { ReposApp } from '../ports.ts'

/**
 * The repository of a name.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED
 */
export async function getRepository(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<RepositoryView> {
  // Whoever may read some part of it may know what it is.
  return viewRepository(app, caller, await openRepository(app, caller, name, 'none'))
}

/**
 * The repository with a number.
 *
 * @throws REPOSITORY_NOT_FOUND
 */
export async function getRepositoryById(
  app: ReposApp,
  caller: Caller,
  id: number,
): Promise<RepositoryView> {
  return viewRepository(app, caller, await openRepositoryById(app, caller, id, 'none'))
}

/**
 * Deletes a repository with everything in it.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_ACCESS_DENIED
 */
export async function deleteRepository(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'owner')
  await removeRepository(app, repository.id)
}

/** Removes a repository. */
export async function removeRepository(app: ReposApp, id: number): Promise<void> {
  await removeRepositories(app, [id], async (tx) => {
    await rows.deleteRepository(tx, id)
    return true
  })
}

/**
 * Removes repositories. The rows first: a crash leaves folders that nothing leads to, as no id is
 * given a second time, and no row whose folder is gone. What others are to pull from them they have
 * before that, since their refs do not move meanwhile.
 *
 * @param deleteRows deletes the rows of the repositories, and what else is to go with them; or
 *   changes nothing, and returns false.
 * @returns what `deleteRows` returned.
 */
export async function removeRepositories(
  app: ReposApp,
  ids: readonly number[],
  deleteRows: (tx: Tx) => Promise<boolean>,
): Promise<boolean> {
  const { refObservers } = app
  for (const id of ids) for (const o of refObservers) await o.beforeDeletion(app, id)
  return git.withRepositoryLocks(app.git, ids, async () => {
    for (const id of ids) for (const o of refObservers) await o.duringDeletion(app, id)
    if (!(await transaction(app.db, deleteRows))) return false
    for (const id of ids) {
      await git.deleteRepository(app.git, id)
      await removeAttachmentsOf(app.attachments, id)
    }
    return true
  })
}

/**
 * Does work that gives a repository a name, in a transaction.
 *
 * @throws REPOSITORY_EXISTS when the owner has one of that name already.
 */
export async function withUniqueName<T>(
  app: ReposApp,
  name: string,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  try {
    return await transaction(app.db, work)
  } catch (error) {
    throw isUniqueViolation(error) ? new DomainError('REPOSITORY_EXISTS', { name }) : error
  }
}
