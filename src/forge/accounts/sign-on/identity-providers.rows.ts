import type { Insertable } from 'kysely'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { User } from '../../core/schema.ts'
import type {
  IdentityProvider,
  IdentityProviderChanges,
  LinkedIdentitiesTable,
  NewIdentityProvider,
} from '../schema.ts'

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

/** An identity with the uid of its provider. */
export interface LinkedIdentity {
  readonly id: number
  readonly user_id: number
  readonly extern_uid: string
  readonly provider_uid: string
}

/** Lists the identities of an account in the order in which they were linked. */
export function listLinkedIdentities(db: Db, userId: number): Promise<LinkedIdentity[]> {
  return selectIdentities(db)
    .where('identity.user_id', '=', userId)
    .orderBy('identity.id')
    .execute()
}

/** Returns the identity of an account at a provider. */
export function findLinkedIdentity(
  db: Db,
  userId: number,
  providerUid: string,
): Promise<LinkedIdentity | undefined> {
  return selectIdentities(db)
    .where('identity.user_id', '=', userId)
    .where('provider.uid', '=', providerUid)
    .executeTakeFirst()
}

/** Returns the account that an identity is linked to. */
export function findUserByIdentity(
  db: Db,
  providerId: number,
  externUid: string,
): Promise<User | undefined> {
  return db
    .selectFrom('linked_identities as identity')
    .innerJoin('users', 'users.id', 'identity.user_id')
    .selectAll('users')
    .where('identity.provider_id', '=', providerId)
    .where('identity.extern_uid', '=', externUid)
    .executeTakeFirst()
}

/**
 * @throws a unique violation if the identity is already linked, or the account has another identity
 *   at the provider.
 */
export async function insertLinkedIdentity(
  tx: Tx,
  identity: Insertable<LinkedIdentitiesTable>,
): Promise<void> {
  await tx.insertInto('linked_identities').values(identity).execute()
}

export async function deleteLinkedIdentity(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('linked_identities').where('id', '=', id).execute()
}

function selectIdentities(db: Db) {
  return db
    .selectFrom('linked_identities as identity')
    .innerJoin('identity_providers as provider', 'provider.id', 'identity.provider_id')
    .select([
      'identity.id',
      'identity.user_id',
      'identity.extern_uid',
      'provider.uid as provider_uid',
    ])
}
