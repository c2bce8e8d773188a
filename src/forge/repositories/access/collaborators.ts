import { transaction } from '../../../platform/database/database.ts'
import { blockExists } from '../../accounts/users/blocks.rows.ts'
import { findUserByUsername, type NumberedUserPage } from '../../accounts/users/owners.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { type RepositoryAccess, suffices } from '../../core/levels.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import { wakeScheduledMerges } from '../../pulls/merging/scheduled-merges.rows.ts'
import type { ReposApp } from '../ports.ts'
import * as rows from './collaborators.rows.ts'
import { listParticipants } from './collaborators.rows.ts'
import { forgetUnreadable } from './lost-access.rows.ts'
import {
  accessOfUser,
  accessOfUsers,
  checkNotArchived,
  openRepository,
  type UnitAccess,
} from './permissions.ts'

const LEVELS = ['read', 'write', 'admin'] as const

/** Returns a page of the collaborators of a repository. */
export async function listCollaborators(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  page: Page,
): Promise<NumberedUserPage> {
  const { repository } = await openRepository(app, caller, name, 'none')
  return {
    users: await rows.listCollaborators(app.db, repository.id, page.offset, page.limit),
    total: await rows.countCollaborators(app.db, repository.id),
  }
}

/** Checks that a user is a collaborator of a repository. */
export async function checkCollaborator(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  username: string,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'none')
  const user = await requireUser(app, username)
  const found = await rows.findCollaborator(app.db, repository.id, user.id)
  if (!found) throw new DomainError('COLLABORATOR_NOT_FOUND', { username: user.username })
}

/**
 * Adds a collaborator to a repository, or changes the permission of one.
 *
 * @param permission `read`, `write` or `admin`. Empty means `write`.
 */
export async function addCollaborator(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  username: string,
  permission: string,
): Promise<void> {
  const { repository, owner } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  const level = LEVELS.find((known) => known === (permission || 'write'))
  if (!level) throw new DomainError('INVALID_COLLABORATOR', { permission: permission.slice(0, 64) })
  const user = await requireUser(app, username)
  if (user.id === owner.id)
    throw new DomainError('INVALID_COLLABORATOR', { username: user.username })
  await transaction(app.db, async (tx) => {
    const isBlocked =
      (await blockExists(tx, [owner.id], user.id)) || (await blockExists(tx, [user.id], owner.id))
    if (isBlocked) throw new DomainError('USER_BLOCKED')
    await rows.putCollaborator(tx, { repository_id: repository.id, user_id: user.id, level })
    // The user may have scheduled a merge or given an approval that it needs.
    await wakeScheduledMerges(tx, app.clock.now(), repository.id)
  })
  app.signals.scheduledMerges.notify()
}

/**
 * Removes a collaborator from a repository. Whoever can no longer read the repository watches and
 * stars it no more.
 */
export async function removeCollaborator(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  username: string,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  const user = await requireUser(app, username)
  await transaction(app.db, async (tx) => {
    await rows.deleteCollaborator(tx, repository.id, user.id)
    await forgetUnreadable(tx, { repositoryIds: [repository.id], userIds: [user.id] })
    // Merges that the user scheduled must be checked again.
    await wakeScheduledMerges(tx, app.clock.now(), repository.id)
  })
  app.signals.scheduledMerges.notify()
}

/** The permission of a user for a repository. */
interface UserPermission {
  readonly user: User
  /** The level for the code. */
  readonly access: RepositoryAccess
}

/**
 * Returns the permission of a user for a repository. Callers see their own permission, and
 * administrators of the repository see that of every user.
 */
export async function getPermission(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  username: string,
): Promise<UserPermission> {
  const { repository, owner, access } = await openRepository(app, caller, name, 'none')
  const user = await findUserByUsername(app.db, username)
  const isOwn = user?.id === caller.user.id
  if (!isOwn && !suffices(access, 'admin'))
    throw new DomainError('REPOSITORY_ACCESS_DENIED', { needed: 'admin' })
  if (!user) throw new DomainError('USER_NOT_FOUND', { name: username.slice(0, 64) })
  const { code } = await accessOfUser(app, user, repository, owner)
  return { user, access: code }
}

async function requireUser(app: ReposApp, username: string): Promise<User> {
  const user = await findUserByUsername(app.db, username)
  if (!user) throw new DomainError('UNKNOWN_USER', { username: username.slice(0, 64) })
  return user
}

/** The number of users in one list, which clients show in a menu. */
const MAX_LISTED = 1000

/**
 * Returns the users that can be assigned: those with write access to pull requests.
 *
 * @throws what `openRepository` throws
 */
export function listAssignees(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<User[]> {
  return participantsWith(app, caller, name, ({ pulls }) => suffices(pulls, 'write'))
}

/**
 * Returns the users that can review: those with read access to code and pull requests.
 *
 * @throws what `openRepository` throws
 */
export function listReviewers(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<User[]> {
  const mayReview = ({ code, pulls }: UnitAccess) =>
    suffices(code, 'read') && suffices(pulls, 'read')
  return participantsWith(app, caller, name, mayReview)
}

async function participantsWith(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  isFit: (access: UnitAccess) => boolean,
): Promise<User[]> {
  const { repository, owner } = await openRepository(app, caller, name, 'none')
  const users = await listParticipants(app.db, repository, MAX_LISTED)
  const access = await accessOfUsers(app.db, users, repository, owner)
  return users.filter(({ id }) => {
    const units = access.get(id)
    return units !== undefined && isFit(units)
  })
}

/**
 * Checks that a user can be assigned to pull requests.
 *
 * @throws what `openRepository` throws; UNKNOWN_USER; COLLABORATOR_NOT_FOUND when the user cannot
 *   be assigned
 */
export async function checkAssignee(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  username: string,
): Promise<void> {
  const { repository, owner } = await openRepository(app, caller, name, 'none')
  const user = await findUserByUsername(app.db, username)
  if (!user) throw new DomainError('UNKNOWN_USER', { username: metadataText(username) })
  const { pulls } = await accessOfUser(app, user, repository, owner)
  if (user.state !== 'NORMAL' || !suffices(pulls, 'read')) {
    throw new DomainError('COLLABORATOR_NOT_FOUND', { username: user.username })
  }
}
