import { sql } from 'kysely'
import type { Tx } from '../database.ts'

/** Repositories, the names that they had, and what their branches point to. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('repositories')
    // With autoincrement no id comes back: it names a folder, which may outlive the row by a crash.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('owner_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('name_key', 'text', (c) => c.notNull())
    .addColumn('private', 'integer', (c) => c.notNull())
    .addColumn('archive_time', 'integer')
    .addColumn('default_branch', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .addColumn('website', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addUniqueConstraint('repositories_name_key', ['owner_id', 'name_key'])
    .execute()
  // What strangers see of an owner, without a look at what they do not.
  await db.schema
    .createIndex('repositories_public')
    .on('repositories')
    .columns(['owner_id', 'name_key'])
    .where(sql.ref('private'), '=', sql.lit(0))
    .execute()

  await db.schema
    .createTable('repository_redirects')
    .addColumn('owner_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('name_key', 'text', (c) => c.notNull())
    .addColumn('repository_id', 'integer', (c) => c.notNull().references('repositories.id').onDelete('cascade'))
    .addPrimaryKeyConstraint('repository_redirects_key', ['owner_id', 'name_key'])
    .modifyEnd(sql`without rowid`)
    .execute()
  // For the cascade.
  await db.schema
    .createIndex('repository_redirects_target')
    .on('repository_redirects')
    .column('repository_id')
    .execute()

  await db.schema
    .createTable('branches')
    .addColumn('repository_id', 'integer', (c) => c.notNull().references('repositories.id').onDelete('cascade'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('commit_id', 'text', (c) => c.notNull())
    .addColumn('commit_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('branches_key', ['repository_id', 'name'])
    .modifyEnd(sql`without rowid`)
    .execute()

  await db.schema
    .createTable('pending_ref_updates')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) => c.notNull().references('repositories.id').onDelete('cascade'))
    .execute()
  await db.schema
    .createIndex('pending_ref_updates_repository')
    .on('pending_ref_updates')
    .column('repository_id')
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['pending_ref_updates', 'branches', 'repository_redirects', 'repositories']) {
    await db.schema.dropTable(table).execute()
  }
}
