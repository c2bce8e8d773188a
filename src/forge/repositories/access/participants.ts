import { findUserByUsername } from '../../accounts/users/owners.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { RepositoryName } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { ReposApp } from '../ports.ts'
import { listParticipants } from './collaborators.rows.ts'
import { accessOfUser, accessOfUsers, openRepository, type UnitAccess } from './permissions.ts'

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
