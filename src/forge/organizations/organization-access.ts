import type { AccountsApp } from '../accounts/ports.ts'
import { actsAsAdministrator, type Caller, seesPublicDataOnly } from '../core/access.ts'
import { DomainError, type Reason } from '../core/errors.ts'
import { nameKey } from '../core/names.ts'
import { findOrganizationByNameKey, type OrganizationViewer } from './organizations.rows.ts'
import type { Organization } from './schema.ts'
import { findOrganizationRights, type OrganizationRights, type TeamViewer } from './teams.rows.ts'

/**
 * What a call requires of its caller: to see the organisation, to be a member, to be allowed to
 * create repositories, or to be an owner.
 */
type OrganizationNeed = 'visible' | 'member' | 'create-repository' | 'owner'

/** An organisation that a caller may see. */
export interface OpenOrganization {
  readonly organization: Organization
  readonly isMember: boolean
  /** As a member of the team Owners, or as an administrator of the instance. */
  readonly isOwner: boolean
  readonly createsRepositories: boolean
}

/** The rights of users without teams. */
const NO_RIGHTS: OrganizationRights = {
  isMember: false,
  isOwner: false,
  createsRepositories: false,
}

/**
 * Returns the organisation with a name.
 *
 * @param name compared case-insensitively.
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
 * Returns an organisation with the caller's rights.
 *
 * @param missing reason for a caller who may not see the organisation.
 * @throws `missing`, also for a token that sees public data only. Such a token must not tell the
 *   private organisations of its owner from missing ones.
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
  const isHidden = organization.visibility !== 'public' && seesPublicDataOnly(caller)
  if (!sees || isHidden) throw new DomainError(missing)
  return standing
}

/** Returns the caller's rights in an organisation, whether or not the caller may see it. */
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

/** Checks that the caller has a right. */
export function checkOrganizationNeed(open: OpenOrganization, needed: OrganizationNeed): void {
  const suffices = {
    visible: true,
    member: open.isMember || open.isOwner,
    'create-repository': open.createsRepositories,
    owner: open.isOwner,
  }
  if (!suffices[needed]) throw new DomainError('ORGANIZATION_ACCESS_DENIED', { needed })
}

/**
 * Returns whether a caller sees all members of an organisation, or only those whose membership is
 * public.
 */
export function seesAllMembers(caller: Caller, open: OpenOrganization): boolean {
  if (seesPublicDataOnly(caller)) return false
  return open.isMember || open.isOwner || actsAsAdministrator(caller, 'read')
}

/** Returns the viewer for whom to list organisations. */
export function organizationViewer(caller: Caller): OrganizationViewer {
  if (caller.kind === 'anonymous') return 'public data'
  const publicOnly = seesPublicDataOnly(caller)
  if (actsAsAdministrator(caller, 'read')) return publicOnly ? 'public data' : 'everything'
  return { userId: caller.user.id, restricted: caller.user.restricted === 1, publicOnly }
}

/** Returns the viewer for whom to list the teams of an organisation. */
export function teamViewer(caller: Caller, { isMember, isOwner }: OpenOrganization): TeamViewer {
  if (caller.kind === 'anonymous' || seesPublicDataOnly(caller)) return 'public data'
  if (isOwner || actsAsAdministrator(caller, 'read')) return 'everything'
  return { userId: caller.user.id, isMember }
}
