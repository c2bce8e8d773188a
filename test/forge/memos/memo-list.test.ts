import { setImmediate } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import type { User } from '../../../src/forge/core/schema.ts'
import { isReadable, type MemoReader } from '../../../src/forge/memos/memo-access.ts'
import { listMemos, type MemoPosition, readMemoOrder } from '../../../src/forge/memos/memo-list.ts'
import { seededRandom } from '../../platform/rpc/rest/random.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { storeMemo } from '../../support/memo-rows.ts'
import { ANONYMOUS, reader } from './test-users.ts'

describe('the order of a list', () => {
  const [time, update, uid, pinned] = ['create_time', 'update_time', 'uid', 'pinned']

  it.each([
    ['', [time, 'desc'], ['id', 'desc']],
    [' ', [time, 'desc'], ['id', 'desc']],
    ['create_time', [time, 'desc'], ['id', 'desc']],
    ['create_time asc', [time, 'asc'], ['id', 'asc']],
    ['name asc', [uid, 'asc'], ['id', 'asc']],
    ['pinned', [pinned, 'desc'], ['id', 'desc']],
    ['create_time asc , pinned  asc', [pinned, 'desc'], [time, 'asc'], ['id', 'asc']],
    ['update_time, create_time asc', [update, 'desc'], [time, 'asc'], ['id', 'desc']],
  ])('is read from %j', (text, ...columns) => {
    expect(readMemoOrder(text).map(({ column, direction }) => [column, direction])).toEqual(columns)
  })

  it.each([
    ['content', 'a field that nothing is ordered by'],
    ['id', 'an internal column'],
    ['create_time, create_time asc', 'a field twice'],
    ['create_time down', 'no direction'],
    ['create_time asc desc', 'two directions'],
    ['create_time,', 'an empty term'],
    ['-create_time', 'another syntax'],
    ['constructor', 'nothing that objects have by themselves'],
  ])('is refused as %j: %s', (text) => {
    expect(() => readMemoOrder(text)).toThrow('INVALID_ORDER')
  })
})

describe('paging through a list', () => {
  let app: TestApp
  let bob: User
  let carol: User

  beforeAll(async () => {
    app = await testApp()
    bob = await addUser(app, 'bob')
    carol = await addUser(app, 'carol')
    const random = seededRandom(7)
    for (let i = 0; i < 120; i++) {
      const view = await storeMemo(app, random.pick([bob, carol]), {
        uid: `m${random.below(1e9)}`,
        visibility: random.pick(['PRIVATE', 'PROTECTED', 'PUBLIC']),
        state: random.pick(['NORMAL', 'NORMAL', 'ARCHIVED']),
        pinned: random.below(2),
        // Few distinct times, so that many memos share one.
        create_time: random.below(4),
        update_time: random.below(4),
      })
      if (i % 10 === 0) await storeMemo(app, bob, { visibility: view.memo.visibility }, view)
    }
  })

  async function walk(
    who: MemoReader,
    state: 'NORMAL' | 'ARCHIVED',
    orderBy: string,
    limit: number,
    filter = '',
  ) {
    const order = readMemoOrder(orderBy)
    const uids: string[] = []
    let after: MemoPosition | undefined
    do {
      const { memos, next } = await listMemos(app, who, state, filter, { order, after, limit })
      expect(memos.length).toBeLessThanOrEqual(limit)
      uids.push(...memos.map(({ memo }) => memo.uid))
      after = next
    } while (after)
    return uids
  }

  /** Computes the expected list by the rules alone. */
  async function expected(
    who: MemoReader,
    state: 'NORMAL' | 'ARCHIVED',
    orderBy: string,
  ): Promise<string[]> {
    const all = await app.db
      .selectFrom('memos')
      .selectAll()
      .where('parent_id', 'is', null)
      .execute()
    return all
      .filter(
        (memo) => memo.state === state && (state === 'NORMAL' || memo.creator_id === who.userId),
      )
      .filter((memo) =>
        isReadable({ ...memo, root_creator_id: memo.creator_id, root_state: memo.state }, who),
      )
      .sort((a, b) => {
        for (const { column, direction } of readMemoOrder(orderBy)) {
          const sign = direction === 'asc' ? 1 : -1
          if (a[column] !== b[column]) return a[column] < b[column] ? -sign : sign
        }
        return 0
      })
      .map(({ uid }) => uid)
  }

  it.each([
    '',
    'create_time asc',
    'update_time',
    'name',
    'pinned',
    'pinned, create_time asc',
    'pinned, update_time',
    'create_time, update_time asc',
    'update_time asc, name',
  ])('meets everything that can be read once, ordered by %j', async (orderBy) => {
    for (const who of [
      ANONYMOUS,
      reader(bob),
      reader(carol),
      { ...reader(bob), publicOnly: true },
    ]) {
      for (const state of ['NORMAL', 'ARCHIVED'] as const) {
        const uids = await expected(who, state, orderBy)
        for (const limit of [1, 7, uids.length || 1])
          expect(await walk(who, state, orderBy, limit)).toEqual(uids)
      }
    }
    expect((await expected(reader(bob), 'ARCHIVED', orderBy)).length).toBeGreaterThan(5)
  })

  it('is narrowed by a filter, and never widened', async () => {
    const all = await walk(ANONYMOUS, 'NORMAL', '', 50)
    expect(await walk(ANONYMOUS, 'NORMAL', '', 7, 'pinned || !pinned')).toEqual(all)
    expect(
      await walk(ANONYMOUS, 'NORMAL', '', 7, 'visibility == "PRIVATE" || creator == "users/bob"'),
    ).toEqual(await walk(ANONYMOUS, 'NORMAL', '', 50, 'creator == "users/bob"'))
    expect(await walk(ANONYMOUS, 'NORMAL', '', 7, 'visibility == "PRIVATE"')).toEqual([])
    expect(await walk(ANONYMOUS, 'ARCHIVED', '', 7)).toEqual([])
  })

  it('repeats and skips nothing while memos are created and deleted', async () => {
    const before = await walk(reader(bob), 'NORMAL', '', 1000)
    const order = readMemoOrder('')
    const seen: string[] = []
    const gone: string[] = []
    let after: MemoPosition | undefined
    do {
      const { memos, next } = await listMemos(app, reader(bob), 'NORMAL', '', {
        order,
        after,
        limit: 5,
      })
      seen.push(...memos.map(({ memo }) => memo.uid))
      after = next
      // Deletes memos that were seen, including the last one, and one that was not; and adds one at
      // the front.
      gone.push(
        seen.at(-1) ?? '',
        before.filter((uid) => !seen.includes(uid) && !gone.includes(uid)).at(-1) ?? '',
      )
      await app.db.deleteFrom('memos').where('root_id', 'is not', null).execute()
      await app.db.deleteFrom('memos').where('uid', 'in', gone).execute()
      await storeMemo(app, bob, { create_time: 9 })
    } while (after)
    expect(seen).toEqual(before.filter((uid) => seen.includes(uid) || !gone.includes(uid)))
    expect(new Set(seen).size).toBe(seen.length)
  })
})

describe('a content search', () => {
  const COUNT = 5000
  const EIGHT = Array.from({ length: 8 }, (_, i) => `content.contains("${i}")`).join(' && ')
  let app: TestApp
  let bob: User

  beforeAll(async () => {
    app = await testApp()
    bob = await addUser(app, 'bob')
    const ada = await addUser(app, 'ada')
    await storeMemo(app, bob, { uid: 'oldest', content: 'x 01234567', create_time: 0 })
    const { id, ...row } = await app.db.selectFrom('memos').selectAll().executeTakeFirstOrThrow()
    for (let i = 1; i < COUNT; i += 500) {
      const many = Array.from({ length: 500 }, (_, j) => i + j).filter((n) => n < COUNT)
      const memos = many.map((n) => ({
        ...row,
        creator_id: ada.id,
        uid: `m${n}`,
        create_time: n,
        content: `x ${n}`,
      }))
      await app.db.insertInto('memos').values(memos).execute()
    }
  })

  function search(filter: string, after?: MemoPosition) {
    return listMemos(app, reader(bob), 'NORMAL', filter, {
      order: readMemoOrder(''),
      after,
      limit: 10,
    })
  }

  it('looks at a limited number of memos per page, and continues on the next page', async () => {
    const first = await search(EIGHT)
    expect(first.memos).toEqual([])
    expect(first.next).toBeDefined()
    const second = await search(EIGHT, first.next)
    expect(second.memos.map(({ memo }) => memo.uid)).toEqual(['oldest'])
    expect(second.next).toBeUndefined()
  })

  it('looks only at memos that meet the other terms of the filter', async () => {
    const { memos, next } = await search(`creator == "users/bob" && ${EIGHT}`)
    expect(memos.map(({ memo }) => memo.uid)).toEqual(['oldest'])
    expect(next).toBeUndefined()
  })

  it('fills pages when many memos match, and finds each memo once', async () => {
    const uids: string[] = []
    let after: MemoPosition | undefined
    do {
      const { memos, next } = await search('content.contains("X 49")', after)
      expect(memos.length).toBe(next ? 10 : 1)
      uids.push(...memos.map(({ memo }) => memo.uid))
      after = next
    } while (after)
    const found = Array.from({ length: COUNT }, (_, n) => n).filter((n) =>
      String(n).startsWith('49'),
    )
    expect(uids).toEqual(found.reverse().map((n) => `m${n}`))
  })

  it('leaves out memos that become unreadable during the search', async () => {
    const hide = (visibility: 'PRIVATE' | 'PUBLIC') =>
      app.db
        .updateTable('memos')
        .set({ content: 'needle', visibility })
        .where('uid', '=', 'm1')
        .execute()
    await hide('PUBLIC')
    expect((await search('content.contains("needle")')).memos).toHaveLength(1)
    const searching = search('content.contains("needle")')
    // The search has finished its first step. m1 is in its last step.
    await setImmediate()
    await hide('PRIVATE')
    expect((await searching).memos).toEqual([])
  })
})
