import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/**
 * Follow-up work of merges, the tokens that scheduled merges, and the commits that reviews were
 * compared with.
 */
export async function up(db: Tx): Promise<void> {
  await db.schema.alterTable('auto_merges').addColumn('token_uuid', 'text').execute()
  await sql`create index auto_merges_token on auto_merges (token_uuid) where token_uuid is not null`.execute(
    db,
  )

  await db.schema.alterTable('pull_merge_attempts').addColumn('base_commit', 'text').execute()
  await db.schema
    .alterTable('pull_merge_attempts')
    .addColumn('delete_head', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema.alterTable('pull_merge_attempts').addColumn('scopes', 'text').execute()
  await db.schema.alterTable('pull_merge_attempts').addColumn('token_uuid', 'text').execute()

  await db.schema
    .createTable('merge_follow_ups')
    .addColumn('pull_request_id', 'integer', (c) =>
      c.primaryKey().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('base_commit', 'text')
    .addColumn('is_listed', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('deleter_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('scopes', 'text')
    .addColumn('token_uuid', 'text')
    .addColumn('tries', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('due_time', 'integer', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('merge_follow_ups_due')
    .on('merge_follow_ups')
    .columns(['due_time', 'repository_id'])
    .execute()
  await db.schema
    .createIndex('merge_follow_ups_repository')
    .on('merge_follow_ups')
    .column('repository_id')
    .execute()
  await sql`create index merge_follow_ups_deleter on merge_follow_ups (deleter_id) where deleter_id is not null`.execute(
    db,
  )
  // Also for merges from before this table.
  await sql`insert into merge_follow_ups (pull_request_id, repository_id, due_time)
    select id, repository_id, 0 from pull_requests where state = 'MERGED'`.execute(db)

  await db.schema
    .createTable('merged_commits')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('commit_id', 'blob', (c) => c.notNull())
    .addColumn('pull_request_id', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('merged_commits_key', [
      'repository_id',
      'commit_id',
      'pull_request_id',
    ])
    .modifyEnd(WITHOUT_ROWID)
    .execute()

  await db.schema
    .alterTable('reviews')
    .addColumn('compared_base', 'text', (c) => c.notNull().defaultTo(''))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('reviews').dropColumn('compared_base').execute()
  await db.schema.dropTable('merged_commits').execute()
  await db.schema.dropTable('merge_follow_ups').execute()
  for (const column of ['base_commit', 'delete_head', 'scopes', 'token_uuid']) {
    await db.schema.alterTable('pull_merge_attempts').dropColumn(column).execute()
  }
  await db.schema.dropIndex('auto_merges_token').execute()
  await db.schema.alterTable('auto_merges').dropColumn('token_uuid').execute()
}
