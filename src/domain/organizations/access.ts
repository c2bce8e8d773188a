import {
  findOrganizationByNameKey,
  type OrganizationViewer,
} from '../../storage/organizations/organizations.ts'
import {
  findOrganizationRights,
  type OrganizationRights,
  type TeamViewer,
} from '../../storage/organizations/teams.ts'
import type { Organization } from '../../storage/schema/organizations.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { actsAsAdministrator, type Caller, seesPublicDataOnly } from '../core/access.ts'
import { DomainError, type Reason } from '../core/errors.ts'
import { nameKey } from '../core/names.ts'

/**
 * What a call takes of its caller: to know of an organisation, to be in it, a team's leave to make
 * repositories, to own it.
 */
export type OrganizationNeed = 'visible' | 'member' | 'create-repository' | 'owner'

/** An organisation that a caller may know of. */
export interface OpenOrganization {
  readonly organization: Organization
  readonly isMember: boolean
  /** By the team Owners, or as an administrator of the instance. */
  readonly isOwner: boolean
  readonly createsRepositories: boolean
}

/** What nobody's teams make of them. */
const NO_RIGHTS: OrganizationRights = {
  isMember: false,
  isOwner: false,
  createsRepositories: false,
}

/**
 * The organisation that a caller names.
 *
 * @param name in any case.
 * @throws ORGANIZATION_NOT_FOUND when there is none, or none that the caller may know of;
 *   PUBLIC_ONLY_TOKEN when the caller may, and the token may not; ORGANIZATION_ACCESS_DENIED when
 *   the caller may know of it and no more.
 */
export async function openOrganization(
  app: AccountsApp,
  caller: Caller,
  name: string,
  needed: OrganizationNeed,
): Promise<OpenOrganization> {
  const organization = await findOrganizationByNameKey(app.db, nameKey(name))
  if (!organization) throw new DomainError('ORGANIZATION_NOT_FOUND')
  const open = await enterOrganization(app, caller, organization, 'ORGANIZATION_NOT_FOUND')
  checkOrganizationNeed(open, needed)
  return open
}

/**
 * An organisation as a caller sees it.
 *
 * @param missing reason for a caller who may not know of it.
 * @throws that; PUBLIC_ONLY_TOKEN
 */
export async function enterOrganization(
  app: AccountsApp,
  caller: Caller,
  organization: Organization,
  missing: Reason,
): Promise<OpenOrganization> {
  const standing = await standingIn(app, caller, organization)
  const isSignedIn = caller.kind === 'user'
  const isOpen =
    organization.visibility === 'public' || (organization.visibility === 'limited' && isSignedIn)
  const isRestricted = isSignedIn && caller.user.restricted === 1
  const sees = standing.isMember || (isOpen && !isRestricted) || actsAsAdministrator(caller, 'read')
  if (!sees) throw new DomainError(missing)
  if (organization.visibility !== 'public' && seesPublicDataOnly(caller))
    throw new DomainError('PUBLIC_ONLY_TOKEN')
  return standing
}

/** What a caller is to an organisation, whether or not they may know of it. */
export async function standingIn(
  app: AccountsApp,
  caller: Caller,
  organization: Organization,
): Promise<OpenOrganization> {
  const rights =
    caller.kind === 'user'
      ? await findOrganizationRights(app.db, organization.id, caller.user.id)
      : NO_RIGHTS
  const isOwner = rights.isOwner || actsAsAdministrator(caller, 'write')
  return {
    organization,
    isMember: rights.isMember,
    isOwner,
    createsRepositories: isOwner || rights.createsRepositories,
  }
}

/** @throws ORGANIZATION_ACCESS_DENIED */
export function checkOrganizationNeed(open: OpenOrganization, needed: OrganizationNeed): void {
  const suffices = {
    visible: true,
    member: open.isMember || open.isOwner,
    'create-repository': open.createsRepositories,
    owner: open.isOwner,
  }
  if (!suffices[needed]) throw new DomainError('ORGANIZATION_ACCESS_DENIED', { needed })
}

/** Whether a caller knows every member of an organisation, or only those who show that they are. */
export function seesAllMembers(caller: Caller, open: OpenOrganization): boolean {
  if (seesPublicDataOnly(caller)) return false
  return open.isMember || open.isOwner || actsAsAdministrator(caller, 'read')
}

/** Whose eyes a list of organisations for a caller is for. */
export function organizationViewer(caller: Caller): OrganizationViewer {
  if (caller.kind === 'anonymous') return 'public data'
  const publicOnly = seesPublicDataOnly(caller)
  if (actsAsAdministrator(caller, 'read')) return publicOnly ? 'public data' : 'everything'
  return { userId: caller.user.id, restricted: caller.user.restricted === 1, publicOnly }
}

/** Whose eyes a list of teams of an organisation for a caller is for. */
export function teamViewer(caller: Caller, { isMember, isOwner }: OpenOrganization): TeamViewer {
  if (caller.kind === 'anonymous' || seesPublicDataOnly(caller)) return 'public data'
  if (isOwner || actsAsAdministrator(caller, 'read')) return 'everything'
  return { userId: caller.user.id, isMember }
}
