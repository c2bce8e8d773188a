import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  hasIndex,
  listComments,
  listMemos,
  type MemoPartition,
  scanMemos,
} from '../../../src/forge/memos/memo-list.rows.ts'
import { readMemoOrder } from '../../../src/forge/memos/memo-list.ts'
import { findMemoByUid } from '../../../src/forge/memos/memos.rows.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'
import { plansOf } from '../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

const partition = (
  state: MemoPartition['state'],
  visibility: MemoPartition['visibility'],
  creatorId?: number,
) => ({
  state,
  visibility,
  creatorId,
})
const ANONYMOUS = [partition('NORMAL', 'PUBLIC')]
const SIGNED_IN = [
  ...ANONYMOUS,
  partition('NORMAL', 'PROTECTED'),
  partition('NORMAL', 'PRIVATE', 1),
]
const ARCHIVED = (['PUBLIC', 'PROTECTED', 'PRIVATE'] as const).map((visibility) =>
  partition('ARCHIVED', visibility, 1),
)

const ofAllCreators = (index: string, rest = '') =>
  `SEARCH memos USING INDEX ${index} (state=? AND visibility=?${rest})`
const byTime = ofAllCreators('memos_by_create_time')
const own = (index: string) =>
  `SEARCH memos USING INDEX ${index} (creator_id=? AND parent_id=? AND state=? AND visibility=?)`
const ownByTime = own('memos_of_creator_by_create_time')

/**
 * Returns the searches of the only query, without the steps that merge them. Steps that sort are
 * included.
 */
async function stepsOf(work: (watched: Db) => Promise<unknown>): Promise<string[]> {
  const [plan = [], ...others] = await plansOf(db, work)
  expect(others).toEqual([])
  return plan.filter((step) => !/^(MERGE \(UNION ALL\)|LEFT|RIGHT)$/.test(step))
}

describe('a page of memos', () => {
  it.each([
    ['what anonymous callers read', ANONYMOUS, '', [byTime]],
    ['what accounts read', SIGNED_IN, '', [byTime, byTime, ownByTime]],
    ['what was archived', ARCHIVED, '', [ownByTime, ownByTime, ownByTime]],
    ['the oldest first', SIGNED_IN, 'create_time asc', [byTime, byTime, ownByTime]],
    [
      'by time of update',
      SIGNED_IN,
      'update_time',
      [
        ofAllCreators('memos_by_update_time'),
        ofAllCreators('memos_by_update_time'),
        own('memos_of_creator_by_update_time'),
      ],
    ],
    [
      'pinned first',
      SIGNED_IN,
      'pinned, create_time',
      [
        ofAllCreators('memos_pinned_first'),
        ofAllCreators('memos_pinned_first'),
        own('memos_of_creator_pinned_first'),
      ],
    ],
  ])('is read from indexes, in their order: %s', async (_, partitions, order, searches) => {
    const page = { order: readMemoOrder(order), after: undefined, limit: 10 }
    expect(await stepsOf((watched) => listMemos(watched, partitions, page))).toEqual(searches)
  })

  it.each([
    ['create_time', [5, 5], ofAllCreators('memos_by_create_time', ' AND create_time<?')],
    ['create_time asc', [5, 5], ofAllCreators('memos_by_create_time', ' AND create_time>?')],
    [
      'pinned, create_time',
      [1, 5, 5],
      ofAllCreators('memos_pinned_first', ' AND (pinned,create_time)<(?,?)'),
    ],
  ])('starts after the previous page: %s', async (order, after, search) => {
    const page = { order: readMemoOrder(order), after, limit: 10 }
    expect(await stepsOf((watched) => listMemos(watched, ANONYMOUS, page))).toEqual([search])
  })

  it.each([
    ['in the order of an index', '', byTime],
    ['by time of update', 'update_time', ofAllCreators('memos_by_update_time')],
    ['pinned first', 'pinned, create_time', ofAllCreators('memos_pinned_first')],
  ])('is searched %s, with a step that ends at its limit', async (_, order, search) => {
    const condition = { kind: 'term', term: { kind: 'flag', column: 'has_code' } } as const
    const page = { order: readMemoOrder(order), after: undefined, limit: 10 }
    expect(hasIndex(page.order)).toBe(true)
    expect(await stepsOf((watched) => scanMemos(watched, ANONYMOUS, condition, page))).toEqual([
      search,
    ])
  })

  it.each([
    [undefined, ' AND create_time>? AND create_time<?'],
    [[7, 7], ' AND create_time>? AND create_time<?'],
  ])('is searched in a range of times: after %j', async (after, bounds) => {
    const condition = { kind: 'term', term: { kind: 'flag', column: 'pinned' } } as const
    const page = { order: readMemoOrder(''), after, limit: 10 }
    const ranged = ANONYMOUS.map((one) => ({
      ...one,
      range: { column: 'create_time', min: 5, max: 9 } as const,
    }))
    const searches = [ofAllCreators('memos_by_create_time', bounds)]
    expect(await stepsOf((watched) => scanMemos(watched, ranged, condition, page))).toEqual(
      searches,
    )
  })

  it.each([
    [['a'], 'USING PRIMARY KEY (memo_id=? AND tag=?)'],
    [Array.from({ length: 80 }, (_, i) => `t${i}`), 'USING PRIMARY KEY (memo_id=?)'],
  ])('looks up the tags of a filter together: %#', async (among, how) => {
    const condition = { kind: 'term', term: { kind: 'tags', among } } as const
    const page = { order: readMemoOrder(''), after: undefined, limit: 10 }
    const steps = await stepsOf((watched) => scanMemos(watched, ANONYMOUS, condition, page))
    expect(steps).toEqual([
      byTime,
      expect.stringMatching(/^CORRELATED SCALAR/),
      `SEARCH memo_tags ${how}`,
    ])
  })
})

describe('a page of comments', () => {
  it('is read from an index, in its order', async () => {
    const page = { order: readMemoOrder(''), after: [5, 5], limit: 10 }
    expect(await stepsOf((watched) => listComments(watched, 1, page))).toEqual([
      'SEARCH memos USING INDEX comments_of_memo (parent_id=? AND state=? AND create_time<?)',
      'SEARCH root USING INTEGER PRIMARY KEY (rowid=?)',
    ])
  })
})

describe('a memo', () => {
  it('is looked up with its root', async () => {
    expect(await stepsOf((watched) => findMemoByUid(watched, 'x'))).toEqual([
      expect.stringMatching(/^SEARCH memos USING INDEX sqlite_autoindex_memos_1 \(uid=\?\)/),
      'SEARCH root USING INTEGER PRIMARY KEY (rowid=?)',
    ])
  })
})
