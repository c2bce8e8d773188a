import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DATABASE_FILE } from '../../../src/app/data-folder.ts'
import { updateUser } from '../../../src/forge/accounts/users/users.rows.ts'
import { deleteUser } from '../../../src/forge/administration/delete-user.ts'
import { DomainError } from '../../../src/forge/core/errors.ts'
import type { User } from '../../../src/forge/core/schema.ts'
import { getUserStats } from '../../../src/forge/memos/activity/user-stats.ts'
import type { MemoReader } from '../../../src/forge/memos/memo-access.ts'
import { listMemos, readMemoOrder } from '../../../src/forge/memos/memo-list.ts'
import {
  createComment,
  createMemo,
  deleteMemo,
  listMemoComments,
  updateMemo,
} from '../../../src/forge/memos/memos.ts'
import { openDatabase, transaction } from '../../../src/platform/database/database.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { type Random, seededRandom } from '../../platform/rpc/rest/random.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { openDatabaseFile } from '../../support/database.ts'
import { withFolder } from '../../support/process.ts'
import { isLongTier } from '../../support/tier.ts'
import { ANONYMOUS, caller, draft, reader } from './test-users.ts'

const VISIBILITIES = ['PUBLIC', 'PROTECTED', 'PRIVATE'] as const
const CHANGES = 120
/** Each comparison opens the database again. */
const SEEDS = isLongTier ? [1, 2, 3] : [1]

type Change = (app: TestApp, users: User[], random: Random) => Promise<unknown>

/** What changes the lists of memos. Some of it is refused, such as a comment on an archived memo. */
const changes: readonly [Change, ...Change[]] = [
  (app, users, random) => createMemo(app, anyOf(users, random), anyDraft(random)),
  (app, users, random) => createMemo(app, anyOf(users, random), anyDraft(random)),
  async (app, users, random) => {
    const memo = await anyMemo(app, users, random)
    if (memo) await createComment(app, anyOf(users, random), memo.uid, anyDraft(random))
  },
  async (app, users, random) => {
    const memo = await anyMemo(app, users, random)
    const values = { ...anyDraft(random), pinned: random.below(2) === 0 }
    const fields = new Set(['content', 'visibility', 'pinned', 'state'] as const)
    if (memo) await updateMemo(app, memo.owner, memo.uid, { values, fields, all: false })
  },
  async (app, users, random) => {
    const memo = await anyMemo(app, users, random)
    if (memo && random.below(3) === 0) await deleteMemo(app, memo.owner, memo.uid)
  },
  async (app, users, random) => {
    const { id } = anyOf(users, random).user
    await transaction(app.db, (tx) => updateUser(tx, id, { username: `u${random.below(1000)}` }))
  },
  async (app, users, random) => {
    const name = `v${random.below(1000)}`
    if (users.length > 2 && random.below(3) === 0) {
      const [user] = users.splice(random.below(users.length), 1)
      if (user) await deleteUser(app, user, 'deleted')
    } else users.push(await addUser(app, name))
  },
]

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof DomainError)) throw error
}

function anyOf(users: User[], random: Random) {
  const [first, ...others] = users
  if (!first) throw new Error('no users are left')
  return caller(random.pick([first, ...others]))
}

function anyDraft(random: Random) {
  return draft(`text ${random.below(100)} #tag${random.below(4)} #other${random.below(3)}`, {
    visibility: random.pick(VISIBILITIES),
    state: random.pick(['NORMAL', 'NORMAL', 'ARCHIVED']),
  })
}

async function anyMemo({ db }: TestApp, users: User[], random: Random) {
  const memos = await db.selectFrom('memos').select(['uid', 'creator_id']).execute()
  const { uid, creator_id } = memos[random.below(memos.length)] ?? {}
  const user = users.find(({ id }) => id === creator_id)
  return uid !== undefined && user && { uid, owner: caller(user) }
}

/** Everything that readers can see of the memos. */
async function shown(app: TestApp, users: User[]) {
  const page = { order: readMemoOrder(''), after: undefined, limit: 20 }
  const readers: MemoReader[] = [ANONYMOUS, ...users.slice(0, 2).map(reader)]
  return Promise.all(
    readers.map(async (who) => {
      const { memos } = await listMemos(app, who, 'NORMAL', '', page)
      const [first] = memos
      return {
        memos,
        archived: await listMemos(app, who, 'ARCHIVED', '', page),
        comments: first && (await listMemoComments(app, who, first.memo.uid, page)),
        stats: await Promise.all(users.map((user) => getUserStats(app, who, user))),
      }
    }),
  )
}

/** Compares with a handle that has read nothing before. */
async function expectCurrent(app: TestApp, users: User[], path: string): Promise<void> {
  const fresh: Db = openDatabase(path)
  const expected = await shown({ ...app, db: fresh }, users).finally(() => fresh.destroy())
  expect(await shown(app, users)).toEqual(expected)
  // What was just read is read again.
  expect(await shown(app, users)).toEqual(expected)
}

describe('lists and statistics of memos that are read again and again', () => {
  it.each(SEEDS)('show every change, also of other processes (seed %i)', (seed) =>
    withFolder(async (folder) => {
      const path = join(folder, DATABASE_FILE)
      const random = seededRandom(seed)
      const app = await testApp({}, { db: await openDatabaseFile(folder) })
      const other = openDatabase(path)
      const users = [await addUser(app, 'ada'), await addUser(app, 'bob')]
      for (let i = 0; i < CHANGES; i++) {
        const isOwn = random.below(2) === 0
        const change = random.pick(changes)
        await change(isOwn ? app : { ...app, db: other }, users, random).catch(ignoreRefusal)
        // The changes of other processes are seen in the next iteration of the event loop.
        if (!isOwn) await new Promise((resolve) => setImmediate(resolve))
        await expectCurrent(app, users, path)
      }
      await Promise.all([app.db.destroy(), other.destroy()])
    }),
  )
})
