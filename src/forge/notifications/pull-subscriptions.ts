import { isForeignKeyViolation, transaction } from '../../platform/database/database.ts'
import type { Db } from '../../platform/database/schema.ts'
import { findOwnerById } from '../accounts/users/owners.rows.ts'
import {
  getUserByUsername,
  type NumberedUserPage,
  visibilitiesFor,
} from '../accounts/users/owners.ts'
import { actsAsAdministrator, type Caller, type SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { Page, PullName } from '../core/names.ts'
import type { User } from '../core/schema.ts'
import { isParticipant } from '../pulls/conversation/pull-participants.rows.ts'
import { type OpenPull, openPull } from '../pulls/heads/open-pulls.ts'
import type { PullRequest } from '../pulls/schema.ts'
import { accessOfUsers } from '../repositories/access/permissions.ts'
import { findRepositorySubscription } from '../repositories/activity/subscriptions.rows.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import * as rows from './pull-subscriptions.rows.ts'

/** A pull request, and whether the caller is told of it. */
interface PullSubscriptionView extends OpenPull {
  readonly isTold: boolean
}

/**
 * Returns whether the caller is told of a pull request.
 *
 * @throws as `openPull`
 */
export async function checkPullSubscription(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
): Promise<PullSubscriptionView> {
  const open = await openPull(app, caller, name, 'read')
  return { ...open, isTold: await isTold(app.db, open.pull, caller.user.id) }
}

/**
 * Returns a page of the active users who have subscribed to a pull request and whom the caller may
 * see.
 *
 * @throws as `openPull`
 */
export async function listPullSubscribers(
  app: ReposApp,
  caller: Caller,
  name: PullName,
  page: Page,
): Promise<NumberedUserPage> {
  const { pull } = await openPull(app, caller, name, 'read')
  const search = {
    pullId: pull.id,
    visible: visibilitiesFor(caller),
    viewerId: caller.kind === 'user' ? caller.user.id : 0,
  }
  return {
    users: await rows.listPullSubscribers(app.db, search, page.offset, page.limit),
    total: await rows.countPullSubscribers(app.db, search),
  }
}

/**
 * Subscribes a user to a pull request, or ends that the user is told of it.
 *
 * @param username of the caller, or of anybody if the caller is an administrator.
 * @returns whether the call changed what the user is told.
 * @throws as `openPull`; USER_NOT_FOUND, SUBSCRIPTION_DENIED
 */
export async function setPullSubscription(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  username: string,
  isSubscribed: boolean,
): Promise<boolean> {
  const { pull } = await openPull(app, caller, name, 'read')
  const user = await getUserByUsername(app.db, username)
  if (user.id !== caller.user.id && !actsAsAdministrator(caller, 'write'))
    throw new DomainError('SUBSCRIPTION_DENIED', { username: user.username })
  try {
    return await transaction(app.db, async (tx) => {
      const wasTold = await isTold(tx, pull, user.id)
      await rows.putPullSubscription(tx, {
        pull_request_id: pull.id,
        user_id: user.id,
        subscribed: isSubscribed ? 1 : 0,
        create_time: nowSeconds(app.clock),
      })
      return wasTold !== isSubscribed
    })
  } catch (error) {
    throw isForeignKeyViolation(error) ? new DomainError('PULL_REQUEST_NOT_FOUND') : error
  }
}

/** Returns whether a user is told of a pull request in general. */
async function isTold(
  db: Db,
  { id, repository_id }: Pick<PullRequest, 'id' | 'repository_id'>,
  userId: number,
): Promise<boolean> {
  const mode = (await findRepositorySubscription(db, repository_id, userId))?.mode
  if (mode === 'IGNORED') return false
  const decided = await rows.findPullSubscription(db, id, userId)
  return decided ?? (mode === 'WATCHING' || (await isParticipant(db, id, userId)))
}

/** Returns those of some users who are active and may read a pull request at this moment. */
export async function pullReaders(
  db: Db,
  { repository_id }: Pick<PullRequest, 'repository_id'>,
  users: readonly User[],
): Promise<User[]> {
  const repository = await findRepositoryById(db, repository_id)
  const owner = repository && (await findOwnerById(db, repository.owner_id))
  if (!owner) return []
  const active = users.filter(({ state }) => state === 'NORMAL')
  if (active.length === 0) return []
  const access = await accessOfUsers(db, active, repository, owner)
  return active.filter(({ id }) => {
    const units = access.get(id)
    return units !== undefined && suffices(units.pulls, 'read') && suffices(units.code, 'read')
  })
}
