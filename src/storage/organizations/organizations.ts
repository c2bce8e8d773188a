import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import { insertAccount } from '../accounts/users.ts'
import { prepareFirst } from '../database/prepared.ts'
import type { User } from '../schema/accounts.ts'
import type { NewOrganization, Organization, OrganizationChanges } from '../schema/organizations.ts'
import type { Db, Schema, Tx } from '../schema/schema.ts'

/**
 * Whose eyes a list of organisations is for: administrators', those of whoever is not signed in, or
 * a user's. A restricted user sees nothing but what they are a member of.
 */
export type OrganizationViewer =
  | 'everything'
  | 'public data'
  | { readonly userId: number; readonly restricted: boolean; readonly publicOnly: boolean }

/** Which organisations to list. */
export interface OrganizationFilter {
  readonly viewer: OrganizationViewer
  /** Only those that this user is a member of; undefined for all. */
  readonly memberId?: number
}

const organizationByNameKey = prepareFirst((db, key: string) =>
  db
    .selectFrom('account_names')
    .innerJoin('organizations', 'organizations.id', 'account_names.account_id')
    .selectAll('organizations')
    .where('account_names.name_key', '=', key),
)

const organizationById = prepareFirst((db, id: number) =>
  db.selectFrom('organizations').selectAll().where('id', '=', id),
)

/** The organisation with a folded name. */
export function findOrganizationByNameKey(db: Db, key: string): Promise<Organization | undefined> {
  return organizationByNameKey(db, key)
}

export function findOrganizationById(db: Db, id: number): Promise<Organization | undefined> {
  return organizationById(db, id)
}

/** The organisations with these numbers, by number. */
export async function findOrganizationsByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Organization>> {
  if (ids.length === 0) return new Map()
  const found = await db.selectFrom('organizations').selectAll().where('id', 'in', ids).execute()
  return new Map(found.map((organization) => [organization.id, organization]))
}

/** Organisations by name. */
export function listOrganizations(
  db: Db,
  filter: OrganizationFilter,
  offset: number,
  limit: number,
): Promise<Organization[]> {
  return selectOrganizations(db, filter)
    .selectAll('organizations')
    .orderBy('name_key')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** How many there are in that list. */
export async function countOrganizations(db: Db, filter: OrganizationFilter): Promise<number> {
  const { count } = await selectOrganizations(db, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectOrganizations(db: Db, { viewer, memberId }: OrganizationFilter) {
  return db
    .selectFrom('organizations')
    .$if(viewer !== 'everything', (query) => query.where((eb) => visibleTo(eb, viewer)))
    .$if(memberId !== undefined, (query) =>
      query.where((eb) => eb('organizations.id', 'in', membershipsOf(eb, memberId ?? 0, viewer))),
    )
}

type Builder = ExpressionBuilder<Schema, 'organizations'>

function visibleTo(eb: Builder, viewer: OrganizationViewer): Expression<SqlBool> {
  const isPublic = eb('visibility', '=', 'public')
  if (typeof viewer === 'string') return isPublic
  const isJoined = eb('organizations.id', 'in', membershipsOf(eb, viewer.userId, 'everything'))
  const isKnown = viewer.restricted
    ? isJoined
    : eb.or([eb('visibility', 'in', ['public', 'limited']), isJoined])
  return viewer.publicOnly ? eb.and([isPublic, isKnown]) : isKnown
}

/** Numbers of the organisations that a user is a member of, as far as a viewer may know. */
function membershipsOf(
  eb: Pick<Builder, 'selectFrom'>,
  userId: number,
  viewer: OrganizationViewer,
) {
  const memberships = eb
    .selectFrom('organization_members')
    .select('organization_id')
    .where('user_id', '=', userId)
  if (viewer === 'everything') return memberships
  if (viewer === 'public data' || viewer.publicOnly) return memberships.where('is_public', '=', 1)
  // Whoever is in an organisation knows who else is.
  const joined = eb
    .selectFrom('organization_members as joined')
    .select('joined.organization_id')
    .where('joined.user_id', '=', viewer.userId)
  return memberships.where((each) =>
    each.or([each('is_public', '=', 1), each('organization_id', 'in', joined)]),
  )
}

/**
 * Stores an organisation under a number of its own. Its name is claimed by `claimNames`, in the
 * same transaction.
 *
 * @returns it as stored.
 */
export async function insertOrganization(
  tx: Tx,
  organization: NewOrganization,
): Promise<Organization> {
  const id = await insertAccount(tx, 'ORGANIZATION')
  return tx
    .insertInto('organizations')
    .values({ ...organization, id })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Changes an organisation; undefined when there is none any more. */
export function updateOrganization(
  tx: Tx,
  id: number,
  changes: OrganizationChanges,
): Promise<Organization | undefined> {
  return tx
    .updateTable('organizations')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Deletes an organisation with its name and every row that hangs off it. */
export async function deleteOrganization(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('organizations').where('id', '=', id).execute()
}

const memberRow = prepareFirst((db, organizationId: number, userId: number) =>
  db
    .selectFrom('organization_members')
    .select('is_public')
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId),
)

/** Whether a user is a member, and whether outsiders may know. */
export async function findMembership(
  db: Db,
  organizationId: number,
  userId: number,
): Promise<'public' | 'concealed' | undefined> {
  const row = await memberRow(db, organizationId, userId)
  return row && (row.is_public === 1 ? 'public' : 'concealed')
}

/** Members by number; only those who show it when `publicOnly`. */
export function listMembers(
  db: Db,
  organizationId: number,
  publicOnly: boolean,
  offset: number,
  limit: number,
): Promise<User[]> {
  return selectMembers(db, organizationId, publicOnly)
    .innerJoin('users', 'users.id', 'organization_members.user_id')
    .selectAll('users')
    .orderBy('organization_members.user_id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** How many there are in that list. */
export async function countMembers(
  db: Db,
  organizationId: number,
  publicOnly: boolean,
): Promise<number> {
  const { count } = await selectMembers(db, organizationId, publicOnly)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectMembers(db: Db, organizationId: number, publicOnly: boolean) {
  return db
    .selectFrom('organization_members')
    .where('organization_id', '=', organizationId)
    .$if(publicOnly, (query) => query.where('is_public', '=', 1))
}

/** Makes a user a member whom outsiders do not see; one who is a member stays one as they are. */
export async function insertMember(tx: Tx, organizationId: number, userId: number): Promise<void> {
  await tx
    .insertInto('organization_members')
    .values({ organization_id: organizationId, user_id: userId, is_public: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Shows or hides a membership. @returns whether there is one. */
export async function updateMembership(
  tx: Tx,
  organizationId: number,
  userId: number,
  isPublic: boolean,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('organization_members')
    .set({ is_public: isPublic ? 1 : 0 })
    .where('organization_id', '=', organizationId)
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/**
 * Ends the memberships of those who are in no team any more; only that of `userId` if it is given.
 */
export async function deleteMembersWithoutTeam(
  tx: Tx,
  organizationId: number,
  userId?: number,
): Promise<void> {
  await tx
    .deleteFrom('organization_members')
    .where('organization_id', '=', organizationId)
    .$if(userId !== undefined, (query) => query.where('user_id', '=', userId ?? 0))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('team_members')
            .innerJoin('teams', 'teams.id', 'team_members.team_id')
            .select('team_members.user_id')
            .whereRef('team_members.user_id', '=', 'organization_members.user_id')
            .where('teams.organization_id', '=', organizationId),
        ),
      ),
    )
    .execute()
}
