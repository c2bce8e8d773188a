import { transaction } from '../../platform/database/database.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { blockExists } from '../accounts/users/blocks.rows.ts'
import { getUserByUsername, type NumberedUserPage } from '../accounts/users/owners.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { Page } from '../core/names.ts'
import type { User } from '../core/schema.ts'
import { forgetUnreadable } from '../repositories/access/lost-access.rows.ts'
import { checkOwnerRemains } from './members.ts'
import { checkOrganizationNeed, seesAllMembers } from './organization-access.ts'
import { deleteMembersWithoutTeam, findMembership, insertMember } from './organizations.rows.ts'
import * as rows from './team-members.rows.ts'
import { openTeam } from './teams.ts'

/**
 * Lists the members of a team that a caller may see, by id.
 *
 * @throws TEAM_NOT_FOUND, PUBLIC_ONLY_TOKEN
 */
export async function listTeamMembers(
  app: AccountsApp,
  caller: SignedIn,
  id: number,
  { offset, limit }: Page,
): Promise<NumberedUserPage> {
  const open = await openTeam(app, caller, id, 'visible')
  const publicOnly = !seesAllMembers(caller, open)
  const users = await rows.listTeamMembers(app.db, id, publicOnly, offset, limit)
  return { users, total: await rows.countTeamMembers(app.db, id, publicOnly) }
}

/**
 * Returns a member of a team.
 *
 * @throws TEAM_NOT_FOUND, PUBLIC_ONLY_TOKEN, USER_NOT_FOUND, MEMBER_NOT_FOUND
 */
export async function getTeamMember(
  app: AccountsApp,
  caller: SignedIn,
  id: number,
  username: string,
): Promise<User> {
  const open = await openTeam(app, caller, id, 'visible')
  const user = await getUserByUsername(app.db, username)
  const membership = await findMembership(app.db, open.organization.id, user.id)
  const isKnown = membership === 'public' || seesAllMembers(caller, open)
  if (!isKnown || !(await rows.isTeamMember(app.db, id, user.id)))
    throw new DomainError('MEMBER_NOT_FOUND')
  return user
}

/**
 * Adds a user to a team and to its organisation. Succeeds if the user is already a member.
 *
 * @throws TEAM_NOT_FOUND, PUBLIC_ONLY_TOKEN, ORGANIZATION_ACCESS_DENIED, USER_NOT_FOUND,
 *   USER_BLOCKED
 */
export async function addTeamMember(
  app: AccountsApp,
  caller: SignedIn,
  id: number,
  username: string,
): Promise<void> {
  const { organization } = await openTeam(app, caller, id, 'owner')
  const user = await getUserByUsername(app.db, username)
  await transaction(app.db, async (tx) => {
    if (await blockExists(tx, [organization.id], user.id)) throw new DomainError('USER_BLOCKED')
    await rows.insertTeamMember(tx, id, user.id)
    await insertMember(tx, organization.id, user.id)
  })
}

/**
 * Removes a user from a team, and from the organisation if it was the user's last team there.
 *
 * @throws TEAM_NOT_FOUND, PUBLIC_ONLY_TOKEN, USER_NOT_FOUND, MEMBER_NOT_FOUND,
 *   LAST_ORGANIZATION_OWNER; ORGANIZATION_ACCESS_DENIED unless the caller is an owner or the user
 */
export async function removeTeamMember(
  app: AccountsApp,
  caller: SignedIn,
  id: number,
  username: string,
): Promise<void> {
  const open = await openTeam(app, caller, id, 'visible')
  const user = await getUserByUsername(app.db, username)
  if (user.id !== caller.user.id) checkOrganizationNeed(open, 'owner')
  const { team, organization } = open
  await transaction(app.db, async (tx) => {
    if (team.permission === 'owner') await checkOwnerRemains(tx, user.id, organization.id)
    if (!(await rows.deleteTeamMember(tx, id, user.id))) throw new DomainError('MEMBER_NOT_FOUND')
    await deleteMembersWithoutTeam(tx, organization.id, user.id)
    await forgetUnreadable(tx, { ownerId: organization.id, userIds: [user.id] })
  })
}
