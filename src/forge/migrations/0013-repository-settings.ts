import { sql } from 'kysely'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Boolean settings, with their defaults for new repositories. */
const FLAGS: Readonly<Record<string, 0 | 1>> = {
  template: 0,
  has_issues: 1,
  has_pull_requests: 1,
  has_releases: 1,
  ignore_whitespace_conflicts: 0,
  allow_merge_commits: 1,
  allow_rebase: 1,
  allow_rebase_explicit: 1,
  allow_squash_merge: 1,
  allow_fast_forward_only_merge: 1,
  allow_merge_update: 1,
  allow_rebase_update: 1,
  allow_manual_merge: 0,
  autodetect_manual_merge: 0,
  default_delete_branch_after_merge: 0,
  default_allow_maintainer_edit: 1,
}

/** Counters that lists show. Triggers and writers update them. */
const FIGURES = ['size_kib', 'branch_count', 'forks_count', 'open_pulls_count', 'releases_count']

/** The sort orders of lists of repositories, and the columns that count the readable ones. */
const LIST_INDEXES: Readonly<Record<string, string[]>> = {
  repositories_by_name: ['name_key', 'id'],
  repositories_by_age: ['create_time', 'id'],
  repositories_by_change: ['update_time', 'id'],
  repositories_readable: ['owner_id', 'private'],
}

/** Settings and counters of repositories, their origins, and their transfers. */
export async function up(db: Tx): Promise<void> {
  for (const [flag, preset] of Object.entries(FLAGS)) await addInteger(db, flag, preset)
  for (const figure of FIGURES) await addInteger(db, figure, 0)
  await db.schema
    .alterTable('repositories')
    .addColumn('default_merge_style', 'text', (c) => c.notNull().defaultTo('merge'))
    .execute()
  await db.schema
    .alterTable('repositories')
    .addColumn('default_update_style', 'text', (c) => c.notNull().defaultTo('merge'))
    .execute()
  await db.schema
    .alterTable('repositories')
    .addColumn('default_target_branch', 'text', (c) => c.notNull().defaultTo(''))
    .execute()
  await db.schema
    .alterTable('repositories')
    .addColumn('parent_id', 'integer', (c) => c.references('repositories.id').onDelete('set null'))
    .execute()
  await sql`create index repositories_forks on repositories (parent_id) where parent_id is not null`.execute(
    db,
  )
  for (const [index, columns] of Object.entries(LIST_INDEXES)) {
    await db.schema.createIndex(index).on('repositories').columns(columns).execute()
  }
  await addCounting(db)

  await db.schema
    .createTable('repository_transfers')
    .addColumn('repository_id', 'integer', (c) =>
      c.primaryKey().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('doer_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('recipient_id', 'integer', (c) =>
      c.notNull().references('users.id').onDelete('cascade'),
    )
    .addColumn('made_reader', 'integer', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  // For cascading deletes.
  await db.schema
    .createIndex('repository_transfers_doer')
    .on('repository_transfers')
    .column('doer_id')
    .execute()
  await db.schema
    .createIndex('repository_transfers_recipient')
    .on('repository_transfers')
    .column('recipient_id')
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('repository_transfers').execute()
  for (const trigger of Object.keys(TRIGGERS)) await dropTrigger(db, trigger)
  for (const index of ['repositories_forks', ...Object.keys(LIST_INDEXES)])
    await db.schema.dropIndex(index).execute()
  const texts = ['default_merge_style', 'default_update_style', 'default_target_branch']
  for (const column of ['parent_id', ...texts, ...FIGURES, ...Object.keys(FLAGS)]) {
    await db.schema.alterTable('repositories').dropColumn(column).execute()
  }
}

async function addInteger(db: Tx, column: string, preset: number): Promise<void> {
  await db.schema
    .alterTable('repositories')
    .addColumn(column, 'integer', (c) => c.notNull().defaultTo(preset))
    .execute()
}

/**
 * Branches and forks are counted when they are inserted or deleted, so no read counts thousands of
 * rows.
 */
const TRIGGERS: Readonly<Record<string, string>> = {
  branch_counted: `after insert on branches begin
    update repositories set branch_count = branch_count + 1 where id = new.repository_id; end`,
  branch_uncounted: `after delete on branches begin
    update repositories set branch_count = branch_count - 1 where id = old.repository_id; end`,
  fork_counted: `after insert on repositories when new.parent_id is not null begin
    update repositories set forks_count = forks_count + 1 where id = new.parent_id; end`,
  fork_recounted: `after update of parent_id on repositories begin
    update repositories set forks_count = forks_count - 1 where id = old.parent_id;
    update repositories set forks_count = forks_count + 1 where id = new.parent_id; end`,
  fork_uncounted: `after delete on repositories when old.parent_id is not null begin
    update repositories set forks_count = forks_count - 1 where id = old.parent_id; end`,
}

async function addCounting(db: Tx): Promise<void> {
  await sql`update repositories set branch_count =
    (select count(*) from branches where branches.repository_id = repositories.id)`.execute(db)
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}
