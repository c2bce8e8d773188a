import { sql } from 'kysely'
import { beforeAll, expect, it } from 'vitest'
import { countIssues, listIssues } from '../../../src/forge/issues/issue-lists.rows.ts'
import type { IssuePosition, IssueSort } from '../../../src/forge/issues/issue-orders.rows.ts'
import type {
  IssueFilter,
  IssueSelection,
} from '../../../src/forge/issues/issue-selections.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { type Random, seededRandom } from '../../platform/rpc/rest/random.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { isOnPostgres } from '../../support/database.ts'
import { addRepository } from '../../support/forge-rows.ts'
import { plansOf } from '../../support/query-plan.ts'

/** More than a filter may lead to before a list is walked instead. */
const COUNT = 6_000
const FIRST_CREATE_TIME = 1_700_000_000

interface Modelled {
  readonly id: number
  readonly number: number
  readonly isOpen: boolean
  readonly created: number
  readonly updated: number
  readonly closed: number
  readonly comments: number
  readonly reactions: number
}

let app: TestApp
let repositoryId: number
let kim: number
let all: Modelled[]

/** The filters with what they mean. Each but the first two is one that many issues meet. */
const FILTERS: readonly (readonly [IssueFilter, (one: Modelled) => boolean])[] = [
  [{ isOpen: undefined, labels: ['rare'] }, ({ number }) => number % 500 === 0],
  [{ isOpen: undefined, labels: ['unknown'] }, () => false],
  [{ isOpen: undefined, labels: ['common'] }, ({ number }) => number % 2 === 0],
  [
    { isOpen: undefined, labels: ['common', 'third'] },
    ({ number }) => number % 2 === 0 || number % 3 === 0,
  ],
  [
    { isOpen: undefined, since: FIRST_CREATE_TIME + 1_000 },
    ({ updated }) => updated >= FIRST_CREATE_TIME + 1_000,
  ],
  [
    { isOpen: undefined, before: FIRST_CREATE_TIME + 4_000 },
    ({ updated }) => updated <= FIRST_CREATE_TIME + 4_000,
  ],
]

const SORTS: Readonly<
  Partial<Record<IssueSort, readonly [(one: Modelled) => number, 'asc' | 'desc', 'asc' | 'desc']>>
> = {
  latest: [({ created }) => created, 'desc', 'desc'],
  oldest: [({ created }) => created, 'asc', 'asc'],
  recentupdate: [({ updated }) => updated, 'desc', 'desc'],
  leastupdate: [({ updated }) => updated, 'asc', 'asc'],
  mostcomment: [({ comments }) => comments, 'desc', 'desc'],
  leastcomment: [({ comments }) => comments, 'asc', 'desc'],
  recentclose: [({ closed }) => closed, 'desc', 'desc'],
  leastclose: [({ closed }) => closed || Number.MAX_SAFE_INTEGER, 'asc', 'desc'],
  mostreaction: [({ reactions }) => reactions, 'desc', 'desc'],
  leastreaction: [({ reactions }) => reactions, 'asc', 'desc'],
}

beforeAll(async () => {
  app = await testApp()
  const ada = await addUser(app, 'ada')
  kim = (await addUser(app, 'kim')).id
  await transaction(app.db, async (tx) => {
    repositoryId = (await addRepository(tx, { owner_id: ada.id, name: 'engine' })).id
    const numbers = sql`with recursive numbers (n) as
      (select 1 union all select n + 1 from numbers where n < ${sql.lit(COUNT)})`
    await sql`insert into issues (repository_id, is_pull, number, poster_id, title, state, base_branch, head_branch,
        head_commit, head_ref_commit, allow_maintainer_edit, create_time, update_time, close_time, body)
      ${numbers} select ${sql.lit(repositoryId)}, 0, n, case when n % 2 = 0 then ${sql.lit(ada.id)} else ${sql.lit(kim)} end, 'A question',
        case when n % 5 = 0 then 'CLOSED' else 'OPEN' end, '', '', '', '', 0,
        ${sql.lit(FIRST_CREATE_TIME)} + n / 2, ${sql.lit(FIRST_CREATE_TIME)} + n / 2 + n * 31 % 101,
        case when n % 5 = 0 then ${sql.lit(FIRST_CREATE_TIME)} + n * 7 % 1009 end, '' from numbers`.execute(
      tx,
    )
    for (const [name, every] of Object.entries({ common: 2, third: 3, rare: 500 })) {
      const { rows } = await sql<{
        id: number
      }>`insert into labels (repository_id, name, color, description, exclusive, archived)
        values (${sql.lit(repositoryId)}, ${sql.lit(name)}, '00aabb', '', 0, 0) returning id`.execute(
        tx,
      )
      await sql`insert into issue_labels (issue_id, label_id) select id, ${sql.lit(rows[0]?.id)} from issues
        where number % ${sql.lit(every)} = 0`.execute(tx)
    }
    await sql`insert into issue_assignees (issue_id, user_id) select id, ${sql.lit(kim)} from issues
      where number % 2 = 1`.execute(tx)
    await sql`insert into issue_reactions (issue_id, user_id, content, create_time)
      select id, ${sql.lit(kim)}, 'heart', 0 from issues where number % 7 = 0
      union all select id, ${sql.lit(kim)}, 'eyes', 0 from issues where number % 21 = 0`.execute(tx)
    await sql`insert into issue_comments (issue_id, repository_id, poster_id, create_time, update_time, body)
      select id, repository_id, ${sql.lit(kim)}, 0, 0, 'So it is.' from issues where number % 11 = 0`.execute(
      tx,
    )
    // Some change their state after they have got their labels.
    await sql`update issues set state = 'CLOSED', close_time = ${sql.lit(FIRST_CREATE_TIME)} + number
      where number % 12 = 0`.execute(tx)
    await sql`update issues set state = 'OPEN', close_time = null where number % 15 = 0`.execute(tx)
  })
  // As autovacuum does within a minute: a plan for empty tables takes half a minute for a page.
  if (isOnPostgres) await sql`analyze`.execute(app.db)
  const rows = await app.db.selectFrom('issues').selectAll().execute()
  all = rows.map((row) => ({
    id: row.id,
    number: row.number,
    isOpen: row.state === 'OPEN',
    created: row.create_time,
    updated: row.update_time,
    closed: row.close_time ?? 0,
    comments: row.number % 11 === 0 ? 1 : 0,
    reactions: (row.number % 7 === 0 ? 1 : 0) + (row.number % 21 === 0 ? 1 : 0),
  }))
})

function modelled(
  holds: (one: Modelled) => boolean,
  isOpen: boolean | undefined,
  sort: IssueSort,
): number[] {
  const [value, direction, rest] = SORTS[sort] ?? expect.fail('no such order')
  const sign = (way: 'asc' | 'desc') => (way === 'asc' ? 1 : -1)
  return all
    .filter((one) => holds(one) && (isOpen === undefined || one.isOpen === isOpen))
    .sort(
      (one, other) =>
        sign(direction) * (value(one) - value(other)) ||
        sign(rest) * (one.created - other.created || one.id - other.id),
    )
    .map(({ id }) => id)
}

function selectionOf(filter: IssueFilter): IssueSelection {
  return { place: { repositoryId }, kinds: { issues: true, pulls: true }, filter }
}

it('lists what a simple model lists, whatever the filter, the order and the page', async () => {
  const random = seededRandom(107)
  const people: typeof FILTERS = [
    [{ isOpen: undefined, assigneeId: kim }, ({ number }) => number % 2 === 1],
    [{ isOpen: undefined, posterId: kim }, ({ number }) => number % 2 === 1],
    [
      { isOpen: undefined, assigneeId: kim, labels: ['third'] },
      ({ number }) => number % 2 === 1 && number % 3 === 0,
    ],
    [{ isOpen: undefined }, () => true],
  ]
  for (const [filter, holds] of [...FILTERS, ...people])
    for (const sort of Object.keys(SORTS) as IssueSort[]) {
      const isOpen = random.pick([true, false, undefined])
      await checkList({ ...filter, isOpen }, modelled(holds, isOpen, sort), sort, random)
    }
})

/** Checks the total, a page at an offset, and pages after a position. */
async function checkList(
  filter: IssueFilter,
  expected: readonly number[],
  sort: IssueSort,
  random: Random,
): Promise<void> {
  const selection = selectionOf(filter)
  const what = `${JSON.stringify(filter)} by ${sort}`
  expect(await countIssues(app.db, selection), what).toBe(expected.length)
  const offset = random.below(Math.max(1, expected.length - 20))
  const page = await listIssues(app.db, selection, { offset, limit: 20, sort })
  const ids = page.found.map(({ id }) => id)
  expect(ids, what).toEqual(expected.slice(offset, offset + 20))
  let after: IssuePosition | undefined = page.next
  for (let start = offset + 20; after && start < offset + 80; start += 20) {
    const next = await listIssues(app.db, selection, { offset: 0, after, limit: 20, sort })
    expect(
      next.found.map(({ id }) => id),
      `${what} after ${after.join()}`,
    ).toEqual(expected.slice(start, start + 20))
    after = next.next
  }
}

it.each([
  ['latest', { labels: ['common'] }],
  ['oldest', { labels: ['common'] }],
  ['recentclose', {}],
  ['leastclose', {}],
  ['mostreaction', {}],
  ['leastreaction', {}],
  ['latest', { since: FIRST_CREATE_TIME }],
] as const)('reads a page by %s of %j without sorting all issues', async (sort, filter) => {
  const selection = selectionOf({ isOpen: true, ...filter })
  const plans = await plansOf(app.db, (db) =>
    listIssues(
      db,
      { ...selection, kinds: { issues: true, pulls: false } },
      { offset: 0, limit: 5, sort },
    ),
  )
  const steps = plans.at(-1) ?? []
  expect(
    steps.filter((step) => /SCAN issues\b|TEMP B-TREE FOR ORDER BY/.test(step)).length,
    steps.join('\n'),
  )
    // The few ones that were merged are sorted, and the page.
    .toBeLessThanOrEqual(2)
  expect(steps.join()).not.toMatch(/SCAN (issues|issue_labels)\b/)
})
