import { isForeignKeyViolation, transaction } from '../../../platform/database/database.ts'
import { blockExists } from '../../accounts/users/blocks.rows.ts'
import { getOwner, type NumberedUserPage, visibilitiesFor } from '../../accounts/users/owners.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import {
  type OpenRepository,
  openRepositories,
  openRepository,
  repositoryReader,
} from '../access/permissions.ts'
import { type RepositoryPage, viewRepositories } from '../lifecycle/repository-views.ts'
import type { ReposApp } from '../ports.ts'
import type { RepositorySubscription } from '../schema.ts'
import * as rows from './subscriptions.rows.ts'

/** A subscription of the caller, and its repository. */
export interface SubscriptionView extends Pick<OpenRepository, 'repository' | 'owner'> {
  readonly subscription: RepositorySubscription
}

/** Returns the subscription of the caller to a repository. */
export async function getRepositorySubscription(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<SubscriptionView> {
  const { repository, owner } = await openRepository(app, caller, name, 'none')
  const found = await rows.findRepositorySubscription(app.db, repository.id, caller.user.id)
  if (!found) throw new DomainError('REPOSITORY_NOT_WATCHED')
  return { repository, owner, subscription: found }
}

/** Lets the caller watch or ignore a repository. */
export async function setRepositorySubscription(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  mode: RepositorySubscription['mode'],
): Promise<SubscriptionView> {
  const { repository, owner } = await openRepository(app, caller, name, 'none')
  try {
    const subscription = await transaction(app.db, async (tx) => {
      if (await blockExists(tx, [owner.id], caller.user.id)) throw new DomainError('USER_BLOCKED')
      return rows.putRepositorySubscription(tx, {
        repository_id: repository.id,
        user_id: caller.user.id,
        mode,
        create_time: nowSeconds(app.clock),
      })
    })
    return { repository, owner, subscription }
  } catch (error) {
    throw isForeignKeyViolation(error) ? new DomainError('REPOSITORY_NOT_FOUND') : error
  }
}

/** Ends the subscription of the caller to a repository, if there is one. */
export async function deleteRepositorySubscription(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'none')
  await transaction(app.db, (tx) =>
    rows.deleteRepositorySubscription(tx, repository.id, caller.user.id),
  )
}

/** Returns a page of the active watchers of a repository whom the caller may see. */
export async function listWatchers(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  page: Page,
): Promise<NumberedUserPage> {
  const { repository } = await openRepository(app, caller, name, 'none')
  const search = {
    repositoryId: repository.id,
    visible: visibilitiesFor(caller),
    viewerId: caller.kind === 'user' ? caller.user.id : 0,
  }
  return {
    users: await rows.listWatchers(app.db, search, page.offset, page.limit),
    total: await rows.countWatchers(app.db, search),
  }
}

/** Returns a page of the repositories that the caller watches and may read. */
export function listMySubscriptions(
  app: ReposApp,
  caller: SignedIn,
  page: Page,
): Promise<RepositoryPage> {
  return listWatched(app, caller, caller.user.id, page)
}

/** Returns a page of the repositories that a user watches and the caller may read. */
export async function listSubscriptionsOf(
  app: ReposApp,
  caller: Caller,
  username: string,
  page: Page,
): Promise<RepositoryPage> {
  const owner = await getOwner(app, caller, username)
  return listWatched(app, caller, owner.id, page)
}

async function listWatched(
  app: ReposApp,
  caller: Caller,
  userId: number,
  { offset, limit }: Page,
): Promise<RepositoryPage> {
  const reader = repositoryReader(app, caller)
  const found = await rows.listWatched(app.db, userId, reader, offset, limit)
  const opened = await openRepositories(app, caller, found)
  return {
    repositories: await viewRepositories(app, caller, opened),
    total: await rows.countWatched(app.db, userId, reader),
  }
}
