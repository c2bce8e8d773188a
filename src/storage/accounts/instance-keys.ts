import type { InstanceKeysTable } from '../schema/accounts.ts'
import type { Db } from '../schema/schema.ts'

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
