import { sql } from 'kysely'
import { isPostgres, WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Contents stay for a week after their last row, so that a backup that runs can still read them. */
const DELETION_DELAY_SECONDS = 7 * 24 * 60 * 60

const triggers = (now: string): Readonly<Record<string, string>> => ({
  lfs_object_added: `after insert on lfs_objects begin
    update repositories set lfs_bytes = lfs_bytes + new.bytes where id = new.repository_id; end`,
  // The content goes with the last repository that has the object.
  lfs_object_deleted: `after delete on lfs_objects begin
    update repositories set lfs_bytes = lfs_bytes - old.bytes where id = old.repository_id;
    delete from lfs_contents where oid = old.oid
      and not exists (select 1 from lfs_objects where oid = old.oid); end`,
  lfs_content_deleted: `after delete on lfs_contents begin
    insert into storage_deletions (store, object_key, due_time)
    values (old.store, 'lfs/' || substr(old.oid, 1, 2) || '/' || substr(old.oid, 3, 2) || '/' || old.oid,
      ${now} + ${DELETION_DELAY_SECONDS}); end`,
})

const SQLITE_NOW = "cast(strftime('%s', 'now') as integer)"
const POSTGRES_NOW = 'cast(extract(epoch from now()) as integer)'

/** The objects of Git LFS: the contents of the instance, and which repositories have them. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('lfs_contents')
    // SHA-256 in hexadecimal.
    .addColumn('oid', 'text', (c) => c.notNull().primaryKey())
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .addColumn('store', 'text', (c) => c.notNull())
    // Unix seconds.
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createTable('lfs_objects')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('oid', 'text', (c) => c.notNull())
    .addColumn('bytes', 'integer', (c) => c.notNull())
    // Unix seconds.
    .addColumn('create_time', 'integer', (c) => c.notNull())
    // Unix seconds. Null while a ref needs the object.
    .addColumn('unreferenced_since', 'integer')
    .addPrimaryKeyConstraint('lfs_objects_key', ['repository_id', 'oid'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema.createIndex('lfs_objects_of_oid').on('lfs_objects').column('oid').execute()
  const now = isPostgres(db) ? POSTGRES_NOW : SQLITE_NOW
  for (const [name, trigger] of Object.entries(triggers(now)))
    await createTrigger(db, `${name} ${trigger}`)
}

/** Forgets all objects. `doctor` of a later version finds their contents. */
export async function down(db: Tx): Promise<void> {
  for (const name of Object.keys(triggers(''))) await dropTrigger(db, name)
  // Their bytes count no more.
  await sql`update repositories set lfs_bytes = 0 where lfs_bytes <> 0`.execute(db)
  await db.schema.dropTable('lfs_objects').execute()
  await db.schema.dropTable('lfs_contents').execute()
  await sql`delete from storage_deletions where object_key like 'lfs/%'`.execute(db)
}
