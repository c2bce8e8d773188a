import assert from 'node:assert/strict'
import { Sqlite } from '../src/platform/database/sqlite.ts'
import { createRepository } from './git.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import type { Case, Group } from './measure.ts'
import { get } from './requests.ts'
import { sized } from './sizes.ts'

/** Lengths of the lists: one page, and many. */
const FEW = 50
const MANY = sized(10_000, 100)

/** The maximum page size. All pages are full. */
const LIMIT = 50

/** 14 November 2023. Each pull request is a minute younger than the previous one. */
const FIRST_CREATE_TIME_S = 1_700_000_000
const INTERVAL_S = 60

const IN_FLIGHT = 8

/**
 * First and last pages of the pull requests of two repositories, inserted into the database while
 * the server has it open.
 */
export async function pullLists(
  { branchline, credentials }: Servers,
  database: string,
): Promise<Group> {
  for (const count of [FEW, MANY]) {
    const name = repositoryOf(count)
    await createRepository(branchline, credentials.personalAccessToken, name)
    insertPulls(database, name, count)
  }
  const page = (name: string, count: number, number: number, sort = ''): Case => ({
    name,
    client: http1,
    server: branchline,
    requests: [
      get(
        `/api/v1/repos/ada/${repositoryOf(count)}/pulls?state=all&sort=${sort}&limit=${LIMIT}&page=${number}`,
      ),
    ],
    check: ({ status, body }) => {
      assert.equal(status, 200)
      const pulls: { number: number }[] = JSON.parse(body.toString())
      const latest = count - (number - 1) * LIMIT
      const expected = Array.from({ length: LIMIT }, (_, i) => latest - i)
      assert.deepEqual(
        pulls.map((pull) => pull.number),
        expected,
      )
    },
  })
  const few = page(`${FEW} pull requests`, FEW, 1)
  const first = page('10,000 pull requests, first page', MANY, 1)
  const last = MANY / LIMIT
  return {
    name: 'pull-lists',
    title: `ListPullRequests over REST, pages of ${LIMIT} of`,
    rounds: 5,
    durationMs: 1000,
    inFlight: IN_FLIGHT,
    cases: [
      few,
      { ...first, baseline: few.name },
      { ...page('10,000 pull requests, last page', MANY, last), baseline: first.name },
      {
        ...page('10,000 pull requests by update, last page', MANY, last, 'recentupdate'),
        baseline: first.name,
      },
    ],
  }
}

function repositoryOf(count: number): string {
  return `pulls-${count}`
}

/** Inserts pull requests into a repository. */
export function insertPulls(database: string, name: string, count: number): void {
  const sqlite = new Sqlite(database)
  const repository = sqlite.prepare<[string], { id: number; owner_id: number }>(
    'select id, owner_id from repositories where name = ?',
  )
  const { id, owner_id } = repository.get(name) ?? assert.fail('there is no such repository')
  const insert =
    sqlite.prepare(`insert into issues (repository_id, number, poster_id, title, state, base_branch,
    head_repository_id, head_branch, head_commit, allow_maintainer_edit, create_time, update_time, close_time, body)
    values (?, ?, ?, 'A change', ?, 'main', ?, ?, '${'1'.repeat(40)}', 0, ?, ?, ?, ?)`)
  const body = 'What it is about, in some words. '.repeat(10)
  sqlite.transaction(() => {
    for (let number = 1; number <= count; number++) {
      const time = FIRST_CREATE_TIME_S + number * INTERVAL_S
      const isOpen = number % 2 === 0
      const state = isOpen ? 'OPEN' : 'CLOSED'
      insert.run(
        id,
        number,
        owner_id,
        state,
        id,
        `change-${number}`,
        time,
        time,
        isOpen ? null : time,
        body,
      )
    }
    sqlite.prepare('update repositories set last_issue_number = ? where id = ?').run(count, id)
  })()
  sqlite.close()
}
