import type { Db } from '../database/database.ts'

export interface InstanceKeysTable {
  /** Key id, the `kid` of tokens signed with the key. */
  id: string
  secret: Buffer
  /** Unix seconds. */
  create_time: number
}

/**
 * The secret of a key, stored now if the key is new. Two processes that start at once agree on one
 * secret.
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
