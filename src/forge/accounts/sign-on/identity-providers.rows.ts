import type { Db, Tx } from '../../../platform/database/schema.ts'
import type {
  IdentityProvider,
  IdentityProviderChanges,
  NewIdentityProvider,
} from '../credentials/schema.ts'

/** Lists all providers in order of creation. */
export function listIdentityProviders(db: Db): Promise<IdentityProvider[]> {
  return db.selectFrom('identity_providers').selectAll().orderBy('id').execute()
}

export function findIdentityProvider(db: Db, uid: string): Promise<IdentityProvider | undefined> {
  return db.selectFrom('identity_providers').selectAll().where('uid', '=', uid).executeTakeFirst()
}

/** Returns whether a provider other than `id` exists. */
export async function anotherIdentityProviderExists(tx: Tx, id: number): Promise<boolean> {
  const row = await tx
    .selectFrom('identity_providers')
    .select('id')
    .where('id', '<>', id)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** @throws a unique violation if another provider has the uid. */
export function insertIdentityProvider(
  db: Db,
  provider: NewIdentityProvider,
): Promise<IdentityProvider> {
  return db
    .insertInto('identity_providers')
    .values(provider)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Returns the updated provider; undefined if it does not exist. */
export function updateIdentityProvider(
  db: Db,
  uid: string,
  changes: IdentityProviderChanges,
): Promise<IdentityProvider | undefined> {
  return db
    .updateTable('identity_providers')
    .set(changes)
    .where('uid', '=', uid)
    .returningAll()
    .executeTakeFirst()
}

/** Deletes a provider and all identities linked at it. */
export async function deleteIdentityProvider(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('identity_providers').where('id', '=', id).execute()
}
