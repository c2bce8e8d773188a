import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The columns of a branch protection about the queue, with their defaults. */
const SETTINGS = {
  enable_merge_queue: 0,
  merge_queue_max_group: 5,
  merge_queue_parallel: 2,
  merge_queue_wait_seconds: 5,
  merge_queue_check_timeout_seconds: 3600,
}

const TEXTS = {
  merge_queue_style: '',
  merge_queue_only_contexts: '[]',
  merge_queue_head_contexts: '[]',
  merge_queue_bypass: 'bypass_allowlist',
}

/** Merge queues, and the time at which scheduled merges enter them in their order. */
export async function up(db: Tx): Promise<void> {
  for (const [name, value] of Object.entries(SETTINGS))
    await db.schema
      .alterTable('branch_protections')
      .addColumn(name, 'integer', (c) => c.notNull().defaultTo(value))
      .execute()
  for (const [name, value] of Object.entries(TEXTS))
    await db.schema
      .alterTable('branch_protections')
      .addColumn(name, 'text', (c) => c.notNull().defaultTo(value))
      .execute()
  await db.schema
    .alterTable('auto_merges')
    .addColumn('create_time_ms', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await sql`update auto_merges set create_time_ms = create_time * 1000`.execute(db)
  await db.schema
    .alterTable('pull_merge_attempts')
    .addColumn('position', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await createQueues(db)
  await createGroups(db)
  await createEntries(db)
}

async function createQueues(db: Tx): Promise<void> {
  await db.schema
    .createTable('merge_queues')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('branch', 'text', (c) => c.notNull())
    .addColumn('due_time', 'integer')
    .addColumn('wake_count', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('pause_time', 'integer')
    .addUniqueConstraint('merge_queues_branch', ['repository_id', 'branch'])
    .execute()
  await sql`create index merge_queues_due on merge_queues (due_time, id)
    where due_time is not null`.execute(db)
}

async function createGroups(db: Tx): Promise<void> {
  await db.schema
    .createTable('merge_queue_groups')
    .addColumn('number', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('queue_id', 'integer', (c) =>
      c.notNull().references('merge_queues.id').onDelete('cascade'),
    )
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('position', 'integer', (c) => c.notNull())
    .addColumn('size', 'integer', (c) => c.notNull())
    .addColumn('base_commit', 'text', (c) => c.notNull())
    .addColumn('head_commit', 'text', (c) => c.notNull())
    .addColumn('ref', 'text')
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('failure', 'text')
    .addColumn('status_floor', 'integer', (c) => c.notNull())
    .addColumn('decide_floor', 'integer')
    .addColumn('request_time', 'integer')
    .addColumn('deadline', 'integer')
    .addColumn('end_time', 'integer')
    .addColumn('end_reason', 'text')
    .execute()
  await sql`create index merge_queue_groups_queue on merge_queue_groups (queue_id, position)`.execute(
    db,
  )
  await sql`create index merge_queue_groups_head
    on merge_queue_groups (repository_id, head_commit)`.execute(db)
}

async function createEntries(db: Tx): Promise<void> {
  await db.schema
    .createTable('merge_queue_entries')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('queue_id', 'integer', (c) =>
      c.notNull().references('merge_queues.id').onDelete('cascade'),
    )
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().unique().references('issues.id').onDelete('cascade'),
    )
    .addColumn('adder_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('scopes', 'text')
    .addColumn('token_uuid', 'text')
    .addColumn('style', 'text', (c) => c.notNull())
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('message', 'text', (c) => c.notNull())
    .addColumn('delete_branch', 'integer')
    .addColumn('head_commit', 'text', (c) => c.notNull())
    .addColumn('is_jump', 'integer', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('group_number', 'integer')
    .addColumn('position', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('candidate_commit', 'text')
    .addColumn('merge_base', 'text')
    .addColumn('blocked_on', 'text')
    .addColumn('add_time', 'integer', (c) => c.notNull())
    .addColumn('leave_time', 'integer')
    .addColumn('reason', 'text')
    .execute()
  await sql`create index merge_queue_entries_waiting
    on merge_queue_entries (queue_id, is_jump desc, id)
    where leave_time is null and group_number is null`.execute(db)
  await sql`create index merge_queue_entries_group
    on merge_queue_entries (group_number, position) where group_number is not null`.execute(db)
  await sql`create index merge_queue_entries_adder on merge_queue_entries (adder_id)`.execute(db)
}

/** Loses the queues. Their refs stay in Git, where the server ignores them. */
export async function down(db: Tx): Promise<void> {
  for (const table of ['merge_queue_entries', 'merge_queue_groups', 'merge_queues'])
    await db.schema.dropTable(table).execute()
  await db.schema.alterTable('pull_merge_attempts').dropColumn('position').execute()
  await db.schema.alterTable('auto_merges').dropColumn('create_time_ms').execute()
  for (const name of [...Object.keys(TEXTS), ...Object.keys(SETTINGS)])
    await db.schema.alterTable('branch_protections').dropColumn(name).execute()
}
