import type { Tx } from '../../platform/database/schema.ts'

/** Where the client of a session signed in. Sessions of earlier versions have an empty text. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('sessions')
    .addColumn('address', 'text', (c) => c.notNull().defaultTo(''))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('sessions').dropColumn('address').execute()
}
