import assert from 'node:assert/strict'
import { Sqlite } from '../src/platform/database/sqlite.ts'
import { usernameOf } from './accounts.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import type { Case, Group } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { get } from './requests.ts'
import { sized } from './sizes.ts'

/** The accounts with memos in the large database, by their indexes, with the numbers of memos. */
const FEW_MEMOS = { account: 1, count: 10 }
const LISTED_MEMOS = { account: 2, count: sized(1000, 20) }
const MANY_MEMOS = { account: 3, count: sized(100_000, 30) }

/** Maximum number of display times in statistics, which limits the length of the response. */
const MAX_TIMES = 1000

/** 14 November 2023. Each memo is a minute younger than the previous one. */
const FIRST_CREATE_TIME_S = 1_700_000_000
const INTERVAL_S = 60

/** Number of distinct tags of an account, and of one memo. */
const TAGS = 20
const TAGS_OF_MEMO = 2

/**
 * A filter with tags of every memo of the small database, and of every other memo of the large one.
 */
const MANY_TAGS = Array.from(
  { length: 80 },
  (_, i) => `"${i < TAGS / 2 ? 'tag' : 'no'}${i}" in tags`,
).join(' || ')

const IN_FLIGHT = 32

/** Inserts memos into the database of many accounts while the server has it open. */
export function insertManyMemos(database: string): void {
  insertMemos(database, [FEW_MEMOS, LISTED_MEMOS, MANY_MEMOS])
}

/** Inserts memos into the database of few accounts. */
export function insertFewMemos(database: string): void {
  insertMemos(database, [FEW_MEMOS])
}

function insertMemos(
  database: string,
  amounts: readonly { account: number; count: number }[],
): void {
  const sqlite = new Sqlite(database)
  const findAccount = sqlite.prepare<[string], { id: number }>(
    'select id from users where username = ?',
  )
  const insertMemo =
    sqlite.prepare(`insert into memos (uid, creator_id, state, visibility, pinned, has_link, has_code,
    has_task_list, has_incomplete_tasks, create_time, update_time, title, snippet, content)
    values (?, ?, 'NORMAL', 'PUBLIC', 0, 1, 0, 1, 0, ?, ?, '', 'Some words to remember', ?)`)
  const insertTag = sqlite.prepare(
    'insert into memo_tags (memo_id, tag, position) values (?, ?, ?)',
  )
  const content = `Some words to remember #tag0 #tag1\n\n${'More of them. '.repeat(15)}`
  sqlite.transaction(() => {
    for (const { account, count } of amounts) {
      const creator = findAccount.get(usernameOf(account))
      assert.ok(creator)
      for (let i = 0; i < count; i++) {
        const time = FIRST_CREATE_TIME_S + i * INTERVAL_S
        const { lastInsertRowid } = insertMemo.run(
          `m${account}-${i}`,
          creator.id,
          time,
          time,
          content,
        )
        for (let j = 0; j < TAGS_OF_MEMO; j++)
          insertTag.run(lastInsertRowid, `tag${(i + j) % TAGS}`, j)
      }
    }
  })()
  sqlite.close()
}

/** Statistics of accounts that differ only in the number of their memos. */
export function statistics({ branchline }: Servers): Group {
  const statsOf = (name: string, { account, count }: typeof FEW_MEMOS): Case => ({
    name,
    client: http1,
    server: branchline,
    requests: [get(`/api/v1/users/${usernameOf(account)}:getStats`)],
    check: ({ status, body }) => {
      assert.equal(status, 200)
      const { totalMemoCount, memoDisplayTimestamps } = JSON.parse(body.toString())
      assert.deepEqual(
        [totalMemoCount, memoDisplayTimestamps.length],
        [count, Math.min(count, MAX_TIMES)],
      )
    },
  })
  return {
    name: 'statistics',
    title: 'GetUserStats over REST',
    rounds: 3,
    durationMs: 400,
    inFlight: IN_FLIGHT,
    cases: [
      statsOf('10 memos', FEW_MEMOS),
      { ...statsOf('1000 memos', LISTED_MEMOS), baseline: '10 memos' },
      { ...statsOf('100,000 memos', MANY_MEMOS), baseline: '1000 memos' },
    ],
  }
}

/** Short lists and statistics beside one account. */
export function besideOneAccount({ branchline, credentials }: Servers): Group {
  const { personalAccessToken } = credentials
  const path = (account: number) => `/api/v1/users/${usernameOf(account)}`
  const listOf =
    (field: string): Case['check'] =>
    ({ status, body }) => {
      assert.equal(status, 200)
      assert.equal(JSON.parse(body.toString())[field].length, 5)
    }
  const common = { client: http1, server: branchline, baseline: 'GetUser' }
  const { account, count } = LISTED_MEMOS
  return {
    name: 'lists-and-one',
    title: 'Lists beside GetUser, over REST',
    rounds: 5,
    durationMs: 400,
    inFlight: IN_FLIGHT,
    cases: [
      {
        name: 'GetUser',
        client: http1,
        server: branchline,
        requests: [get(path(account))],
        check: ({ status }) => assert.equal(status, 200),
      },
      {
        ...common,
        name: 'ListUsers of 5',
        requests: [get('/api/v1/users?pageSize=5', personalAccessToken)],
        check: listOf('users'),
      },
      {
        ...common,
        name: 'ListMemos of 5',
        requests: [get('/api/v1/memos?pageSize=5')],
        check: listOf('memos'),
      },
      {
        ...common,
        name: `GetUserStats with ${count} times`,
        requests: [get(`${path(account)}:getStats`)],
        check: ({ body }) =>
          assert.equal(JSON.parse(body.toString()).memoDisplayTimestamps.length, count),
      },
    ],
  }
}

/** First pages of lists that differ only in their length. */
export function memoLists(servers: Servers): Group {
  const { branchline, few } = servers
  const page = (
    name: string,
    server: ServerProcess,
    query: Record<string, string>,
    token?: string,
  ): Case => ({
    name,
    client: http1,
    server,
    requests: [get(`/api/v1/memos?${new URLSearchParams({ pageSize: '5', ...query })}`, token)],
    check: ({ status, body }) => {
      assert.equal(status, 200)
      assert.equal(JSON.parse(body.toString()).memos.length, 5)
    },
  })
  const pages = (suffix: string, query: Record<string, string>, signedIn: boolean): Case[] => {
    const tokenOf = (credentials: Servers['credentials']) =>
      signedIn ? credentials.personalAccessToken : undefined
    const name = `10 memos${suffix}`
    return [
      page(name, few, query, tokenOf(servers.credentialsOfFew)),
      {
        ...page(`100,000 memos${suffix}`, branchline, query, tokenOf(servers.credentials)),
        baseline: name,
      },
    ]
  }
  return {
    name: 'memos',
    title: 'ListMemos over REST, first 5 of',
    rounds: 3,
    durationMs: 400,
    inFlight: IN_FLIGHT,
    cases: [
      ...pages('', {}, false),
      ...pages(', signed in', {}, true),
      ...pages(', pinned first', { orderBy: 'pinned,create_time' }, false),
      ...pages(' of eighty tags', { filter: MANY_TAGS }, false),
      ...pages(
        ' of one account',
        { filter: `creator == "users/${usernameOf(FEW_MEMOS.account)}"` },
        false,
      ),
    ],
  }
}
