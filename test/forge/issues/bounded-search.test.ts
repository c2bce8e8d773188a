import { beforeAll, expect, it } from 'vitest'
import type { Caller } from '../../../src/forge/core/access.ts'
import { searchIssues } from '../../../src/forge/issues/issue-lists.ts'
import type { Repository } from '../../../src/forge/repositories/schema.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { ANYBODY, addIssue, addRepository, session } from '../../support/forge-rows.ts'

/** In place of 50,000. */
const MAX_EXAMINED = 3
const FIRST_CREATE_TIME = 1_700_000_000

let app: TestApp
let owner: Caller
let open: Repository

beforeAll(async () => {
  app = await testApp()
  const ada = await addUser(app, 'ada')
  owner = session(ada)
  await transaction(app.db, async (tx) => {
    open = await addRepository(tx, { owner_id: ada.id, name: 'open' })
    const hidden = await addRepository(tx, { owner_id: ada.id, name: 'hidden', private: 1 })
    for (const [i, repository] of [open, open, open, hidden, hidden, hidden, hidden].entries())
      await addIssue(tx, {
        repository_id: repository.id,
        title: `issue ${i + 1}`,
        create_time: FIRST_CREATE_TIME + i,
      })
  })
})

const QUERY = {
  state: '',
  type: 'issues',
  labels: '',
  milestones: '',
  q: '',
  since: undefined,
  before: undefined,
  createdBy: '',
  sort: '',
  query: '',
  view: 0,
  facets: '',
  pullStates: false,
  owner: '',
  team: '',
  priorityRepoId: 0,
  assigned: false,
  created: false,
  mentioned: false,
  reviewRequested: false,
  reviewed: false,
}

/** Returns the numbers in the titles of what a query finds, and whether the search says that it left old ones out. */
async function search(caller: Caller, query: string) {
  const asked = { ...QUERY, query }
  const page = { offset: 0, limit: 10 }
  const found = await searchIssues(app, caller, asked, page, MAX_EXAMINED)
  const numbers = found.conversations.map((one) =>
    one.kind === 'issue' ? Number(one.issue.title.slice('issue '.length)) : 0,
  )
  return { numbers, total: found.total, isIncomplete: found.isIncomplete }
}

it('a search that tests the newest public issues only says when there are older ones', async () => {
  const all = { numbers: [3, 2, 1], total: 3, isIncomplete: false }
  // No index leads to issues with few comments.
  expect(await search(ANYBODY, 'comments:0')).toEqual(all)
  await transaction(app.db, (tx) =>
    addIssue(tx, { repository_id: open.id, title: 'issue 8', create_time: FIRST_CREATE_TIME + 8 }),
  )
  const newest = { numbers: [8, 3, 2], total: 3, isIncomplete: true }
  expect(await search(ANYBODY, 'comments:0')).toEqual(newest)
  expect(await search(ANYBODY, 'comments:0 is:closed')).toMatchObject({ isIncomplete: false })
  // All of those in own private repositories are tested.
  expect(await search(owner, 'comments:0')).toEqual({
    numbers: [8, 7, 6, 5, 4, 3, 2],
    total: 7,
    isIncomplete: true,
  })
})

it.each([
  ['number:1', [1]],
  ['comments:0 number:<3', [2, 1]],
  ['repo:ada/open comments:0', [8, 3, 2, 1]],
])('a search by %s looks at all, because an index leads to few', async (query, numbers) => {
  const total = numbers.length
  expect(await search(ANYBODY, query)).toEqual({ numbers, total, isIncomplete: false })
})

it('a search without other filters than a state leaves nothing out', async () => {
  expect(await search(ANYBODY, 'is:open')).toMatchObject({ total: 4, isIncomplete: false })
})
