import { sql } from 'kysely'
import { startsWithSql } from '../../../platform/database/database.ts'
import { numbersOf, prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db } from '../../../platform/database/schema.ts'
import type { Owner } from '../schema.ts'

/** Returns the user or organisation with a folded name. */
export const findOwnerByNameKey = prepareFirst((db, key: string) =>
  selectOwners(db)
    .where('accounts.id', '=', (eb) =>
      eb.selectFrom('account_names').select('account_id').where('name_key', '=', key),
    )
    // The key may be the custom id of an account, which is not valid in paths.
    .where((eb) =>
      eb(eb.fn('lower', [eb.fn.coalesce('users.username', 'organizations.name')]), '=', key),
    ),
)

/** Returns the user or organisation that had a folded name before it was renamed. */
export const findFormerOwner = prepareFirst((db, key: string) =>
  selectOwners(db).where('accounts.id', '=', (eb) =>
    eb.selectFrom('account_redirects').select('account_id').where('name_key', '=', key),
  ),
)

export const findOwnerById = prepareFirst((db, id: number) =>
  selectOwners(db).where('accounts.id', '=', id),
)

/** Returns the users and organisations with these ids, by id. */
export async function findOwnersByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Owner>> {
  if (ids.length === 0) return new Map()
  const found = await ownersByIds(db, JSON.stringify(ids))
  return new Map(found.map((owner) => [owner.id, owner]))
}

const ownersByIds = prepareQuery((db, ids: string) =>
  selectOwners(db).where('accounts.id', 'in', numbersOf(ids)),
)

/**
 * Returns the ids of the first owners by name whose folded names begin with a text. The names of
 * accounts are also their custom ids.
 */
export async function ownerIdsFrom(
  db: Db,
  owners: 'all' | 'organizations',
  begin: string,
  limit: number,
): Promise<number[]> {
  const begins = startsWithSql(sql.ref('name_key'), begin)
  const found =
    owners === 'all'
      ? await db
          .selectFrom('account_names')
          .select('account_id as id')
          .where(begins)
          .orderBy('name_key')
          .limit(limit)
          .execute()
      : await db
          .selectFrom('organizations')
          .select('id')
          .where(begins)
          .orderBy('name_key')
          .limit(limit)
          .execute()
  return found.map(({ id }) => id)
}

/** Selects the columns of owners. Columns that only users have are null for organisations. */
function selectOwners(db: Db) {
  return (
    db
      .selectFrom('accounts')
      .leftJoin('users', 'users.id', 'accounts.id')
      .leftJoin('organizations', 'organizations.id', 'accounts.id')
      .select(({ fn }) => [
        'accounts.id',
        'accounts.kind',
        fn.coalesce('users.username', 'organizations.name').as('name'),
        fn.coalesce('users.display_name', 'organizations.full_name').as('full_name'),
        fn.coalesce('users.email', 'organizations.email').as('email'),
        fn.coalesce('users.avatar_url', sql.lit('')).as('avatar_url'),
        'users.user_id',
        fn.coalesce('users.description', 'organizations.description').as('description'),
        fn.coalesce('users.website', 'organizations.website').as('website'),
        fn.coalesce('users.location', 'organizations.location').as('location'),
        fn.coalesce('users.visibility', 'organizations.visibility').as('visibility'),
        fn.coalesce('users.restricted', sql.lit(0)).as('restricted'),
        fn.coalesce('users.login_name', sql.lit('')).as('login_name'),
        fn.coalesce('users.source_id', sql.lit(0)).as('source_id'),
        'users.role',
        'users.state',
        fn.coalesce('users.stars_count', sql.lit(0)).as('stars_count'),
        fn.coalesce('users.followers_count', sql.lit(0)).as('followers_count'),
        fn.coalesce('users.following_count', sql.lit(0)).as('following_count'),
        fn.coalesce('users.create_time', 'organizations.create_time').as('create_time'),
      ])
      // Each account has a row in one of the two tables.
      .$castTo<Owner>()
  )
}
