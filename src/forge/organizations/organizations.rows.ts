import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import { prepareFirst } from '../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import { insertAccount } from '../accounts/users/users.rows.ts'
import type { User } from '../core/schema.ts'
import type { NewOrganization, Organization, OrganizationChanges } from './schema.ts'

/**
 * The viewer for whom to list organisations: an administrator, an anonymous caller, or a user. A
 * restricted user sees only the organisations that they are a member of.
 */
export type OrganizationViewer =
  | 'everything'
  | 'public data'
  | { readonly userId: number; readonly restricted: boolean; readonly publicOnly: boolean }

/** Criteria for listing organisations. */
export interface OrganizationFilter {
  readonly viewer: OrganizationViewer
  /** Lists only organisations with this member; undefined for all. */
  readonly memberId?: number
}

/** Returns the organisation with a folded name. */
export const findOrganizationByNameKey = prepareFirst((db, key: string) =>
  db
    .selectFrom('account_names')
    .innerJoin('organizations', 'organizations.id', 'account_names.account_id')
    .selectAll('organizations')
    .where('account_names.name_key', '=', key),
)

export const findOrganizationById = prepareFirst((db, id: number) =>
  db.selectFrom('organizations').selectAll().where('id', '=', id),
)

/** Returns the organisations with these ids, by id. */
export async function findOrganizationsByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Organization>> {
  if (ids.length === 0) return new Map()
  const found = await db.selectFrom('organizations').selectAll().where('id', 'in', ids).execute()
  return new Map(found.map((organization) => [organization.id, organization]))
}

/** Lists organisations by name. */
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

/** Selects the ids of a user's organisations that a viewer may see. */
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
  // Members see each other.
  const joined = eb
    .selectFrom('organization_members as joined')
    .select('joined.organization_id')
    .where('joined.user_id', '=', viewer.userId)
  return memberships.where((each) =>
    each.or([each('is_public', '=', 1), each('organization_id', 'in', joined)]),
  )
}

/**
 * Stores an organisation under a new id. `claimNames` must claim its name in the same transaction.
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

/** Updates an organisation. Returns undefined if it no longer exists. */
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

/** Deletes an organisation, its name and all rows that depend on it. */
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

/** Returns whether a user is a member, and whether the membership is public. */
export async function findMembership(
  db: Db,
  organizationId: number,
  userId: number,
): Promise<'public' | 'concealed' | undefined> {
  const row = await memberRow(db, organizationId, userId)
  return row && (row.is_public === 1 ? 'public' : 'concealed')
}

/** Lists members by id; only public memberships if `publicOnly`. */
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

/** Adds a member with a private membership. An existing membership does not change. */
export async function insertMember(tx: Tx, organizationId: number, userId: number): Promise<void> {
  await tx
    .insertInto('organization_members')
    .values({ organization_id: organizationId, user_id: userId, is_public: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/**
 * Makes a membership public or private.
 *
 * @returns whether it exists.
 */
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

/** Deletes the memberships of users without a team, or only that of `userId` if given. */
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
