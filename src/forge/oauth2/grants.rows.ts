import type { Db, Tx } from '../../platform/database/schema.ts'
import type { OAuth2Application, OAuth2Grant } from './schema.ts'

/** A grant and the application that has it. */
export interface GrantOfApplication {
  readonly grant: OAuth2Grant
  readonly application: Pick<OAuth2Application, 'id' | 'client_id' | 'name'>
}

/** Returns what a user has granted to an application. */
export function findGrant(
  db: Db,
  userId: number,
  applicationId: number,
): Promise<OAuth2Grant | undefined> {
  return db
    .selectFrom('oauth2_grants')
    .selectAll()
    .where('user_id', '=', userId)
    .where('application_id', '=', applicationId)
    .executeTakeFirst()
}

/** Returns a grant of a user. */
export function findGrantById(
  db: Db,
  userId: number,
  id: number,
): Promise<OAuth2Grant | undefined> {
  return db
    .selectFrom('oauth2_grants')
    .selectAll()
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Returns grants of a user, in the order of their creation. */
export async function listGrants(
  db: Db,
  userId: number,
  offset: number,
  limit: number,
): Promise<GrantOfApplication[]> {
  const rows = await db
    .selectFrom('oauth2_grants')
    .innerJoin('oauth2_applications as app', 'app.id', 'oauth2_grants.application_id')
    .selectAll('oauth2_grants')
    .select(['app.client_id', 'app.name'])
    .where('oauth2_grants.user_id', '=', userId)
    .orderBy('oauth2_grants.id')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(({ client_id, name, ...grant }) => ({
    grant,
    application: { id: grant.application_id, client_id, name },
  }))
}

export async function countGrants(db: Db, userId: number): Promise<number> {
  const { count } = await db
    .selectFrom('oauth2_grants')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

/** Stores what a user has granted to an application, in place of what the user granted before. */
export function putGrant(
  tx: Tx,
  grant: Pick<OAuth2Grant, 'user_id' | 'application_id' | 'scopes'>,
  now: number,
): Promise<OAuth2Grant> {
  return tx
    .insertInto('oauth2_grants')
    .values({ ...grant, create_time: now, update_time: now })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'application_id'])
        .doUpdateSet({ scopes: grant.scopes, update_time: now }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes a grant with its authorizations and tokens. */
export async function deleteGrant(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('oauth2_grants').where('id', '=', id).execute()
}
