import { FIRST_ACCOUNT_ID } from './accounts.ts'
import type { BenchPostgres } from './postgres.ts'

/** Numbers of rows. */
export interface RowCounts {
  readonly accounts: number
  readonly repositories: number
  /** In one repository of the administrator. */
  readonly pulls: number
}

/** The repository with the pull requests. */
export const PULLS = 'many-pulls'

/** Number of repositories of each account that has any. */
const REPOSITORIES_OF_ACCOUNT = 10

/** 14 November 2023. Each row is a second younger than the previous one. */
const FIRST_CREATE_TIME_S = 1_700_000_000

/**
 * Inserts rows into a database whose only account is the administrator, who has the repository for
 * the pull requests. The triggers would take hours to count each row, so the counts are set at the
 * end.
 */
export async function insertManyRows(
  postgres: BenchPostgres,
  database: string,
  { accounts, repositories, pulls }: RowCounts,
): Promise<void> {
  const time = `${FIRST_CREATE_TIME_S} + i`
  await postgres.query(
    database,
    'set session_replication_role = replica',
    `create temporary table new_accounts as select i, ${FIRST_ACCOUNT_ID} + i as id,
      'user' || lpad(i::text, 6, '0') as username from generate_series(0, ${accounts - 1}) as i`,
    `insert into accounts (id, kind) select id, 'USER' from new_accounts`,
    'insert into account_names (name_key, account_id) select username, id from new_accounts',
    `insert into users (id, username, email, email_key, display_name, avatar_url, description,
      password_hash, role, state, create_time, update_time)
      select id, username, '', '', 'Somebody with a name', '', 'Writes software.', '', 'USER',
      'NORMAL', ${time}, ${time} from new_accounts`,
    `update user_counts set count = count + ${accounts} where state = 'NORMAL'`,
    `insert into repositories (id, owner_id, name, name_key, private, default_branch, create_time,
      update_time, website, description)
      select 1000 + i, ${FIRST_ACCOUNT_ID} + i / ${REPOSITORIES_OF_ACCOUNT}, 'listed-' || lpad(i::text, 6, '0'),
      'listed-' || lpad(i::text, 6, '0'), 0, 'main', ${time}, ${time}, '', 'About it'
      from generate_series(0, ${repositories - 1}) as i`,
    `insert into repository_name_ends (name_end, repository_id)
      select substr(name_key, start::integer), id from repositories, name_starts
      where id >= 1000 and start <= length(name_key)`,
    `update repository_counts set count = count + ${repositories} where private = 0 and shard = 0`,
    `insert into issues (repository_id, number, poster_id, title, state, base_branch,
      head_repository_id, head_branch, head_commit, head_ref_commit, allow_maintainer_edit,
      create_time, update_time, close_time, body)
      select r.id, i, r.owner_id, 'A change', case i % 2 when 0 then 'OPEN' else 'CLOSED' end, 'main',
      r.id, 'change-' || i, repeat('1', 40), repeat('1', 40), 0, ${time}, ${time},
      case i % 2 when 0 then null else ${time} end, repeat('What it is about, in some words. ', 10)
      from generate_series(1, ${pulls}) as i, repositories as r where r.name = '${PULLS}'`,
    `update repositories set last_issue_number = ${pulls}, pulls_count = ${pulls},
      open_pulls_count = ${pulls / 2} where name = '${PULLS}'`,
    'vacuum analyze',
  )
}
