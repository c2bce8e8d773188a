import type { Insertable } from 'kysely'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { GpgKey, GpgKeysTable, KeyPage } from '../schema.ts'

/** A key and its subkeys. */
export interface GpgKeyWithSubkeys {
  readonly key: GpgKey
  readonly subkeys: readonly GpgKey[]
}

/** Lists the keys of an account in the order in which they were added. */
export async function listGpgKeys(
  db: Db,
  userId: number,
  offset: number,
  limit: number,
): Promise<KeyPage<GpgKeyWithSubkeys>> {
  const keys = await selectPrimaryKeys(db, userId)
    .selectAll()
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
  return { keys: await withSubkeys(db, keys), total: await countGpgKeys(db, userId) }
}

export async function countGpgKeys(db: Db, userId: number): Promise<number> {
  const { count } = await selectPrimaryKeys(db, userId)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Returns the primary key of an account with an id. */
export async function findGpgKey(
  db: Db,
  userId: number,
  id: number,
): Promise<GpgKeyWithSubkeys | undefined> {
  const key = await selectPrimaryKeys(db, userId)
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return key && (await withSubkeys(db, [key]))[0]
}

/** Returns the id of the account's primary key that has a key id itself or on a subkey. */
export async function findGpgKeyByKeyId(
  db: Db,
  userId: number,
  keyId: string,
): Promise<number | undefined> {
  const found = await db
    .selectFrom('gpg_keys')
    .select(['id', 'primary_id'])
    .where('user_id', '=', userId)
    .where('key_id', '=', keyId)
    .executeTakeFirst()
  return found && (found.primary_id ?? found.id)
}

/** Returns the key of any account with a fingerprint. */
export function findGpgKeyByFingerprint(db: Db, fingerprint: string): Promise<GpgKey | undefined> {
  return db
    .selectFrom('gpg_keys')
    .selectAll()
    .where('fingerprint', '=', fingerprint)
    .where('primary_id', 'is', null)
    .executeTakeFirst()
}

export async function findGpgCertificate(db: Db, id: number): Promise<Buffer | undefined> {
  const row = await db
    .selectFrom('gpg_certificates')
    .select('certificate')
    .where('gpg_key_id', '=', id)
    .executeTakeFirst()
  return row?.certificate
}

/** A key that may have made a signature. */
export interface SigningKey {
  /** Id of the primary key, even if the key id is that of a subkey. */
  readonly id: number
  readonly user_id: number
  readonly key_id: string
  /** 1 if the owner of the account has proved possession of the private key. */
  readonly verified: number
  /** The addresses of the key as a JSON array. */
  readonly emails: string
  readonly certificate: Buffer
}

/**
 * Returns the keys of some accounts that have these key ids themselves or on subkeys, in the order
 * in which they were added.
 */
export async function findSigningKeys(
  db: Db,
  userIds: readonly number[],
  keyIds: readonly string[],
): Promise<SigningKey[]> {
  if (userIds.length === 0 || keyIds.length === 0) return []
  return db
    .selectFrom('gpg_keys as part')
    .innerJoin('gpg_keys as key', (join) =>
      join.on((eb) => eb('key.id', '=', eb.fn.coalesce('part.primary_id', 'part.id'))),
    )
    .innerJoin('gpg_certificates', 'gpg_certificates.gpg_key_id', 'key.id')
    .select([
      'key.id',
      'key.user_id',
      'part.key_id',
      'key.verified',
      'key.emails',
      'gpg_certificates.certificate',
    ])
    .where('part.user_id', 'in', userIds)
    .where('part.key_id', 'in', keyIds)
    .orderBy('key.id')
    .execute()
}

/** Stores a key and its subkeys. */
export async function insertGpgKey(
  tx: Tx,
  key: Omit<Insertable<GpgKeysTable>, 'primary_id'>,
  subkeys: readonly Omit<Insertable<GpgKeysTable>, 'primary_id'>[],
  certificate: Buffer,
): Promise<GpgKeyWithSubkeys> {
  const stored = await tx
    .insertInto('gpg_keys')
    .values({ ...key, primary_id: null })
    .returningAll()
    .executeTakeFirstOrThrow()
  if (subkeys.length > 0) {
    const values = subkeys.map((subkey) => ({ ...subkey, primary_id: stored.id }))
    await tx.insertInto('gpg_keys').values(values).execute()
  }
  await tx.insertInto('gpg_certificates').values({ gpg_key_id: stored.id, certificate }).execute()
  const [inserted = { key: stored, subkeys: [] }] = await withSubkeys(tx, [stored])
  return inserted
}

/** Records that the owner of the account has the private key. This covers the subkeys. */
export async function markGpgKeyVerified(db: Db, id: number): Promise<void> {
  await db
    .updateTable('gpg_keys')
    .set({ verified: 1 })
    .where((eb) => eb.or([eb('id', '=', id), eb('primary_id', '=', id)]))
    .execute()
}

/** Deletes a key and its subkeys. */
export async function deleteGpgKey(db: Db, id: number): Promise<void> {
  await db.deleteFrom('gpg_keys').where('id', '=', id).execute()
}

function selectPrimaryKeys(db: Db, userId: number) {
  return db.selectFrom('gpg_keys').where('user_id', '=', userId).where('primary_id', 'is', null)
}

async function withSubkeys(db: Db, keys: readonly GpgKey[]): Promise<GpgKeyWithSubkeys[]> {
  if (keys.length === 0) return []
  const ids = keys.map(({ id }) => id)
  const found = await db
    .selectFrom('gpg_keys')
    .selectAll()
    .where('primary_id', 'in', ids)
    .orderBy('id')
    .execute()
  return keys.map((key) => ({
    key,
    subkeys: found.filter(({ primary_id }) => primary_id === key.id),
  }))
}
