import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

const FLAGS = [
  'enable_push',
  'enable_push_whitelist',
  'push_whitelist_deploy_keys',
  'enable_force_push',
  'enable_force_push_allowlist',
  'force_push_allowlist_deploy_keys',
  'enable_merge_whitelist',
  'enable_bypass_allowlist',
  'enable_status_check',
  'enable_approvals_whitelist',
  'block_on_rejected_reviews',
  'block_on_official_review_requests',
  'block_on_outdated_branch',
  'block_admin_merge_override',
  'dismiss_stale_approvals',
  'ignore_stale_approvals',
  'require_signed_commits',
]

/** Branch protections with their allowlists, and former names of branches. */
export async function up(db: Tx): Promise<void> {
  let rules = db.schema
    .createTable('branch_protections')
    // AUTOINCREMENT never reuses an id. Clients store the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('rule_name', 'text', (c) => c.notNull())
    .addColumn('priority', 'integer', (c) => c.notNull())
    .addColumn('status_check_contexts', 'text', (c) => c.notNull())
    .addColumn('required_approvals', 'integer', (c) => c.notNull())
    .addColumn('protected_file_patterns', 'text', (c) => c.notNull())
    .addColumn('unprotected_file_patterns', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
  for (const flag of FLAGS) rules = rules.addColumn(flag, 'integer', (c) => c.notNull())
  await rules
    .addUniqueConstraint('branch_protections_name', ['repository_id', 'rule_name'])
    .execute()
  await createAllowlist(db, 'branch_protection_users', 'user_id', 'users.id')
  await createAllowlist(db, 'branch_protection_teams', 'team_id', 'teams.id')

  await db.schema
    .createTable('branch_renames')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('old_name', 'text', (c) => c.notNull())
    .addColumn('new_name', 'text', (c) => c.notNull())
    .addColumn('note_id', 'integer', (c) =>
      c.references('pending_ref_updates.id').onDelete('cascade'),
    )
    .addPrimaryKeyConstraint('branch_renames_key', ['repository_id', 'old_name'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  // For cascading deletes, and for renames whose pending update has not ended.
  await db.schema
    .createIndex('branch_renames_open')
    .on('branch_renames')
    .column('note_id')
    .where('note_id', 'is not', null)
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of [
    'branch_renames',
    'branch_protection_teams',
    'branch_protection_users',
    'branch_protections',
  ]) {
    await db.schema.dropTable(table).execute()
  }
}

/** The users or teams that a rule allows. */
async function createAllowlist(
  db: Tx,
  table: string,
  column: string,
  references: string,
): Promise<void> {
  await db.schema
    .createTable(table)
    .addColumn('protection_id', 'integer', (c) =>
      c.notNull().references('branch_protections.id').onDelete('cascade'),
    )
    .addColumn('list', 'text', (c) =>
      c.notNull().check(sql`list in ('push', 'force_push', 'merge', 'bypass', 'approvals')`),
    )
    .addColumn(column, 'integer', (c) => c.notNull().references(references).onDelete('cascade'))
    .addPrimaryKeyConstraint(`${table}_key`, ['protection_id', 'list', column])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  // For cascading deletes.
  await db.schema.createIndex(`${table}_${column}`).on(table).column(column).execute()
}
