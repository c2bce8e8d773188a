import { Sqlite } from '../src/platform/database/sqlite.ts'
import { FIRST_ACCOUNT_ID } from './accounts.ts'
import type { BenchPostgres } from './postgres.ts'

/** Numbers of rows of an instance. */
export interface ScaleCounts {
  readonly accounts: number
  readonly repositories: number
  /** Issues and pull requests of one repository: half of each. */
  readonly issues: number
  /** Comments of each of them. */
  readonly commentsOfIssue: number
}

/** The repository with the issues, which the administrator owns. */
export const LARGE = 'large'

/** A label of one issue in a thousand, and one of every second issue. */
export const SELDOM = 'seldom'
export const OFTEN = 'often'

/** Number of repositories of each account that has any. */
const REPOSITORIES_OF_ACCOUNT = 10

/** One account of so many stars and watches the repository, and follows its owner. */
const FANS_INTERVAL = 10

/** 14 November 2023. Each row is a second younger than the previous one. */
const FIRST_CREATE_TIME_S = 1_700_000_000

/** The id of the first issue that is inserted. */
const FIRST_ISSUE_ID = 1_000_000

const ISSUE_BODY = 'What it is about, in some words. '.repeat(10)
const COMMENT_BODY = 'An opinion about it, in some words. '.repeat(3)

/** Returns the username of an account. All have one length. */
export function filledUsername(index: number): string {
  return `user${String(index).padStart(7, '0')}`
}

/** The number `i` of SQL with seven digits. */
const DIGITS = 'substr(cast(10000000 + i as text), 2)'

/** Returns the numbers from 0 on, for `from`. */
function numbers(count: number): string {
  return `(with recursive numbers (i) as (select 0 union all select i + 1 from numbers where i < ${count - 1})
    select i from numbers) as numbers`
}

/**
 * Returns the statements that fill an instance whose only account is the administrator. They run
 * without triggers, which would take hours to count each row, and set the counts at the end.
 */
function statementsOf({
  accounts,
  repositories,
  issues,
  commentsOfIssue,
}: ScaleCounts): readonly string[] {
  const id = `${FIRST_ACCOUNT_ID} + i`
  const time = `${FIRST_CREATE_TIME_S} + i`
  const large = `(select id from repositories where name = '${LARGE}')`
  const ada = `(select owner_id from repositories where name = '${LARGE}')`
  const fans = `${numbers(Math.ceil(accounts / FANS_INTERVAL))}`
  const fan = `${FIRST_ACCOUNT_ID} + i * ${FANS_INTERVAL}`
  const labels = [SELDOM, OFTEN].map((name) => `(select id from labels where name = '${name}')`)
  return [
    `insert into accounts (id, kind) select ${id}, 'USER' from ${numbers(accounts)}`,
    `insert into account_names (name_key, account_id) select 'user' || ${DIGITS}, ${id} from ${numbers(accounts)}`,
    `insert into users (id, username, email, email_key, display_name, avatar_url, description,
      password_hash, role, state, create_time, update_time)
      select ${id}, 'user' || ${DIGITS}, '', '', 'Somebody with a name', '', 'Writes software.', '', 'USER',
      'NORMAL', ${time}, ${time} from ${numbers(accounts)}`,
    `update user_counts set count = count + ${accounts} where state = 'NORMAL' and shard = 0`,
    `insert into repositories (id, owner_id, name, name_key, private, default_branch, create_time,
      update_time, website, description)
      select 1000 + i, ${FIRST_ACCOUNT_ID} + i / ${REPOSITORIES_OF_ACCOUNT}, 'listed-' || ${DIGITS},
      'listed-' || ${DIGITS}, 0, 'main', ${time}, ${time}, '', 'About it' from ${numbers(repositories)}`,
    `insert into repository_name_ends (name_end, repository_id)
      select substr(name_key, cast(start as integer)), id from repositories, name_starts
      where id >= 1000 and start <= length(name_key)`,
    `update repository_counts set count = count + ${repositories} where private = 0 and shard = 0`,
    `insert into labels (repository_id, name, color, description, exclusive, archived)
      values (${large}, '${SELDOM}', '00aabb', '', 0, 0), (${large}, '${OFTEN}', 'bbaa00', '', 0, 0)`,
    `insert into issues (id, is_pull, repository_id, number, poster_id, title, state, base_branch,
      head_repository_id, head_branch, head_commit, head_ref_commit, allow_maintainer_edit,
      create_time, update_time, close_time, body, is_public, comment_count)
      select ${FIRST_ISSUE_ID} + i, i % 2, ${large}, 1 + i, ${FIRST_ACCOUNT_ID} + i % ${accounts}, 'A change',
      case i % 4 when 0 then 'OPEN' when 1 then 'OPEN' else 'CLOSED' end,
      case i % 2 when 1 then 'main' else '' end, case i % 2 when 1 then ${large} else null end,
      case i % 2 when 1 then 'change-' || i else '' end, case i % 2 when 1 then '${'1'.repeat(40)}' else '' end,
      case i % 2 when 1 then '${'1'.repeat(40)}' else '' end, 0, ${time}, ${time},
      case when i % 4 < 2 then null else ${time} end, '${ISSUE_BODY}', 1, ${commentsOfIssue}
      from ${numbers(issues)}`,
    ...labels.map(
      (
        label,
        at,
      ) => `insert into issue_labels (issue_id, label_id, repository_id, is_pull, is_open, create_time)
      select id, ${label}, repository_id, is_pull, case state when 'OPEN' then 1 else 0 end, create_time
      from issues where id >= ${FIRST_ISSUE_ID} and ${at === 0 ? 'id % 1000 < 2' : 'id % 4 < 2'}`,
    ),
    `insert into issue_comments (issue_id, repository_id, poster_id, create_time, update_time, body)
      select ${FIRST_ISSUE_ID} + i / ${commentsOfIssue}, ${large}, ${FIRST_ACCOUNT_ID} + i % ${accounts},
      ${time}, ${time}, '${COMMENT_BODY}' from ${numbers(issues * commentsOfIssue)}`,
    `insert into stars (user_id, repository_id, create_time) select ${fan}, ${large}, ${time} from ${fans}`,
    `insert into follows (follower_id, followed_id, create_time) select ${fan}, ${ada}, ${time} from ${fans}`,
    `insert into repository_subscriptions (repository_id, user_id, mode, create_time)
      select ${large}, ${fan}, 'WATCHING', ${time} from ${fans}`,
    `update users set followers_count = followers_count + ${Math.ceil(accounts / FANS_INTERVAL)} where id = ${ada}`,
    `update repositories set last_issue_number = ${issues}, pulls_count = ${issues / 2}, issues_count = ${issues / 2},
      open_pulls_count = ${issues / 4}, open_issues_count = ${issues / 4}, comments_count = ${issues * commentsOfIssue},
      stars_count = stars_count + ${Math.ceil(accounts / FANS_INTERVAL)},
      watchers_count = watchers_count + ${Math.ceil(accounts / FANS_INTERVAL)} where id = ${large}`,
  ]
}

/** Fills an SQLite database that no server has open. */
export function fillSqlite(database: string, counts: ScaleCounts): void {
  const sqlite = new Sqlite(database)
  const triggers = sqlite
    .prepare<[], { name: string; sql: string }>(
      `select name, sql from sqlite_master where type = 'trigger'`,
    )
    .all()
  sqlite.pragma('foreign_keys = off')
  sqlite.transaction(() => {
    for (const { name } of triggers) sqlite.exec(`drop trigger "${name}"`)
    for (const statement of statementsOf(counts)) sqlite.exec(statement)
    for (const trigger of triggers) sqlite.exec(trigger.sql)
  })()
  sqlite.exec('analyze')
  sqlite.close()
}

/** Fills a PostgreSQL database. */
export async function fillPostgres(
  postgres: BenchPostgres,
  database: string,
  counts: ScaleCounts,
): Promise<void> {
  const withoutTriggers = 'set session_replication_role = replica'
  await postgres.query(database, withoutTriggers, ...statementsOf(counts), 'vacuum analyze')
}
