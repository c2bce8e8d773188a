import { sql } from 'kysely'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** What leads to the conversations of a list, and the column that names a label or a person. */
const LISTED = { issue_labels: 'label_id', issue_assignees: 'user_id' } as const

/** The columns of a conversation that a list is read by. */
const COLUMNS = ['repository_id', 'is_pull', 'is_open', 'create_time'] as const

/** Repeats the columns of a conversation in a table. */
const repeat = (table: string, id: string, more = '') => `update ${table}
  set (${COLUMNS.join(', ')}) = (select repository_id, is_pull, cast(state = 'OPEN' as integer), create_time
    from issues where issues.id = ${id})
  where issue_id = ${id}${more};`

const react = (row: string, sign: string) => `begin
  update issues set reaction_count = reaction_count ${sign} 1 where id = ${row}.issue_id; end`

const TRIGGERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(LISTED).map(([table, column]) => [
      `${table}_listed`,
      `after insert on ${table} begin
        ${repeat(table, 'new.issue_id', ` and ${column} = new.${column}`)} end`,
    ]),
  ),
  issues_relisted: `after update of state, repository_id on issues
    when old.state <> new.state or old.repository_id <> new.repository_id begin
    ${Object.keys(LISTED)
      .map((table) => repeat(table, 'new.id'))
      .join('\n')} end`,
  issue_reactions_counted: `after insert on issue_reactions when new.comment_id is null ${react('new', '+')}`,
  issue_reactions_uncounted: `after delete on issue_reactions when old.comment_id is null ${react('old', '-')}`,
}

/**
 * Lists of issues and pull requests that cost the same among many: by label, by assignee, by reactions, and the
 * latest ones of all repositories.
 */
export async function up(db: Tx): Promise<void> {
  for (const [table, column] of Object.entries(LISTED)) {
    for (const name of COLUMNS) await addNumber(db, table, name)
    await sql`update ${sql.table(table)} set (repository_id, is_pull, is_open, create_time) =
      (select repository_id, is_pull, cast(state = 'OPEN' as integer), create_time
        from issues where issues.id = ${sql.table(table)}.issue_id)`.execute(db)
    await sql`create index ${sql.ref(`${table}_in_lists`)} on ${sql.table(table)}
      (${sql.ref(column)}, repository_id, is_pull, is_open, create_time, issue_id)`.execute(db)
  }
  await addNumber(db, 'issues', 'reaction_count')
  await sql`update issues set reaction_count = (select count(*) from issue_reactions
      where issue_reactions.issue_id = issues.id and issue_reactions.comment_id is null)
    where id in (select issue_id from issue_reactions)`.execute(db)
  // Few have reactions. All others follow in the order of the latest.
  await sql`create index issues_with_reactions
    on issues (repository_id, is_pull, reaction_count, create_time, id)
    where reaction_count > 0`.execute(db)
  await sql`create index issues_with_few_reactions
    on issues (repository_id, is_pull, reaction_count, create_time desc, id desc)
    where reaction_count > 0`.execute(db)
  // For the search.
  await sql`create index issues_by_time on issues (create_time, id)`.execute(db)
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

async function addNumber(db: Tx, table: string, column: string): Promise<void> {
  await db.schema
    .alterTable(table)
    .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const name of Object.keys(TRIGGERS)) await dropTrigger(db, name)
  for (const index of ['issues_by_time', 'issues_with_few_reactions', 'issues_with_reactions'])
    await db.schema.dropIndex(index).execute()
  await db.schema.alterTable('issues').dropColumn('reaction_count').execute()
  for (const table of Object.keys(LISTED)) {
    await db.schema.dropIndex(`${table}_in_lists`).execute()
    for (const name of COLUMNS) await db.schema.alterTable(table).dropColumn(name).execute()
  }
}
