import type { Db } from '../schema/schema.ts'
import { transaction } from './database.ts'

/**
 * Returns whether a data folder belongs to a PostgreSQL database. The first folder does.
 *
 * @param id the id of the folder.
 */
export function belongsTo(db: Db, id: string): Promise<boolean> {
  return transaction(db, async (tx) => {
    const known = await tx.selectFrom('data_folders').select('id').executeTakeFirst()
    if (!known) await tx.insertInto('data_folders').values({ id }).execute()
    return !known || known.id === id
  })
}
