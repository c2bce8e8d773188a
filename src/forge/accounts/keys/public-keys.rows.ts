import type { Insertable } from 'kysely'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { KeyPage, PublicKeysTable, StoredPublicKey } from '../schema.ts'

/** A key that belongs to an account. */
export type PublicKey = StoredPublicKey & { readonly user_id: number }

/**
 * Lists the keys of an account in the order in which they were added.
 *
 * @param fingerprint of the only key to list; empty for all.
 */
export async function listPublicKeys(
  db: Db,
  userId: number,
  fingerprint: string,
  offset: number,
  limit: number,
): Promise<KeyPage<PublicKey>> {
  const selected = db
    .selectFrom('public_keys')
    .where('user_id', '=', userId)
    .$if(fingerprint !== '', (query) => query.where('fingerprint', '=', fingerprint))
  const keys = await selected
    .selectAll()
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .$narrowType<PublicKey>()
    .execute()
  const { total } = await selected
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { keys, total }
}

export async function countPublicKeys(db: Db, userId: number): Promise<number> {
  const { count } = await db
    .selectFrom('public_keys')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

/** Returns the key of any account with an id. */
export function findPublicKey(db: Db, id: number): Promise<PublicKey | undefined> {
  return db
    .selectFrom('public_keys')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', 'is not', null)
    .$narrowType<PublicKey>()
    .executeTakeFirst()
}

/** Returns the key with an id, whether it belongs to an account or to repositories. */
export function findKeyById(db: Db, id: number): Promise<StoredPublicKey | undefined> {
  return db.selectFrom('public_keys').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the key with a fingerprint, whether it belongs to an account or to repositories. */
export function findKeyByFingerprint(
  db: Db,
  fingerprint: string,
): Promise<StoredPublicKey | undefined> {
  return db
    .selectFrom('public_keys')
    .selectAll()
    .where('fingerprint', '=', fingerprint)
    .executeTakeFirst()
}

/** Records a use of a key unless a use after `staleUntil` is recorded. Times are Unix seconds. */
export async function recordPublicKeyUse(
  db: Db,
  id: number,
  usedAt: number,
  staleUntil: number,
): Promise<void> {
  await db
    .updateTable('public_keys')
    .set({ last_used_time: usedAt })
    .where('id', '=', id)
    .where((eb) =>
      eb.or([eb('last_used_time', 'is', null), eb('last_used_time', '<=', staleUntil)]),
    )
    .execute()
}

/** Returns the accounts whose keys have these fingerprints, by fingerprint. */
export async function findPublicKeyOwners(
  db: Db,
  fingerprints: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (fingerprints.length === 0) return new Map()
  const keys = await db
    .selectFrom('public_keys')
    .select(['fingerprint', 'user_id'])
    .where('fingerprint', 'in', fingerprints)
    .where('user_id', 'is not', null)
    .$narrowType<{ user_id: number }>()
    .execute()
  return new Map(keys.map(({ fingerprint, user_id }) => [fingerprint, user_id]))
}

/** Returns whether a key of the account has the title. */
export async function hasPublicKeyTitle(db: Db, userId: number, title: string): Promise<boolean> {
  const found = await db
    .selectFrom('public_keys')
    .select('id')
    .where('user_id', '=', userId)
    .where('title', '=', title)
    .executeTakeFirst()
  return found !== undefined
}

export function insertPublicKey(
  tx: Tx,
  key: Insertable<PublicKeysTable>,
): Promise<StoredPublicKey> {
  return tx.insertInto('public_keys').values(key).returningAll().executeTakeFirstOrThrow()
}

export async function deletePublicKey(db: Db, id: number): Promise<void> {
  await db.deleteFrom('public_keys').where('id', '=', id).execute()
}
