import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Bytes of a repository. The first one is measured, triggers maintain the others. */
const SIZES = ['owned_bytes', 'lfs_bytes', 'release_bytes', 'attachment_bytes'] as const

/** What a row of `repositories` adds to the row of its owner in `account_usage`. */
function change(sign: '+' | '-', row: 'old' | 'new'): string {
  const column = (name: string, value: string) => `${name} = ${name} ${sign} ${value}`
  return `update account_usage set
    ${column('git_bytes', `${row}.owned_bytes`)},
    ${column('private_git_bytes', `${row}.owned_bytes * ${row}.private`)},
    ${column('lfs_bytes', `${row}.lfs_bytes`)},
    ${column('asset_bytes', `(${row}.release_bytes + ${row}.attachment_bytes)`)},
    ${column('attachment_bytes', `${row}.attachment_bytes`)}
    where owner_id = ${row}.owner_id;`
}

const isChanged = [...SIZES, 'owner_id', 'private']
  .map((column) => `old.${column} <> new.${column}`)
  .join(' or ')

const TRIGGERS: Readonly<Record<string, string>> = {
  repository_usage_changed: `after update of ${SIZES.join(', ')}, owner_id, private on repositories
    when ${isChanged} begin
    insert into account_usage (owner_id) values (new.owner_id) on conflict do nothing;
    ${change('-', 'old')} ${change('+', 'new')} end`,
  repository_usage_begun: `after insert on repositories when new.owned_bytes > 0 begin
    insert into account_usage (owner_id) values (new.owner_id) on conflict do nothing;
    ${change('+', 'new')} end`,
  repository_usage_ended: `after delete on repositories begin ${change('-', 'old')} end`,
  release_bytes_added: `after insert on release_assets begin
    update repositories set release_bytes = release_bytes + new.bytes where id = new.repository_id; end`,
  release_bytes_removed: `after delete on release_assets begin
    update repositories set release_bytes = release_bytes - old.bytes where id = old.repository_id; end`,
  attachment_bytes_added: `after insert on issue_attachments begin
    update repositories set attachment_bytes = attachment_bytes + new.bytes where id = new.repository_id; end`,
  attachment_bytes_removed: `after delete on issue_attachments begin
    update repositories set attachment_bytes = attachment_bytes - old.bytes where id = old.repository_id; end`,
  attachment_bytes_moved: `after update of repository_id on issue_attachments
    when old.repository_id <> new.repository_id begin
    update repositories set attachment_bytes = attachment_bytes - old.bytes where id = old.repository_id;
    update repositories set attachment_bytes = attachment_bytes + new.bytes where id = new.repository_id; end`,
}

/**
 * What owners and repositories use, and the limits of it. The repositories that exist are measured
 * after the migration (`size_stale` 2).
 */
export async function up(db: Tx): Promise<void> {
  for (const column of SIZES) await addNumber(db, 'repositories', column)
  await addNumber(db, 'repositories', 'size_stale')
  await addNumber(db, 'pending_ref_updates', 'reserved_bytes')
  await sql`create index repositories_unmeasured on repositories (size_stale, owner_id)
    where size_stale > 0`.execute(db)
  let usage = db.schema
    .createTable('account_usage')
    .addColumn('owner_id', 'integer', (c) =>
      c.primaryKey().references('accounts.id').onDelete('cascade'),
    )
  for (const column of [
    'git_bytes',
    'private_git_bytes',
    'lfs_bytes',
    'asset_bytes',
    'attachment_bytes',
  ])
    usage = usage.addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
  await usage.modifyEnd(WITHOUT_ROWID).execute()
  await createRules(db)
  await sql`update repositories set size_stale = 2,
    release_bytes = (select coalesce(sum(bytes), 0) from release_assets
      where repository_id = repositories.id),
    attachment_bytes = (select coalesce(sum(bytes), 0) from issue_attachments
      where repository_id = repositories.id)`.execute(db)
  await sql`insert into account_usage (owner_id, asset_bytes, attachment_bytes)
    select owner_id, sum(release_bytes + attachment_bytes), sum(attachment_bytes)
    from repositories group by owner_id`.execute(db)
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

/** Rules limit bytes, groups have rules, and owners are members of groups. */
async function createRules(db: Tx): Promise<void> {
  for (const table of ['quota_rules', 'quota_groups']) {
    const named = db.schema
      .createTable(table)
      .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
      .addColumn('name', 'text', (c) => c.notNull().unique())
    await (table === 'quota_rules'
      ? named.addColumn('limit_bytes', 'integer', (c) => c.notNull())
      : named
    ).execute()
  }
  await db.schema
    .createTable('quota_rule_subjects')
    .addColumn('rule_id', 'integer', (c) =>
      c.notNull().references('quota_rules.id').onDelete('cascade'),
    )
    .addColumn('subject', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('quota_rule_subjects_key', ['rule_id', 'subject'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await createLinks(db, 'quota_group_rules', 'rule_id', 'quota_rules.id')
  await createLinks(db, 'quota_group_members', 'owner_id', 'accounts.id')
}

async function createLinks(
  db: Tx,
  table: string,
  column: string,
  references: string,
): Promise<void> {
  await db.schema
    .createTable(table)
    .addColumn('group_id', 'integer', (c) =>
      c.notNull().references('quota_groups.id').onDelete('cascade'),
    )
    .addColumn(column, 'integer', (c) => c.notNull().references(references).onDelete('cascade'))
    .addPrimaryKeyConstraint(`${table}_key`, ['group_id', column])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema.createIndex(`${table}_of`).on(table).column(column).execute()
}

async function addNumber(db: Tx, table: string, column: string): Promise<void> {
  await db.schema
    .alterTable(table)
    .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}

/** Loses the rules and groups. */
export async function down(db: Tx): Promise<void> {
  for (const trigger of Object.keys(TRIGGERS)) await dropTrigger(db, trigger)
  for (const table of [
    'quota_group_members',
    'quota_group_rules',
    'quota_rule_subjects',
    'quota_rules',
    'quota_groups',
    'account_usage',
  ])
    await db.schema.dropTable(table).execute()
  await db.schema.dropIndex('repositories_unmeasured').execute()
  await db.schema.alterTable('pending_ref_updates').dropColumn('reserved_bytes').execute()
  for (const column of [...SIZES, 'size_stale'])
    await db.schema.alterTable('repositories').dropColumn(column).execute()
}
