import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** References to conversations in texts and commits, and the work that pushes and merges leave. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('issue_references')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('target_id', 'integer', (c) =>
      c.notNull().references('issues.id').onDelete('cascade'),
    )
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('source_id', 'integer', (c) => c.references('issues.id').onDelete('cascade'))
    .addColumn('comment_id', 'integer', (c) =>
      c.references('issue_comments.id').onDelete('cascade'),
    )
    .addColumn('commit_id', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('change_key', 'text')
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('writer_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  for (const [name, columns] of Object.entries(INDEXES))
    await sql`create ${sql.raw(columns.startsWith('unique') ? 'unique index' : 'index')}
      ${sql.ref(`issue_references_${name}`)} on issue_references
      ${sql.raw(columns.replace('unique', ''))}`.execute(db)

  await db.schema
    .createTable('reference_work')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('actor_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('branch', 'text', (c) => c.notNull())
    .addColumn('from_commit', 'text')
    .addColumn('to_commit', 'text', (c) => c.notNull())
    .addColumn('pull_request_id', 'integer', (c) => c.references('issues.id').onDelete('cascade'))
    .addColumn('done', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('tries', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('due_time', 'integer', (c) => c.notNull())
    .execute()
  for (const [name, columns] of Object.entries({
    due: '(due_time, id)',
    repository: '(repository_id, id)',
    actor: '(actor_id) where actor_id is not null',
    pull_request: '(pull_request_id) where pull_request_id is not null',
  }))
    await sql`create index ${sql.ref(`reference_work_${name}`)} on reference_work
      ${sql.raw(columns)}`.execute(db)
}

const INDEXES: Readonly<Record<string, string>> = {
  target: '(target_id, create_time)',
  repository: '(repository_id)',
  text: 'unique (source_id, target_id) where source_id is not null and comment_id is null',
  source: '(source_id) where source_id is not null',
  comment: 'unique (comment_id, target_id) where comment_id is not null',
  commit: 'unique (target_id, repository_id, change_key) where change_key is not null',
  writer: '(writer_id) where writer_id is not null',
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('reference_work').execute()
  await db.schema.dropTable('issue_references').execute()
}
