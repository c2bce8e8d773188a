import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { transaction } from '../../../src/platform/database/database.ts'
import type { Tx } from '../../../src/platform/database/schema.ts'
import { isOnPostgres } from '../../support/database.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

/** More than a search counts, and more than it sorts. */
const COUNT = 10_020
const COUNTED = 10_000
/** The issues with these numbers are closed. */
const CLOSED = 15

let server: TestServer
let users: PullTestUsers
let path: string

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  const forge = pullForge(server)
  path = (await forge.repository(users.bob, 'long', {})).path
  await transaction(server.app.db, fill)
  // As autovacuum does within a minute.
  if (isOnPostgres) await sql`analyze`.execute(server.app.db)
})
afterAll(() => server.stop())

/** Opens issues that all have the words `every` and `everyone`; the odd ones have `half`, too. */
async function fill(tx: Tx): Promise<void> {
  const repository = await tx
    .selectFrom('repositories')
    .select(['id', 'owner_id'])
    .where('name', '=', 'long')
    .executeTakeFirstOrThrow()
  const id = sql.lit(repository.id)
  await sql`insert into issues (repository_id, is_pull, number, poster_id, title, state, base_branch, head_branch,
      head_commit, head_ref_commit, allow_maintainer_edit, create_time, update_time, close_time, body)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(COUNT)})
    select ${id}, 0, n, ${sql.lit(repository.owner_id)}, 'Long',
      case when n <= ${sql.lit(CLOSED)} then 'CLOSED' else 'OPEN' end,
      '', '', '', '', 0, 1000 + n, 1000 + n, case when n <= ${sql.lit(CLOSED)} then 2000 end, '' from numbers`.execute(
    tx,
  )
  await (isOnPostgres
    ? sql`insert into search_texts (id, issue_id, repository_id, tokens)
        select id * 2, id, repository_id, (case when number % 2 = 1
          then '''every'':2B ''everyone'':3B ''half'':4B' else '''every'':2B ''everyone'':3B' end)::tsvector
        from issues where repository_id = ${id}`
    : sql`insert into search_index (rowid, facets, title, body)
        select id * 2, 'r' || repository_id, '', case when number % 2 = 1 then 'every everyone half' else 'every everyone' end
        from issues where repository_id = ${id}`
  ).execute(tx)
}

/** Searches as a visitor. @returns the numbers of the page, and what the headers say of the list. */
async function search(query: string) {
  const answer = await fetch(`${server.url}/api/v1${path}/issues?limit=3&${query}`)
  expect(answer.status, query).toBe(200)
  const found = (await answer.json()) as readonly { readonly number: number }[]
  return {
    numbers: found.map(({ number }) => number),
    total: Number(answer.headers.get('x-total-count')),
    isCapped: answer.headers.get('x-total-count-capped') === 'true',
    isIncomplete: answer.headers.get('x-search-incomplete') === 'true',
  }
}

const NEWEST = [COUNT, COUNT - 1, COUNT - 2]

it.each([
  'q=every&state=all',
  'q=ever&state=all',
  'q=every&state=open',
  'q=everyone&state=open&type=issues',
])('counts the matches of %s only up to a bound, and says so', async (query) => {
  expect(await search(query)).toEqual({
    numbers: NEWEST,
    total: COUNTED,
    isCapped: true,
    isIncomplete: false,
  })
})

it.each([
  ['q=every&state=closed', CLOSED, [15, 14, 13]],
  ['q=half&state=all', COUNT / 2, [COUNT - 1, COUNT - 3, COUNT - 5]],
  ['q=half&state=closed', 8, [15, 13, 11]],
  ['q=every&state=open&type=pulls', 0, []],
  ['q=every+nothing', 0, []],
])('counts all matches of %s', async (query, total, numbers) => {
  expect(await search(query)).toEqual({ numbers, total, isCapped: false, isIncomplete: false })
})

it.each(['sort=recentupdate', 'sort=relevance'])(
  'sorts only the newest of many matches with %s, and says so',
  async (sort) => {
    expect(await search(`q=every&state=all&${sort}`)).toEqual({
      numbers: NEWEST,
      total: COUNTED,
      isCapped: true,
      isIncomplete: true,
    })
    // The oldest issue is not among those that are sorted.
    const { numbers } = await search('q=every&state=all&sort=oldest')
    expect(numbers).toEqual([21, 22, 23])
  },
)
