import assert from 'node:assert/strict'
import { Sqlite } from '../src/platform/database/sqlite.ts'
import { createRepository } from './git.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import type { Case, Group } from './measure.ts'
import { get } from './requests.ts'
import { sized } from './sizes.ts'

const FEW = 100
const MANY = sized(100_000, 200)

/** Issues of a page. The first page of each repository is full. */
const LIMIT = 30

/** 14 November 2023. Each issue is a minute younger than the previous one. */
const FIRST_CREATE_TIME_S = 1_700_000_000
const INTERVAL_S = 60

const LABEL = 'seldom'
/** One issue of so many has the label. */
const LABEL_INTERVAL = sized(1_000, 100)

/**
 * Pages of the issues of two repositories, inserted into the database while the server has it open.
 * Two of three issues are open.
 */
export async function issueLists(
  { branchline, credentials }: Servers,
  database: string,
): Promise<Group> {
  for (const count of [FEW, MANY]) {
    await createRepository(branchline, credentials.personalAccessToken, repositoryOf(count))
    insertIssues(database, repositoryOf(count), count)
  }
  const page = (name: string, count: number, query: string): Case => ({
    name,
    client: http1,
    server: branchline,
    requests: [get(`/api/v1/repos/ada/${repositoryOf(count)}/issues?limit=${LIMIT}&${query}`)],
    check: ({ status, body }) => {
      assert.equal(status, 200)
      assert(Array.isArray(JSON.parse(body.toString())))
    },
  })
  const pair = (name: string, query: string): Case[] => [
    page(`${FEW}, ${name}`, FEW, query),
    { ...page(`100,000, ${name}`, MANY, query), baseline: `${FEW}, ${name}` },
  ]
  return {
    name: 'issue-lists',
    title: `ListIssues over REST, ${LIMIT} of`,
    rounds: 3,
    durationMs: 800,
    inFlight: 4,
    cases: [
      ...pair('latest open ones', 'state=open'),
      ...pair('closed, by update', 'state=closed&sort=recentupdate'),
      ...pair('by due date', 'sort=nearduedate'),
      ...pair('of a label', `labels=${LABEL}`),
      ...pair('assigned to ada', 'assigned_by=ada'),
      {
        ...page('100,000, page 1,000', MANY, 'page=1000'),
        baseline: `${FEW}, latest open ones`,
      },
    ],
  }
}

function repositoryOf(count: number): string {
  return `issues-${count}`
}

function insertIssues(database: string, name: string, count: number): void {
  const sqlite = new Sqlite(database)
  const repository = sqlite.prepare<[string], { id: number; owner_id: number }>(
    'select id, owner_id from repositories where name = ?',
  )
  const { id, owner_id } = repository.get(name) ?? assert.fail('there is no such repository')
  const label = sqlite.prepare<unknown[], { id: number }>(
    `insert into labels (repository_id, name, color, description, exclusive, archived) values (?, ?, '00aabb', '', 0, 0)
     returning id`,
  )
  const insert = sqlite.prepare<unknown[], { id: number }>(
    `insert into issues (repository_id, is_pull, number, poster_id, title, state, base_branch, head_branch, head_commit,
       head_ref_commit, allow_maintainer_edit, create_time, update_time, close_time, body)
     values (?, 0, ?, ?, 'A question', ?, '', '', '', '', 0, ?, ?, ?, ?) returning id`,
  )
  const addLabel = sqlite.prepare('insert into issue_labels (issue_id, label_id) values (?, ?)')
  const body = 'What it is about, in some words. '.repeat(10)
  sqlite.transaction(() => {
    const labelId = label.get(id, LABEL)?.id
    for (let number = 1; number <= count; number++) {
      const time = FIRST_CREATE_TIME_S + number * INTERVAL_S
      const isOpen = number % 3 !== 0
      const row = [id, number, owner_id, isOpen ? 'OPEN' : 'CLOSED', time, time]
      const issue = insert.get(...row, isOpen ? null : time, body)
      if (number % LABEL_INTERVAL === 0) addLabel.run(issue?.id, labelId)
    }
    sqlite.prepare('update repositories set last_issue_number = ? where id = ?').run(count, id)
  })()
  sqlite.close()
}
