import { beforeEach, describe, expect, it } from 'vitest'
import { deleteUser } from '../../../../src/forge/administration/delete-user.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import {
  MAX_LISTED_MEMOS,
  MAX_LISTED_OF_ALL,
} from '../../../../src/forge/memos/activity/user-stats.rows.ts'
import {
  getUserStats,
  listAllUserStats,
  type UserStats,
} from '../../../../src/forge/memos/activity/user-stats.ts'
import { analyzeMemo } from '../../../../src/forge/memos/content/content.ts'
import { isReadable, type MemoReader } from '../../../../src/forge/memos/memo-access.ts'
import type { MemoField } from '../../../../src/forge/memos/memo-values.ts'
import {
  createComment,
  createMemo,
  deleteMemo,
  updateMemo,
} from '../../../../src/forge/memos/memos.ts'
import { type Random, seededRandom } from '../../../platform/rpc/rest/random.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { storeMemo } from '../../../support/memo-rows.ts'
import { ANONYMOUS, caller, draft, reader } from '../test-users.ts'

let app: TestApp
let ada: User
let bob: User

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada', { role: 'ADMIN' })
  bob = await addUser(app, 'bob')
})

const ZERO = {
  memoCount: 0,
  linkCount: 0,
  codeCount: 0,
  taskListCount: 0,
  incompleteTasksCount: 0,
  tagCounts: new Map(),
  displayTimes: [],
  pinnedUids: [],
  isTruncated: false,
}

describe('statistics', () => {
  it('are zero for an account without memos', async () => {
    expect(await getUserStats(app, reader(bob), bob)).toEqual({ owner: bob, ...ZERO })
    expect(await listAllUserStats(app, reader(bob))).toEqual([])
  })

  it('count what each reader may read', async () => {
    for (const visibility of ['PRIVATE', 'PROTECTED', 'PUBLIC'] as const) {
      await createMemo(app, caller(bob), draft(`#${visibility} #all`, { visibility }))
    }
    const tagsFor = async (who: MemoReader) =>
      Object.fromEntries((await getUserStats(app, who, bob)).tagCounts)
    expect(await tagsFor(reader(bob))).toEqual({ all: 3, PRIVATE: 1, PROTECTED: 1, PUBLIC: 1 })
    expect(await tagsFor({ ...reader(bob), publicOnly: true })).toEqual({ all: 1, PUBLIC: 1 })
    expect(await tagsFor(reader(ada))).toEqual({ all: 2, PROTECTED: 1, PUBLIC: 1 })
    expect(await tagsFor({ ...reader(ada), publicOnly: true })).toEqual({ all: 1, PUBLIC: 1 })
    expect(await tagsFor(ANONYMOUS)).toEqual({ all: 1, PUBLIC: 1 })
  })

  it('count links, code and tasks per memo, without comments and archived memos', async () => {
    const { memo } = await createMemo(
      app,
      caller(bob),
      draft('- [ ] read <https://example.org> and <https://example.net>\n- [x] `run`\n- [ ] `it`'),
    )
    await createMemo(app, caller(bob), draft('- [x] done #tag #tag'))
    await createMemo(app, caller(bob), draft('`code` #gone', { state: 'ARCHIVED' }))
    await createComment(app, caller(bob), memo.uid, draft('`code` #comment'))
    expect(await getUserStats(app, reader(bob), bob)).toMatchObject({
      memoCount: 2,
      linkCount: 1,
      codeCount: 1,
      taskListCount: 2,
      incompleteTasksCount: 1,
      tagCounts: new Map([['tag', 1]]),
    })
  })

  it('list the times of creation or update, as configured, newest first', async () => {
    const times = (create_time: number, update_time: number) => ({ create_time, update_time })
    await createMemo(app, caller(bob), draft('', { ...times(10, 90), visibility: 'PUBLIC' }))
    await createMemo(app, caller(bob), draft('', { ...times(30, 70), visibility: 'PRIVATE' }))
    await createMemo(app, caller(bob), draft('', { ...times(20, 80), visibility: 'PROTECTED' }))
    const byUpdate = { ...app, settings: { ...app.settings, statsBy: 'update' } as const }
    expect((await getUserStats(app, reader(bob), bob)).displayTimes).toEqual([30, 20, 10])
    expect((await getUserStats(byUpdate, reader(bob), bob)).displayTimes).toEqual([90, 80, 70])
    const [listed] = await listAllUserStats(byUpdate, reader(bob))
    expect(listed?.displayTimes).toEqual([90, 80, 70])
  })

  it('list the newest thousand memos of all visibilities together', async () => {
    const count = MAX_LISTED_MEMOS + 2
    for (let i = 0; i < count; i++) {
      await storeMemo(app, bob, {
        visibility: i % 2 ? 'PUBLIC' : 'PRIVATE',
        create_time: i,
        pinned: 1,
        uid: `m${i}`,
      })
    }
    for (const stats of [
      await getUserStats(app, reader(bob), bob),
      ...(await listAllUserStats(app, reader(bob))),
    ]) {
      expect(stats.memoCount).toBe(count)
      expect(stats.displayTimes).toEqual(
        Array.from({ length: MAX_LISTED_MEMOS }, (_, i) => count - 1 - i),
      )
      expect(stats.pinnedUids).toEqual(stats.displayTimes.map((time) => `m${time}`))
    }
  })

  it('of all accounts list an equal share of each', async () => {
    const share = MAX_LISTED_OF_ALL / 100
    for (let i = 1; i < 100; i++) await storeMemo(app, await addUser(app, `u${i}`))
    for (let i = 0; i <= share; i++)
      await storeMemo(app, bob, { create_time: i, pinned: 1, uid: `m${i}` })
    const stats = (await listAllUserStats(app, ANONYMOUS)).find(
      ({ owner }) => owner.username === 'bob',
    )
    expect(stats?.memoCount).toBe(share + 1)
    expect(stats?.displayTimes).toEqual(Array.from({ length: share }, (_, i) => share - i))
    expect(stats?.pinnedUids).toHaveLength(share)
    expect((await getUserStats(app, ANONYMOUS, bob)).displayTimes).toHaveLength(share + 1)
  })

  it('are listed by name, for accounts with readable memos', async () => {
    const zoe = await addUser(app, 'zoe', { user_id: 'a-zoe' })
    const carol = await addUser(app, 'carol')
    await createMemo(app, caller(bob), draft('', { visibility: 'PUBLIC' }))
    await createMemo(app, caller(zoe), draft('', { visibility: 'PROTECTED' }))
    await createMemo(app, caller(carol), draft('', { visibility: 'PRIVATE' }))
    const namesFor = async (who: MemoReader) =>
      (await listAllUserStats(app, who)).map(({ owner }) => owner.username)
    expect(await namesFor(ANONYMOUS)).toEqual(['bob'])
    expect(await namesFor(reader(ada))).toEqual(['zoe', 'bob'])
    expect(await namesFor(reader(carol))).toEqual(['zoe', 'bob', 'carol'])
    expect(await namesFor({ ...reader(carol), publicOnly: true })).toEqual(['bob'])
  })
})

describe('any sequence of changes', () => {
  it.each([1, 2, 3])('leaves statistics that a recount confirms (seed %i)', async (seed) => {
    const random = seededRandom(seed)
    const users = [ada, bob, await addUser(app, 'carol')]
    for (let step = 1; step <= 150; step++) {
      app.clock.advance(random.below(3))
      await act(random, users)
      if (step % 10 === 0) await expectStatsToBeTrue(users)
    }
    // Otherwise both checks would pass with an empty database.
    expect(await app.db.selectFrom('memo_tag_counts').selectAll().execute()).not.toEqual([])
    await deleteUser(app, bob, 'deleted')
    await expectStatsToBeTrue(users.filter((user) => user !== bob))
    expect(await countsOf(bob)).toEqual([])
  })
})

const PIECES = [
  '#a',
  '#a/b',
  '#__proto__\u200b',
  '`code`',
  '<https://example.org>',
  '\n\n- [ ] open\n',
  '\n\n- [x] done\n',
  '@bob',
]
const VISIBILITIES = ['PRIVATE', 'PROTECTED', 'PUBLIC'] as const

/** Changes a memo, as a user that may. */
async function act(random: Random, users: readonly User[]): Promise<void> {
  const memos = await app.db.selectFrom('memos').selectAll().execute()
  const values = draft(random.shuffle(PIECES).slice(0, random.below(5)).join(' '), {
    visibility: random.pick(VISIBILITIES),
    state: random.below(5) === 0 ? 'ARCHIVED' : 'NORMAL',
    pinned: random.below(3) === 0,
    create_time: random.below(100),
    update_time: random.below(100),
  })
  const somebody = caller(users[random.below(users.length)] ?? ada)
  const memo = memos[random.below(memos.length)]
  const field = random.pick<MemoField>([
    'content',
    'visibility',
    'pinned',
    'state',
    'create_time',
    'update_time',
  ])
  const all = random.below(3) === 0
  switch (memo ? random.below(6) : 0) {
    case 0:
    case 1:
      await createMemo(app, somebody, values)
      break
    case 2:
      // Fails when she cannot read the memo, or when it is archived.
      await createComment(app, caller(ada), memo?.uid ?? '', values).catch(() => undefined)
      break
    case 3:
    case 4:
      await updateMemo(app, caller(ada), memo?.uid ?? '', { values, fields: new Set([field]), all })
      break
    case 5:
      if (random.below(3) === 0) await deleteMemo(app, caller(ada), memo?.uid ?? '')
      break
  }
}

/** Compares the statistics of each account for each reader with the memos. */
async function expectStatsToBeTrue(users: readonly User[]): Promise<void> {
  const readers = [ANONYMOUS, ...users.map(reader), { userId: ada.id, publicOnly: true }]
  for (const who of readers) {
    const recounted: UserStats[] = []
    for (const user of users) {
      const stats = await recount(user, who)
      expect(await getUserStats(app, who, user)).toEqual(stats)
      if (stats.memoCount > 0)
        recounted.push({ ...stats, owner: expect.objectContaining({ id: user.id }) })
    }
    expect(await listAllUserStats(app, who)).toEqual(recounted)
  }
}

async function recount(owner: User, who: MemoReader): Promise<UserStats> {
  const memos = await app.db
    .selectFrom('memos')
    .selectAll()
    .where('creator_id', '=', owner.id)
    .execute()
  const counted = memos
    .filter((memo) => memo.parent_id === null && memo.state === 'NORMAL')
    .filter((memo) =>
      isReadable({ ...memo, root_creator_id: memo.creator_id, root_state: memo.state }, who),
    )
    .map((memo) => ({ memo, found: analyzeMemo(memo.content) }))
    .sort((a, b) => b.memo.create_time - a.memo.create_time || b.memo.id - a.memo.id)
  const tagCounts = new Map<string, number>()
  for (const tag of counted.flatMap(({ found }) => found.tags))
    tagCounts.set(tag, (tagCounts.get(tag) ?? 0) + 1)
  const having = (flag: 'hasLink' | 'hasCode' | 'hasTaskList' | 'hasIncompleteTasks') =>
    counted.filter(({ found }) => found[flag]).length
  return {
    owner,
    memoCount: counted.length,
    linkCount: having('hasLink'),
    codeCount: having('hasCode'),
    taskListCount: having('hasTaskList'),
    incompleteTasksCount: having('hasIncompleteTasks'),
    tagCounts,
    displayTimes: counted.map(({ memo }) => memo.create_time),
    pinnedUids: counted.flatMap(({ memo }) => (memo.pinned ? memo.uid : [])),
    isTruncated: false,
  }
}

function countsOf(user: User) {
  return app.db.selectFrom('memo_counts').selectAll().where('user_id', '=', user.id).execute()
}
