import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Tags with their targets and protections, and the indexes for lookups of refs. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('tags')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('object_id', 'text', (c) => c.notNull())
    .addColumn('annotated', 'integer', (c) => c.notNull())
    .addColumn('commit_id', 'text')
    .addColumn('time', 'integer', (c) => c.notNull())
    .addColumn('message', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('tags_key', ['repository_id', 'name'])
    .execute()
  await sql`create index tags_latest on tags (repository_id, time desc, name)`.execute(db)
  await sql`create index branches_latest on branches (repository_id, commit_time desc, name)`.execute(
    db,
  )

  await db.schema
    .alterTable('pending_ref_updates')
    .addColumn('create_time', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  // The tags of existing repositories are read from Git when the server starts.
  await sql`insert into pending_ref_updates (repository_id) select id from repositories`.execute(db)

  await db.schema
    .createTable('tag_protections')
    // AUTOINCREMENT never reuses an id. Clients store the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('name_pattern', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .addUniqueConstraint('tag_protections_pattern', ['repository_id', 'name_pattern'])
    .execute()
  await createAllowlist(db, 'tag_protection_users', 'user_id', 'users.id')
  await createAllowlist(db, 'tag_protection_teams', 'team_id', 'teams.id')
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['tag_protection_teams', 'tag_protection_users', 'tag_protections']) {
    await db.schema.dropTable(table).execute()
  }
  await db.schema.alterTable('pending_ref_updates').dropColumn('create_time').execute()
  await sql`drop index branches_latest`.execute(db)
  await db.schema.dropTable('tags').execute()
}

/** The users or teams that a protection allows. */
async function createAllowlist(
  db: Tx,
  table: string,
  column: string,
  references: string,
): Promise<void> {
  await db.schema
    .createTable(table)
    .addColumn('protection_id', 'integer', (c) =>
      c.notNull().references('tag_protections.id').onDelete('cascade'),
    )
    .addColumn(column, 'integer', (c) => c.notNull().references(references).onDelete('cascade'))
    .addPrimaryKeyConstraint(`${table}_key`, ['protection_id', column])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  // For cascading deletes.
  await db.schema.createIndex(`${table}_${column}`).on(table).column(column).execute()
}
