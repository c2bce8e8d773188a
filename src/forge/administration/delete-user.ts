import type { Tx } from '../../platform/database/schema.ts'
import * as rows from '../accounts/users/users.rows.ts'
import { ownsContent, ownsMemos } from '../accounts/users/users.rows.ts'
import {
  checkAdministratorRemains,
  requirePresent,
  userResourceName,
} from '../accounts/users/users.ts'
import { DomainError } from '../core/errors.ts'
import type { User } from '../core/schema.ts'
import { deleteContributions } from '../issues/purge-contributions.ts'
import { deleteMemosOf } from '../memos/memos.rows.ts'
import { checkOwnerRemains } from '../organizations/members.ts'
import { queueRepositoryDeleted } from '../repositories/activity/repository-webhook-events.ts'
import { repositoryIdsOf } from '../repositories/lifecycle/repositories.rows.ts'
import { removeRepositories } from '../repositories/lifecycle/repositories.ts'
import type { ReposApp } from '../repositories/ports.ts'

/** Number of times that the deletion restarts because the account received another repository. */
const MAX_ROUNDS = 10

/**
 * Treatment of data that others may rely on. `refused`: an account with such data is not deleted.
 * `orphaned`: an account with repositories or memos is not deleted; its pull requests, comments,
 * reviews and releases in repositories of others remain without an author. `deleted`: its
 * repositories are deleted, and its memos and comments with all comments below them; what it has in
 * repositories of others remains without an author. `purged`: its issues and comments in repositories of
 * others are deleted as well.
 */
type AssociatedData = 'refused' | 'orphaned' | 'deleted' | 'purged'

/** What an account is deleted with. */
interface Deletion {
  /** Its repositories. */
  readonly repositories: readonly number[]
  readonly data: AssociatedData
}

/**
 * Deletes an account with its sessions, tokens and settings.
 *
 * Its repositories are deleted by the code that deletes a single repository, but in the transaction
 * that deletes the account, so that a refusal deletes nothing.
 *
 * @throws LAST_ADMIN, SOLE_ORGANIZATION_OWNER, and HAS_ASSOCIATED_DATA unless `data` is `deleted` or `purged`
 */
export async function deleteUser(app: ReposApp, user: User, data: AssociatedData): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    // Otherwise an account with repositories is not deleted, so none need to be prepared.
    const repositories = deletesRepositories(data) ? await repositoryIdsOf(app.db, user.id) : []
    const isDone = await removeRepositories(app, repositories, (tx) =>
      deleteRows(app, tx, user, { repositories, data }),
    )
    if (isDone) return
  }
  throw hasAssociatedData(user)
}

/**
 * Deletes the rows of an account.
 *
 * @returns false, with nothing changed, if the account has received a repository that is not in the
 *   list.
 */
async function deleteRows(app: ReposApp, tx: Tx, user: User, deletion: Deletion): Promise<boolean> {
  const { repositories, data } = deletion
  const present = await requirePresent(tx, user)
  await checkAdministratorRemains(tx, present, { state: 'ARCHIVED' })
  await checkOwnerRemains(tx, user.id)
  const owned = await repositoryIdsOf(tx, user.id)
  if (!deletesRepositories(data) && owned.length > 0) throw hasAssociatedData(present)
  if (data === 'refused' && (await ownsContent(tx, user.id))) throw hasAssociatedData(present)
  if (data === 'orphaned' && (await ownsMemos(tx, user.id))) throw hasAssociatedData(present)
  if (owned.some((id) => !repositories.includes(id))) return false
  for (const id of owned) await queueRepositoryDeleted(app, tx, id, null)
  await deleteMemosOf(tx, user.id)
  if (data === 'purged') await deleteContributions(app, tx, user.id, 0, Number.MAX_SAFE_INTEGER)
  // Also deletes the rows of its repositories.
  await rows.deleteUser(tx, user.id)
  return true
}

function deletesRepositories(data: AssociatedData): boolean {
  return data === 'deleted' || data === 'purged'
}

function hasAssociatedData(user: User): DomainError {
  return new DomainError('HAS_ASSOCIATED_DATA', { name: userResourceName(user) })
}
