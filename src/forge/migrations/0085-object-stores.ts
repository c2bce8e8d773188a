import { sql } from 'kysely'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

const TABLES = ['release_assets', 'issue_attachments'] as const

const QUEUE = `insert into storage_deletions (store, object_key, due_time)
  values (old.store, 'attachments/' || old.repository_id || '/' || old.uuid, 0);`

/** A row that is deleted, also with its repository, leaves the deletion of its content behind. */
const TRIGGERS: Readonly<Record<string, string>> = {
  release_asset_deleted: `after delete on release_assets begin ${QUEUE} end`,
  issue_attachment_deleted: `after delete on issue_attachments begin ${QUEUE} end`,
  // The issue was transferred, with a copy of its files.
  issue_attachment_moved: `after update of repository_id on issue_attachments
    when old.repository_id <> new.repository_id begin ${QUEUE} end`,
}

/** Rows of contents name their store, and contents without a row are deleted, now or after a crash. */
export async function up(db: Tx): Promise<void> {
  for (const table of TABLES)
    await db.schema
      .alterTable(table)
      .addColumn('store', 'text', (c) => c.notNull().defaultTo('disk'))
      .execute()
  // When a repository is deleted, its releases go before their assets.
  await db.schema
    .alterTable('release_assets')
    .addColumn('repository_id', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await sql`update release_assets set repository_id =
    (select repository_id from releases where releases.id = release_assets.release_id)`.execute(db)
  await db.schema
    .createTable('storage_deletions')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('store', 'text', (c) => c.notNull())
    .addColumn('object_key', 'text', (c) => c.notNull())
    // Unix seconds.
    .addColumn('due_time', 'integer', (c) => c.notNull())
    .addColumn('tries', 'integer', (c) => c.notNull().defaultTo(0))
    // Unix seconds. Set while a server deletes the content.
    .addColumn('claim_time', 'integer')
    .execute()
  await index(db, 'due', 'due_time')
  await index(db, 'of_key', 'object_key')
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

function index(db: Tx, name: string, column: string): Promise<void> {
  return db.schema
    .createIndex(`storage_deletions_${name}`)
    .on('storage_deletions')
    .column(column)
    .execute()
}

/** Forgets the deletions that are due. `doctor` finds their files. */
export async function down(db: Tx): Promise<void> {
  for (const name of Object.keys(TRIGGERS)) await dropTrigger(db, name)
  await db.schema.dropTable('storage_deletions').execute()
  await db.schema.alterTable('release_assets').dropColumn('repository_id').execute()
  for (const table of TABLES) await db.schema.alterTable(table).dropColumn('store').execute()
}
