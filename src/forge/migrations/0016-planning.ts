import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Labels, milestones and commit statuses. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('labels')
    // AUTOINCREMENT never reuses an id. Clients store the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.references('repositories.id').onDelete('cascade'),
    )
    .addColumn('organization_id', 'integer', (c) =>
      c.references('organizations.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('color', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('exclusive', 'integer', (c) => c.notNull())
    .addColumn('archived', 'integer', (c) => c.notNull())
    .addCheckConstraint('labels_owner', sql`(repository_id is null) <> (organization_id is null)`)
    .execute()
  for (const owner of ['repository', 'organization']) {
    const column = `${owner}_id`
    await db.schema
      .createIndex(`labels_of_${owner}`)
      .on('labels')
      .columns([column, 'name'])
      .where(sql.ref(column), 'is not', null)
      .execute()
  }

  await db.schema
    .createTable('milestones')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull().check(sql`state in ('open', 'closed')`))
    .addColumn('due_time', 'integer')
    .addColumn('close_time', 'integer')
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    // Updated by the tables that refer to milestones.
    .addColumn('open_issues', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('closed_issues', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('description', 'text', (c) => c.notNull())
    .execute()
  await sql`create index milestones_by_due on milestones (repository_id, (due_time is null), due_time, title)`.execute(
    db,
  )
  await sql`create index milestones_by_state
    on milestones (repository_id, state, (due_time is null), due_time, title)`.execute(db)
  await db.schema
    .createIndex('milestones_by_title')
    .on('milestones')
    .columns(['repository_id', 'title'])
    .execute()

  await db.schema
    .createTable('commit_statuses')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('commit_id', 'text', (c) => c.notNull())
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('context', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) =>
      c
        .notNull()
        .check(sql`state in ('pending', 'success', 'error', 'failure', 'warning', 'skipped')`),
    )
    .addColumn('creator_id', 'integer', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('target_url', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('commit_statuses_key', ['repository_id', 'commit_id', 'number'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createTable('commit_status_contexts')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('commit_id', 'text', (c) => c.notNull())
    .addColumn('context', 'text', (c) => c.notNull())
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('commit_status_contexts_key', [
      'repository_id',
      'commit_id',
      'context',
    ])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['commit_status_contexts', 'commit_statuses', 'milestones', 'labels']) {
    await db.schema.dropTable(table).execute()
  }
}
