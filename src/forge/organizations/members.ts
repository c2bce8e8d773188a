import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { getOwner, getUserByUsername, type NumberedUserPage } from '../accounts/users/owners.ts'
import {
  actsAsAdministrator,
  type Caller,
  type SignedIn,
  seesPublicDataOnly,
} from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { Page } from '../core/names.ts'
import { forgetUnreadable } from '../repositories/access/lost-access.rows.ts'
import { checkOrganizationNeed, openOrganization, seesAllMembers } from './organization-access.ts'
import * as rows from './organizations.rows.ts'
import type { Team } from './schema.ts'
import {
  deleteFromTeams,
  findOnlyOwned,
  findOrganizationRights,
  findTeamPermissions,
} from './teams.rows.ts'

/**
 * Lists the members of an organisation that a caller may see, by id.
 *
 * @param publicOnly lists only members whose membership is public.
 */
export async function listMembers(
  app: AccountsApp,
  caller: Caller,
  name: string,
  publicOnly: boolean,
  { offset, limit }: Page,
): Promise<NumberedUserPage> {
  const open = await openOrganization(app, caller, name, 'visible')
  const shown = publicOnly || !seesAllMembers(caller, open)
  const { id } = open.organization
  const users = await rows.listMembers(app.db, id, shown, offset, limit)
  return { users, total: await rows.countMembers(app.db, id, shown) }
}

/**
 * Checks that a user is a member of an organisation and that the caller may see it.
 *
 * @param publicOnly requires that the membership is public.
 */
export async function checkMember(
  app: AccountsApp,
  caller: Caller,
  name: string,
  username: string,
  publicOnly: boolean,
) {
  const open = await openOrganization(app, caller, name, 'visible')
  const user = await getUserByUsername(app.db, username)
  const membership = await rows.findMembership(app.db, open.organization.id, user.id)
  const isKnown =
    membership === 'public' || (membership && !publicOnly && seesAllMembers(caller, open))
  if (!isKnown) throw new DomainError('MEMBER_NOT_FOUND')
}

/** Rights of a user in an organisation through teams. */
interface MemberRights {
  readonly isMember: boolean
  readonly writes: boolean
  readonly administers: boolean
  readonly owns: boolean
  readonly createsRepositories: boolean
}

const NO_MEMBER: MemberRights = {
  isMember: false,
  writes: false,
  administers: false,
  owns: false,
  createsRepositories: false,
}

/**
 * Returns what a user may do in an organisation through teams, as far as the caller may see it. A
 * membership that the caller may not see counts as none.
 */
export async function getMemberRights(
  app: AccountsApp,
  caller: SignedIn,
  name: string,
  username: string,
): Promise<MemberRights> {
  const open = await openOrganization(app, caller, name, 'visible')
  const user = await getOwner(app, caller, username)
  const { id } = open.organization
  const isSelf = user.id === caller.user.id && !seesPublicDataOnly(caller)
  const isShown =
    isSelf ||
    seesAllMembers(caller, open) ||
    (await rows.findMembership(app.db, id, user.id)) === 'public'
  if (!isShown) return NO_MEMBER
  const permissions = await findTeamPermissions(app.db, id, user.id)
  const { isMember, createsRepositories } = await findOrganizationRights(app.db, id, user.id)
  const holds = (...levels: readonly Team['permission'][]) =>
    levels.some((level) => permissions.includes(level))
  return {
    isMember,
    writes: holds('write', 'admin', 'owner'),
    administers: holds('admin', 'owner'),
    owns: holds('owner'),
    createsRepositories,
  }
}

/**
 * Removes a user from an organisation and all of its teams. Succeeds if the user is not a member.
 */
export async function removeMember(
  app: AccountsApp,
  caller: SignedIn,
  name: string,
  username: string,
): Promise<void> {
  const open = await openOrganization(app, caller, name, 'visible')
  const user = await getUserByUsername(app.db, username)
  if (user.id !== caller.user.id) checkOrganizationNeed(open, 'owner')
  const { id } = open.organization
  await transaction(app.db, async (tx) => {
    await checkOwnerRemains(tx, user.id, id)
    await deleteFromTeams(tx, id, user.id)
    await rows.deleteMembersWithoutTeam(tx, id, user.id)
    await forgetUnreadable(tx, { ownerId: id, userIds: [user.id] })
  })
}

/**
 * Makes a membership public or private. Only the member and administrators of the instance may do
 * so.
 */
export async function publishMembership(
  app: AccountsApp,
  caller: SignedIn,
  name: string,
  username: string,
  isPublic: boolean,
) {
  const { organization } = await openOrganization(app, caller, name, 'visible')
  const user = await getUserByUsername(app.db, username)
  if (user.id !== caller.user.id && !actsAsAdministrator(caller, 'write'))
    throw new DomainError('PERMISSION_DENIED')
  const found = await transaction(app.db, (tx) =>
    rows.updateMembership(tx, organization.id, user.id, isPublic),
  )
  if (!found) throw new DomainError('MEMBER_NOT_FOUND')
}

/**
 * Checks that a user is not the only owner of an organisation, or of any organisation if none is
 * given.
 */
export async function checkOwnerRemains(
  tx: Tx,
  userId: number,
  organizationId?: number,
): Promise<void> {
  const orphaned = await findOnlyOwned(tx, userId, organizationId)
  if (!orphaned) return
  const reason =
    organizationId === undefined ? 'SOLE_ORGANIZATION_OWNER' : 'LAST_ORGANIZATION_OWNER'
  throw new DomainError(reason, { organization: orphaned.name })
}
