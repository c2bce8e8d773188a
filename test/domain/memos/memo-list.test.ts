import { beforeAll, describe, expect, it } from 'vitest'
import type { User } from '../../../src/domain/accounts/users.ts'
import { isReadable, type MemoReader } from '../../../src/domain/memos/memo-access.ts'
import { listMemos, type MemoPosition, readMemoOrder } from '../../../src/domain/memos/memo-list.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { storeMemo } from '../../support/memo-rows.ts'
import { seededRandom } from '../../transport/rest/random.ts'
import { ANONYMOUS, reader } from './cast.ts'

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

describe('a walk through a list', () => {
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
        // Few moments, so that many memos share one.
        create_time: random.below(4),
        update_time: random.below(4),
      })
      if (i % 10 === 0) await storeMemo(app, bob, { visibility: view.memo.visibility }, view)
    }
  })

  async function walk(who: MemoReader, state: 'NORMAL' | 'ARCHIVED', orderBy: string, limit: number, filter = '') {
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

  /** The same by the rules alone. */
  async function expected(who: MemoReader, state: 'NORMAL' | 'ARCHIVED', orderBy: string): Promise<string[]> {
    const all = await app.db.selectFrom('memos').selectAll().where('parent_id', 'is', null).execute()
    return all
      .filter((memo) => memo.state === state && (state === 'NORMAL' || memo.creator_id === who.userId))
      .filter((memo) => isReadable({ ...memo, root_creator_id: memo.creator_id, root_state: memo.state }, who))
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
    for (const who of [ANONYMOUS, reader(bob), reader(carol), { ...reader(bob), publicOnly: true }]) {
      for (const state of ['NORMAL', 'ARCHIVED'] as const) {
        const uids = await expected(who, state, orderBy)
        for (const limit of [1, 7, uids.length || 1]) expect(await walk(who, state, orderBy, limit)).toEqual(uids)
      }
    }
    expect((await expected(reader(bob), 'ARCHIVED', orderBy)).length).toBeGreaterThan(5)
  })

  it('is narrowed by a filter, and never widened', async () => {
    const all = await walk(ANONYMOUS, 'NORMAL', '', 50)
    expect(await walk(ANONYMOUS, 'NORMAL', '', 7, 'pinned || !pinned')).toEqual(all)
    expect(await walk(ANONYMOUS, 'NORMAL', '', 7, 'visibility == "PRIVATE" || creator == "users/bob"')).toEqual(
      await walk(ANONYMOUS, 'NORMAL', '', 50, 'creator == "users/bob"'),
    )
    expect(await walk(ANONYMOUS, 'NORMAL', '', 7, 'visibility == "PRIVATE"')).toEqual([])
    expect(await walk(ANONYMOUS, 'ARCHIVED', '', 7)).toEqual([])
  })

  it('repeats and misses nothing while memos come and go', async () => {
    const before = await walk(reader(bob), 'NORMAL', '', 1000)
    const order = readMemoOrder('')
    const seen: string[] = []
    const gone: string[] = []
    let after: MemoPosition | undefined
    do {
      const { memos, next } = await listMemos(app, reader(bob), 'NORMAL', '', { order, after, limit: 5 })
      seen.push(...memos.map(({ memo }) => memo.uid))
      after = next
      // One that was seen, the last one even, one that was not, and a new one at the front.
      gone.push(seen.at(-1) ?? '', before.filter((uid) => !seen.includes(uid) && !gone.includes(uid)).at(-1) ?? '')
      await app.db.deleteFrom('memos').where('root_id', 'is not', null).execute()
      await app.db.deleteFrom('memos').where('uid', 'in', gone).execute()
      await storeMemo(app, bob, { create_time: 9 })
    } while (after)
    expect(seen).toEqual(before.filter((uid) => seen.includes(uid) || !gone.includes(uid)))
    expect(new Set(seen).size).toBe(seen.length)
  })
})
