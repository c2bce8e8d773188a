import { prepareFirst } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { NewOAuth2Application, OAuth2Application } from './schema.ts'

/** The owner of applications: the id of a user or an organisation, or null for the instance. */
export type ApplicationOwner = number | null

export const findApplicationByClientId = prepareFirst((db, clientId: string) =>
  db.selectFrom('oauth2_applications').selectAll().where('client_id', '=', clientId),
)

/** Returns applications of an owner, in the order of their creation. */
export function listApplications(
  db: Db,
  owner: ApplicationOwner,
  offset: number,
  limit: number,
): Promise<OAuth2Application[]> {
  return of(db, owner).selectAll().orderBy('id').limit(limit).offset(offset).execute()
}

export async function countApplications(db: Db, owner: ApplicationOwner): Promise<number> {
  const { count } = await of(db, owner)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

export function findApplication(
  db: Db,
  owner: ApplicationOwner,
  id: number,
): Promise<OAuth2Application | undefined> {
  return of(db, owner).selectAll().where('id', '=', id).executeTakeFirst()
}

export function insertApplication(
  tx: Tx,
  application: NewOAuth2Application,
): Promise<OAuth2Application> {
  return tx
    .insertInto('oauth2_applications')
    .values(application)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export function updateApplication(
  tx: Tx,
  id: number,
  changes: Partial<Omit<NewOAuth2Application, 'id' | 'client_id' | 'owner_id'>>,
): Promise<OAuth2Application> {
  return tx
    .updateTable('oauth2_applications')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes an application with everything that users have granted to it. */
export async function deleteApplication(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('oauth2_applications').where('id', '=', id).execute()
}

function of(db: Db, owner: ApplicationOwner) {
  return db.selectFrom('oauth2_applications').where('owner_id', owner === null ? 'is' : '=', owner)
}
