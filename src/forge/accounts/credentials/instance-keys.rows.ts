import type { Db } from '../../../platform/database/schema.ts'
import type { InstanceKeysTable } from '../schema.ts'

/**
 * Returns the secret of a key, and stores it if the key is new. Processes that start at the same
 * time get the same secret.
 */
export async function findOrInsertInstanceKey(db: Db, key: InstanceKeysTable): Promise<Buffer> {
  await db
    .insertInto('instance_keys')
    .values(key)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
  const row = await db
    .selectFrom('instance_keys')
    .select('secret')
    .where('id', '=', key.id)
    .executeTakeFirstOrThrow()
  return row.secret
}

/** Returns the secret of a key; undefined if there is none. */
export async function findInstanceKey(db: Db, id: string): Promise<Buffer | undefined> {
  const row = await db
    .selectFrom('instance_keys')
    .select('secret')
    .where('id', '=', id)
    .executeTakeFirst()
  return row?.secret
}
