import { transaction } from '../../platform/database/database.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { getOwner, readVisibility } from '../accounts/users/owners.ts'
import { checkLength, checkVisible, isEmail, isUsername } from '../accounts/users/user-fields.ts'
import { claimNames, findNameHolder } from '../accounts/users/users.rows.ts'
import { type Caller, checkSeesPrivate, type SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { nameKey, type Page } from '../core/names.ts'
import type { User } from '../core/schema.ts'
import { repositoryIdsOf } from '../repositories/lifecycle/repositories.rows.ts'
import { openOrganization, organizationViewer } from './organization-access.ts'
import * as rows from './organizations.rows.ts'
import type { Organization, OrganizationChanges } from './schema.ts'
import { insertTeam, insertTeamMember } from './teams.rows.ts'
import { OWNERS_TEAM } from './teams.ts'

export type { Organization }

/** The limits of compatible systems. */
const MAX_CHARACTERS = { full_name: 100, description: 255, website: 255, location: 50 }

/** The profile of an organisation. Undefined fields keep their value. */
interface OrganizationProfile {
  readonly fullName?: string | undefined
  readonly email?: string | undefined
  readonly description?: string | undefined
  readonly website?: string | undefined
  readonly location?: string | undefined
  /** Empty keeps the value as well. */
  readonly visibility?: string | undefined
  readonly repoAdminChangeTeamAccess?: boolean | undefined
}

/** An organisation to create. */
interface OrganizationDraft extends OrganizationProfile {
  readonly name: string
}

/** A page of a list. */
export interface OrganizationPage {
  readonly organizations: readonly Organization[]
  /** Length of the whole list. */
  readonly total: number
}

/**
 * Creates an organisation with the team Owners.
 *
 * @param owner the first member of the team: the caller, or the user for whom an administrator
 *   creates the organisation.
 */
export async function createOrganization(
  app: AccountsApp,
  caller: SignedIn,
  owner: Pick<User, 'id'>,
  { name, ...profile }: OrganizationDraft,
): Promise<Organization> {
  if (!isUsername(name))
    throw new DomainError('INVALID_ORGANIZATION_NAME', { name: name.slice(0, 64) })
  const columns = readProfile(caller, profile)
  const now = nowSeconds(app.clock)
  const key = nameKey(name)
  return transaction(app.db, async (tx) => {
    if ((await findNameHolder(tx, key)) !== undefined)
      throw new DomainError('ORGANIZATION_NAME_TAKEN', { name })
    const organization = await rows.insertOrganization(tx, {
      full_name: '',
      email: '',
      description: '',
      website: '',
      location: '',
      visibility: 'public',
      repo_admin_change_team_access: 0,
      ...columns,
      name,
      name_key: key,
      create_time: now,
      update_time: now,
    })
    await claimNames(tx, organization.id, new Set([key]))
    const owners = await insertTeam(tx, {
      ...OWNERS_TEAM,
      organization_id: organization.id,
      create_time: now,
    })
    await insertTeamMember(tx, owners.id, owner.id)
    await rows.insertMember(tx, organization.id, owner.id)
    return organization
  })
}

/** Returns the organisation with a name. */
export async function getOrganization(
  app: AccountsApp,
  caller: Caller,
  name: string,
): Promise<Organization> {
  return (await openOrganization(app, caller, name, 'visible')).organization
}

/** Changes the profile and visibility of an organisation. */
export async function editOrganization(
  app: AccountsApp,
  caller: Caller,
  name: string,
  profile: OrganizationProfile,
): Promise<Organization> {
  const { organization } = await openOrganization(app, caller, name, 'owner')
  const changes = { ...readProfile(caller, profile), update_time: nowSeconds(app.clock) }
  const edited = await transaction(app.db, (tx) =>
    rows.updateOrganization(tx, organization.id, changes),
  )
  if (!edited) throw new DomainError('ORGANIZATION_NOT_FOUND')
  return edited
}

/** Deletes an organisation and its teams. It must not own repositories. */
export async function deleteOrganization(
  app: AccountsApp,
  caller: Caller,
  name: string,
): Promise<void> {
  const { organization } = await openOrganization(app, caller, name, 'owner')
  await transaction(app.db, async (tx) => {
    const owned = await repositoryIdsOf(tx, organization.id)
    if (owned.length > 0) throw new DomainError('ORGANIZATION_HAS_REPOSITORIES')
    await rows.deleteOrganization(tx, organization.id)
  })
}

/** Lists the organisations that a caller may see, by name. */
export function listOrganizations(
  app: AccountsApp,
  caller: Caller,
  page: Page,
): Promise<OrganizationPage> {
  return pageOf(app, { viewer: organizationViewer(caller) }, page)
}

/** Lists the organisations that the caller is a member of, by name. */
export function listOwnOrganizations(
  app: AccountsApp,
  caller: SignedIn,
  page: Page,
): Promise<OrganizationPage> {
  return pageOf(app, { viewer: organizationViewer(caller), memberId: caller.user.id }, page)
}

/** Lists the organisations of a user that the caller may see, by name. */
export async function listOrganizationsOf(
  app: AccountsApp,
  caller: Caller,
  username: string,
  page: Page,
): Promise<OrganizationPage> {
  const user = await getOwner(app, caller, username)
  return pageOf(app, { viewer: organizationViewer(caller), memberId: user.id }, page)
}

async function pageOf(app: AccountsApp, filter: rows.OrganizationFilter, { offset, limit }: Page) {
  const organizations = await rows.listOrganizations(app.db, filter, offset, limit)
  return { organizations, total: await rows.countOrganizations(app.db, filter) }
}

function readProfile(caller: Caller, profile: OrganizationProfile): OrganizationChanges {
  const { fullName: full_name, email, description, website, location } = profile
  const texts = { full_name, description, website, location }
  for (const [field, limit] of Object.entries(MAX_CHARACTERS)) {
    checkLength(field, texts[field as keyof typeof texts], limit)
  }
  checkVisible('website', website)
  if (email && !isEmail(email)) throw new DomainError('INVALID_EMAIL')
  const visibility = readVisibility(profile.visibility)
  if (visibility !== undefined && visibility !== 'public') checkSeesPrivate(caller)
  const changes: OrganizationChanges = {}
  if (full_name !== undefined) changes.full_name = full_name
  if (email !== undefined) changes.email = email
  if (description !== undefined) changes.description = description
  if (website !== undefined) changes.website = website
  if (location !== undefined) changes.location = location
  if (visibility !== undefined) changes.visibility = visibility
  if (profile.repoAdminChangeTeamAccess !== undefined) {
    changes.repo_admin_change_team_access = profile.repoAdminChangeTeamAccess ? 1 : 0
  }
  return changes
}
