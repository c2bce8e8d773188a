import { transaction } from '../../../platform/database/database.ts'
import { isBlocked } from '../../accounts/users/blocks.ts'
import { getOwner, type NumberedUserPage, userViewer } from '../../accounts/users/owners.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { openRepositories, openRepository, repositoryReader } from '../access/permissions.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import { type RepositoryPage, viewRepositories } from '../lifecycle/repository-views.ts'
import type { ReposApp } from '../ports.ts'
import * as rows from './stars.rows.ts'

/**
 * Lists the repositories that a user has starred, latest star first. Those that the caller can no
 * longer read are left out.
 */
export async function listStarredBy(
  app: ReposApp,
  caller: Caller,
  username: string,
  page: Page,
): Promise<RepositoryPage> {
  const { id } = await getOwner(app, caller, username)
  return listOf(app, caller, id, page)
}

/** Lists the repositories that the caller has starred in the same way. */
export function listMyStarred(
  app: ReposApp,
  caller: SignedIn,
  page: Page,
): Promise<RepositoryPage> {
  return listOf(app, caller, caller.user.id, page)
}

async function listOf(
  app: ReposApp,
  caller: Caller,
  userId: number,
  { offset, limit }: Page,
): Promise<RepositoryPage> {
  const reader = repositoryReader(app, caller)
  const found = await rows.listStarredRepositories(app.db, userId, reader, offset, limit)
  const opened = await openRepositories(app, caller, found)
  return {
    repositories: await viewRepositories(app, caller, opened),
    total: await rows.countStarredRepositories(app.db, userId, reader),
  }
}

/** Lists the users who have starred a repository and whom the caller may see, oldest star first. */
export async function listStargazers(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { offset, limit }: Page,
): Promise<NumberedUserPage> {
  const { repository } = await openRepository(app, caller, name, 'none')
  const viewer = userViewer(caller)
  const users = await rows.listStargazers(app.db, repository.id, viewer, offset, limit)
  const hidden = await rows.countHiddenStargazers(app.db, repository.id, viewer)
  return { users, total: repository.stars_count - hidden }
}

/** Checks that the caller has starred a repository. */
export async function checkStarred(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'none')
  if (!(await rows.starExists(app.db, caller.user.id, repository.id)))
    throw new DomainError('STAR_NOT_FOUND')
}

/** Stars a repository that the caller can read, archived ones included. */
export async function starRepository(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'none')
  await transaction(app.db, async (tx) => {
    const present = await findRepositoryById(tx, repository.id)
    if (!present) throw new DomainError('REPOSITORY_NOT_FOUND')
    const isUnwelcome = await isBlocked({ ...app, db: tx }, [present.owner_id], caller.user.id)
    if (isUnwelcome) throw new DomainError('USER_BLOCKED')
    await rows.insertStar(tx, {
      user_id: caller.user.id,
      repository_id: repository.id,
      create_time: nowSeconds(app.clock),
    })
  })
}

/** Removes the star of the caller, if there is one. */
export async function unstarRepository(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'none')
  await rows.deleteStar(app.db, caller.user.id, repository.id)
}
