import { ownsContent } from '../../storage/accounts/user-content.ts'
import * as rows from '../../storage/accounts/users.ts'
import { deleteMemosOf } from '../../storage/memos/memos.ts'
import { repositoryIdsOf } from '../../storage/repos/repositories.ts'
import type { User } from '../../storage/schema/accounts.ts'
import type { Tx } from '../../storage/schema/schema.ts'
import { checkAdministratorRemains, requirePresent } from '../accounts/users/users.ts'
import { DomainError } from '../core/errors.ts'
import { checkOwnerRemains } from '../organizations/members.ts'
import { removeRepositories } from '../repos/lifecycle/repositories.ts'
import type { ReposApp } from '../repos/ports.ts'

/**
 * New repositories that an account may get while it is deleted, one after the other, before the
 * deletion gives up.
 */
const MAX_ROUNDS = 10

/**
 * Deletes an account with its sessions, tokens and settings.
 *
 * @param force deletes what others may rely on too: its repositories, its memos and comments, with
 *   all comments below them. Its pull requests, reviews and releases in the repositories of others
 *   stay, as those of nobody.
 * @throws LAST_ADMIN, SOLE_ORGANIZATION_OWNER, and HAS_ASSOCIATED_DATA without `force`
 */
export async function deleteUser(app: ReposApp, user: User, force: boolean): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    // Without force there are none in the end, and nothing is to be prepared for a refusal.
    const repositories = force ? await repositoryIdsOf(app.db, user.id) : []
    const isDone = await removeRepositories(app, repositories, (tx) =>
      deleteRows(tx, user, repositories, force),
    )
    if (isDone) return
  }
  throw hasAssociatedData(user)
}

/**
 * @returns false, with nothing changed, when the account has got a repository that is not among
 *   these.
 */
async function deleteRows(
  tx: Tx,
  user: User,
  repositories: readonly number[],
  force: boolean,
): Promise<boolean> {
  const present = await requirePresent(tx, user)
  await checkAdministratorRemains(tx, present, { state: 'ARCHIVED' })
  await checkOwnerRemains(tx, user.id)
  const owned = await repositoryIdsOf(tx, user.id)
  if (!force && (owned.length > 0 || (await ownsContent(tx, user.id))))
    throw hasAssociatedData(present)
  if (owned.some((id) => !repositories.includes(id))) return false
  await deleteMemosOf(tx, user.id)
  // Its repositories go with it.
  await rows.deleteUser(tx, user.id)
  return true
}

function hasAssociatedData(user: User): DomainError {
  return new DomainError('HAS_ASSOCIATED_DATA', { name: `users/${user.user_id ?? user.username}` })
}
