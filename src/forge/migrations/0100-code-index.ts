import { sql } from 'kysely'
import { createCodeIndex, dropCodeIndex } from '../../platform/database/dialects/code-index.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Several pushes in a row cost one look, and a repository that is pushed to all the time has looks too. */
const DELAY_MS = 10_000

/** `update_time` changes with each record of moved refs, in the same transaction. */
const WANTED = `code_index_wanted after update of update_time, default_branch, parent_id on repositories begin
  insert into code_indexes (repository_id, due_time) values (new.id, cast(new.update_time as bigint) * 1000 + ${DELAY_MS})
  on conflict (repository_id) do update
    set due_time = coalesce(code_indexes.due_time, excluded.due_time), wake_count = code_indexes.wake_count + 1; end`

const UNWANTED = `code_index_unwanted after delete on repositories begin
  update code_indexes set due_time = 0, wake_count = wake_count + 1 where repository_id = old.id; end`

/** The index of the files of the default branches. Every repository is due. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('code_indexes')
    // No foreign keys: the work deletes the files of a deleted repository in small parts.
    .addColumn('repository_id', 'integer', (c) => c.notNull().primaryKey())
    // Null before the first look, and for a repository that has no index.
    .addColumn('commit_id', 'text')
    .addColumn('bytes', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('is_partial', 'integer', (c) => c.notNull().defaultTo(0))
    // Unix milliseconds. Null while nothing is to be done.
    .addColumn('due_time', 'bigint')
    .addColumn('wake_count', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createIndex('code_indexes_due')
    .on('code_indexes')
    .columns(['due_time', 'repository_id'])
    .execute()
  await db.schema
    .createTable('code_files')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) => c.notNull())
    .addColumn('path', 'text', (c) => c.notNull())
    .addColumn('blob_id', 'text', (c) => c.notNull())
    // 0 for a file without a text.
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .addUniqueConstraint('code_files_of_repository', ['repository_id', 'path'])
    .execute()
  await createCodeIndex(db)
  await createTrigger(db, WANTED)
  await createTrigger(db, UNWANTED)
  await sql`insert into code_indexes (repository_id, due_time) select id, 0 from repositories`.execute(
    db,
  )
}

/** Loses the index. */
export async function down(db: Tx): Promise<void> {
  await dropTrigger(db, 'code_index_wanted')
  await dropTrigger(db, 'code_index_unwanted')
  await dropCodeIndex(db)
  await db.schema.dropTable('code_files').execute()
  await db.schema.dropTable('code_indexes').execute()
}
