import { isUniqueViolation, transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import * as git from '../../../platform/git/repositories/repositories.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { openRepository, openRepositoryById } from '../access/permissions.ts'
import { queueRepositoryDeleted } from '../activity/repository-webhook-events.ts'
import { attachmentPrefix } from '../attachments/attachment-files.ts'
import { deleteDiscardedFiles } from '../attachments/storage-deletions.ts'
import { abortMaintenance } from '../maintenance/maintenance.ts'
import type { ReposApp } from '../ports.ts'
import { markNetwork } from '../quotas/quotas.rows.ts'
import { measureLater } from '../refs/repository-size.ts'
import * as rows from './repositories.rows.ts'
import { type RepositoryView, viewRepository } from './repository-views.ts'

/** Returns a repository by name. */
export async function getRepository(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<RepositoryView> {
  // A caller who may read any unit of the repository may see what it is.
  return viewRepository(app, caller, await openRepository(app, caller, name, 'none'))
}

/** Returns a repository by number. */
export async function getRepositoryById(
  app: ReposApp,
  caller: Caller,
  id: number,
): Promise<RepositoryView> {
  return viewRepository(app, caller, await openRepositoryById(app, caller, id, 'none'))
}

/** Deletes a repository of which the caller is an owner, with everything in it. */
export async function deleteRepository(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'owner')
  const actor = signedIn(caller).user.id
  await removeRepositories(app, [repository.id], async (tx) => {
    await queueRepositoryDeleted(app, tx, repository.id, actor)
    await rows.deleteRepository(tx, repository.id)
    return true
  })
}

/** Deletes a repository whose creation failed. */
export async function removeRepository(app: ReposApp, id: number): Promise<void> {
  await removeRepositories(app, [id], async (tx) => {
    await rows.deleteRepository(tx, id)
    return true
  })
}

/**
 * Deletes repositories. The rows are deleted first: a crash then leaves folders without a row,
 * which nothing refers to since numbers are not reused, and never a row without a folder. Ref
 * observers copy what other repositories need before that. The refs cannot move meanwhile, since
 * this has the locks of the repositories.
 *
 * @param deleteRows deletes the rows of the repositories and whatever else belongs to the
 *   operation, or returns false and changes nothing.
 * @returns the result of `deleteRows`.
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
    let network: number[] = []
    const isDone = await transaction(app.db, async (tx) => {
      network = await markNetwork(tx, ids)
      return deleteRows(tx)
    })
    if (!isDone) return false
    app.signals.deliveries.notify()
    for (const id of ids) {
      abortMaintenance(app, id)
      await git.deleteRepository(app.git, id)
      await app.objects.of('disk').deleteAll(attachmentPrefix(id))
    }
    for (const id of network) measureLater(app, id)
    deleteDiscardedFiles(app)
    return true
  })
}

/** Runs work that names a repository, in a transaction. */
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
