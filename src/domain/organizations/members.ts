import { transaction } from '../../storage/database/database.ts'
import * as rows from '../../storage/organizations/organizations.ts'
import { deleteFromTeams, findOnlyOwned } from '../../storage/organizations/team-members.ts'
import type { Tx } from '../../storage/schema/schema.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { getUserByUsername, type NumberedUserPage } from '../accounts/users/owners.ts'
import { actsAsAdministrator, type Caller, type SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { Page } from '../core/names.ts'
import { checkOrganizationNeed, openOrganization, seesAllMembers } from './access.ts'

/**
 * The members of an organisation that a caller may know of, by number.
 *
 * @param publicOnly only those who show it, whoever asks.
 * @throws ORGANIZATION_NOT_FOUND, PUBLIC_ONLY_TOKEN
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
 * Makes sure that a user is a member of an organisation, as far as the caller may know.
 *
 * @param publicOnly whether to count only those who show it, whoever asks.
 * @throws ORGANIZATION_NOT_FOUND, PUBLIC_ONLY_TOKEN, USER_NOT_FOUND, MEMBER_NOT_FOUND
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

/**
 * Takes a user out of an organisation and all of its teams. One who is no member stays none.
 *
 * @throws ORGANIZATION_NOT_FOUND, PUBLIC_ONLY_TOKEN, USER_NOT_FOUND, ORGANIZATION_ACCESS_DENIED
 *   unless the caller is an owner or the user, LAST_ORGANIZATION_OWNER
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
  })
}

/**
 * Shows or hides that a user is a member of an organisation, which only they and administrators of
 * the instance may do.
 *
 * @throws ORGANIZATION_NOT_FOUND, PUBLIC_ONLY_TOKEN, USER_NOT_FOUND, PERMISSION_DENIED,
 *   MEMBER_NOT_FOUND
 */
export async function showMembership(
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
 * Refuses to take a user away from an organisation, or from all of them, that nobody else owns.
 *
 * @throws LAST_ORGANIZATION_OWNER for the one, SOLE_ORGANIZATION_OWNER for all.
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
