import { sql } from 'kysely'
import {
  adding,
  type Counting,
  countingTriggers,
} from '../../platform/database/dialects/counters.ts'
import { isPostgres } from '../../platform/database/dialects/dialects.ts'
import {
  createStatementTrigger,
  createTrigger,
  dropTrigger,
  type StatementTrigger,
} from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** The tables about what issues and pull requests have in common, by their former names. */
const TABLES = {
  pull_requests: 'issues',
  pull_request_labels: 'issue_labels',
  pull_request_assignees: 'issue_assignees',
  pull_dependencies: 'issue_dependencies',
  pull_participants: 'issue_participants',
  pull_subscriptions: 'issue_subscriptions',
  pull_comments: 'issue_comments',
  pull_reactions: 'issue_reactions',
  pull_timeline: 'issue_timeline',
  pull_notices: 'issue_notices',
  pull_messages: 'issue_messages',
} as const

/** The tables that refer to a conversation of either kind. */
const REFERRING = [
  ...Object.values(TABLES).filter((table) => table !== 'issues'),
  'notification_threads',
]

/** The names of the tables and of their columns that triggers mention. */
interface Names {
  readonly conversations: string
  readonly comments: string
  /** The column of a comment that names its conversation. */
  readonly parent: string
  /** The column of `repositories` that counts comments. */
  readonly commentsCount: string
  /** Whether there are issues besides pull requests. */
  readonly hasIssues: boolean
}

const BEFORE: Names = {
  conversations: 'pull_requests',
  comments: 'pull_comments',
  parent: 'pull_request_id',
  commentsCount: 'pull_comments_count',
  hasIssues: false,
}
const AFTER: Names = {
  conversations: 'issues',
  comments: 'issue_comments',
  parent: 'issue_id',
  commentsCount: 'comments_count',
  hasIssues: true,
}

/** Creates the triggers that mention a renamed table. PostgreSQL counts once for each statement. */
async function createTriggers(db: Tx, names: Names): Promise<void> {
  for (const [name, text] of rowTriggers(db, names)) await createTrigger(db, `${name} ${text}`)
  for (const trigger of statementTriggers(db, names)) await createStatementTrigger(db, trigger)
}

async function dropTriggers(db: Tx, names: Names): Promise<void> {
  for (const [name] of rowTriggers(db, names)) await dropTrigger(db, name)
  for (const { name } of statementTriggers(db, names)) await dropTrigger(db, name)
}

function rowTriggers(db: Tx, names: Names): [string, string][] {
  return Object.entries({
    ...(isPostgres(db)
      ? recountersOf(names)
      : { ...countersOf(names), ...commentCountersOf(names) }),
    ...reviewCountersOf(db, names),
  })
}

/**
 * Issues. A row of `issues` is an issue or a pull request, so that both share numbers,
 * comments and lists. The columns about branches are empty for issues.
 */
export async function up(db: Tx): Promise<void> {
  await dropTriggers(db, BEFORE)
  for (const [former, table] of Object.entries(TABLES))
    await db.schema.alterTable(former).renameTo(table).execute()
  for (const table of REFERRING)
    await db.schema.alterTable(table).renameColumn('pull_request_id', 'issue_id').execute()
  await db.schema
    .alterTable('repositories')
    .renameColumn('pull_comments_count', 'comments_count')
    .execute()
  for (const column of ['issues_count', 'open_issues_count'])
    await db.schema
      .alterTable('repositories')
      .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
  await db.schema
    .alterTable('issues')
    .addColumn('is_pull', 'integer', (c) => c.notNull().defaultTo(1))
    .execute()
  // The branch of an issue.
  await db.schema
    .alterTable('issues')
    .addColumn('ref', 'text', (c) => c.notNull().defaultTo(''))
    .execute()
  for (const index of Object.keys(INDEXES))
    await db.schema.dropIndex(`pull_requests_${index}`).execute()
  for (const [index, columns] of Object.entries(INDEXES))
    await createIndex(db, 'issues', `issues_${index}`, columns.after)
  await createTriggers(db, AFTER)
}

/** Loses the issues. */
export async function down(db: Tx): Promise<void> {
  await sql`delete from issues where is_pull = 0`.execute(db)
  await dropTriggers(db, AFTER)
  for (const index of Object.keys(INDEXES)) await db.schema.dropIndex(`issues_${index}`).execute()
  for (const column of ['is_pull', 'ref'])
    await db.schema.alterTable('issues').dropColumn(column).execute()
  for (const column of ['issues_count', 'open_issues_count'])
    await db.schema.alterTable('repositories').dropColumn(column).execute()
  await db.schema
    .alterTable('repositories')
    .renameColumn('comments_count', 'pull_comments_count')
    .execute()
  for (const table of REFERRING)
    await db.schema.alterTable(table).renameColumn('issue_id', 'pull_request_id').execute()
  for (const [former, table] of Object.entries(TABLES))
    await db.schema.alterTable(table).renameTo(former).execute()
  for (const [index, columns] of Object.entries(INDEXES))
    await createIndex(db, 'pull_requests', `pull_requests_${index}`, columns.before)
  await createTriggers(db, BEFORE)
}

const SORTS = {
  creation: 'create_time, id',
  update: 'update_time, create_time, id',
  closing: 'coalesce(close_time, 0), create_time, id',
  most_comments: 'comment_count, create_time, id',
  least_comments: 'comment_count, create_time desc, id desc',
} as const

/** The indexes of lists, which are about one kind, by the end of their names. */
const INDEXES: Readonly<Record<string, { readonly before: string; readonly after: string }>> = {
  by_poster: ofKind('poster_id, state, create_time, id'),
  by_milestone: {
    before: '(milestone_id, repository_id, state, create_time, id) where milestone_id is not null',
    after:
      '(milestone_id, repository_id, is_pull, state, create_time, id) where milestone_id is not null',
  },
  ...Object.fromEntries(
    Object.entries(SORTS).flatMap(([name, columns]) => [
      [`by_${name}`, ofKind(columns)],
      [`in_state_by_${name}`, ofKind(`(state = 'OPEN'), ${columns}`)],
    ]),
  ),
}

function ofKind(columns: string) {
  return {
    before: `(repository_id, ${columns})`,
    after: `(repository_id, is_pull, ${columns})`,
  }
}

async function createIndex(db: Tx, table: string, name: string, columns: string): Promise<void> {
  await sql`create index ${sql.ref(name)} on ${sql.table(table)} ${sql.raw(columns)}`.execute(db)
}

const isOpen = (row: string) => `cast(${row}.state = 'OPEN' as integer)`
const isClosed = (row: string) => `cast(${row}.state <> 'OPEN' as integer)`

/** Returns the triggers that count conversations in their repositories and milestones. */
function countersOf({ conversations: table, hasIssues }: Names): Record<string, string> {
  const inRepository = (sign: string, row: string) =>
    hasIssues
      ? `pulls_count = pulls_count ${sign} ${row}.is_pull,
        open_pulls_count = open_pulls_count ${sign} ${row}.is_pull * ${isOpen(row)},
        issues_count = issues_count ${sign} (1 - ${row}.is_pull),
        open_issues_count = open_issues_count ${sign} (1 - ${row}.is_pull) * ${isOpen(row)}`
      : `pulls_count = pulls_count ${sign} 1, open_pulls_count = open_pulls_count ${sign} ${isOpen(row)}`
  return {
    [`${table}_counted`]: `after insert on ${table} begin
      update repositories set ${inRepository('+', 'new')} where id = new.repository_id;
      ${inMilestone('+', 'new')} end`,
    [`${table}_discounted`]: `after delete on ${table} begin
      update repositories set ${inRepository('-', 'old')} where id = old.repository_id;
      ${inMilestone('-', 'old')} end`,
    [`${table}_recounted`]: `after update of state, milestone_id on ${table} begin
      ${reopened(hasIssues)} ${inMilestone('-', 'old')} ${inMilestone('+', 'new')} end`,
  }
}

/** Returns the triggers about changes of conversations, which PostgreSQL runs for each row. */
function recountersOf({ conversations: table, hasIssues }: Names): Record<string, string> {
  return {
    [`${table}_recounted`]: `after update of state on ${table} when old.state <> new.state begin
      ${reopened(hasIssues)} end`,
    [`${table}_replanned`]: `after update of state, milestone_id on ${table} begin
      ${inMilestone('-', 'old')} ${inMilestone('+', 'new')} end`,
  }
}

function reopened(hasIssues: boolean): string {
  const change = `(${isOpen('new')} - ${isOpen('old')})`
  const changes = hasIssues
    ? `open_pulls_count = open_pulls_count + new.is_pull * ${change},
      open_issues_count = open_issues_count + (1 - new.is_pull) * ${change}`
    : `open_pulls_count = open_pulls_count + ${change}`
  return `update repositories set ${changes} where id = new.repository_id;`
}

function inMilestone(sign: string, row: string): string {
  return `update milestones set open_issues = open_issues ${sign} ${isOpen(row)},
    closed_issues = closed_issues ${sign} ${isClosed(row)} where id = ${row}.milestone_id;`
}

function commentCountersOf({
  conversations,
  comments,
  parent,
  commentsCount,
}: Names): Record<string, string> {
  const inConversation = (sign: string, row: string) => `begin
    update ${conversations} set comment_count = comment_count ${sign} 1 where id = ${row}.${parent}; end`
  const inRepository = (sign: string, row: string) => `begin
    update repositories set ${commentsCount} = ${commentsCount} ${sign} 1 where id = ${row}.repository_id; end`
  return {
    [`${comments}_counted`]: `after insert on ${comments} ${inConversation('+', 'new')}`,
    [`${comments}_discounted`]: `after delete on ${comments} ${inConversation('-', 'old')}`,
    repository_comment_counted: `after insert on ${comments} ${inRepository('+', 'new')}`,
    repository_comment_uncounted: `after delete on ${comments} ${inRepository('-', 'old')}`,
  }
}

function reviewCountersOf(db: Tx, { conversations }: Names): Record<string, string> {
  const count = (change: string, id: string) =>
    `update ${conversations} set review_comment_count = review_comment_count ${change} where id = ${id};`
  const pullOf = (row: string) =>
    `(select pull_request_id from reviews where id = ${row}.review_id and state <> 'PENDING')`
  const ofComments = {
    review_comments_counted: `after insert on review_comments begin
      update reviews set comments_count = comments_count + 1 where id = new.review_id;
      ${count('+ 1', pullOf('new'))} end`,
    review_comments_discounted: `after delete on review_comments begin
      update reviews set comments_count = comments_count - 1 where id = old.review_id;
      ${count('- 1', pullOf('old'))} end`,
  }
  return {
    ...(isPostgres(db) ? {} : ofComments),
    reviews_submitted: `after update of state on reviews
      when old.state = 'PENDING' and new.state <> 'PENDING' begin
      ${count('+ new.comments_count', 'new.pull_request_id')} end`,
    reviews_deleted: `after delete on reviews when old.state <> 'PENDING' begin
      ${count('- old.comments_count', 'old.pull_request_id')} end`,
  }
}

function statementTriggers(db: Tx, names: Names): StatementTrigger[] {
  return isPostgres(db) ? countingsOf(names).flatMap(countingTriggers) : []
}

function countingsOf({
  conversations: table,
  comments,
  parent,
  commentsCount,
  hasIssues,
}: Names): Counting[] {
  const open = `(state = 'OPEN')::integer`
  return [
    {
      table,
      key: 'repository_id',
      amounts: hasIssues
        ? ['is_pull', `is_pull * ${open}`, '(1 - is_pull)', `(1 - is_pull) * ${open}`]
        : ['1', open],
      add: adding(
        'repositories',
        'pulls_count',
        'open_pulls_count',
        ...(hasIssues ? ['issues_count', 'open_issues_count'] : []),
      ),
    },
    {
      table,
      key: 'milestone_id',
      amounts: [open, `(state <> 'OPEN')::integer`],
      add: adding('milestones', 'open_issues', 'closed_issues'),
    },
    { table: comments, key: parent, amounts: ['1'], add: adding(table, 'comment_count') },
    {
      table: comments,
      key: 'repository_id',
      amounts: ['1'],
      add: adding('repositories', commentsCount),
    },
    {
      table: 'review_comments',
      key: 'review_id',
      amounts: ['1'],
      add: `${adding('reviews', 'comments_count')}
        update ${table} set review_comment_count = review_comment_count + counted.n1
        where id = (select pull_request_id from reviews where id = counted.key and state <> 'PENDING');`,
    },
  ]
}
