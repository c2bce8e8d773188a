import { beforeEach, describe, expect, it } from 'vitest'
import { deleteUser } from '../../../src/forge/administration/delete-user.ts'
import { nowSeconds } from '../../../src/forge/core/core.ts'
import type { User } from '../../../src/forge/core/schema.ts'
import type { MemoDraft, MemoField } from '../../../src/forge/memos/memo-values.ts'
import type { MemoView } from '../../../src/forge/memos/memo-view.ts'
import {
  createComment,
  createMemo,
  deleteMemo,
  getMemo,
  updateMemo,
} from '../../../src/forge/memos/memos.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { storeMemo } from '../../support/memo-rows.ts'
import { ANONYMOUS, caller, draft, reader, tokenCaller } from './test-users.ts'

let app: TestApp
let bob: User
let carol: User
let now: number

beforeEach(async () => {
  app = await testApp({ memoContentBytes: 8 })
  bob = await addUser(app, 'bob')
  carol = await addUser(app, 'carol')
  now = nowSeconds(app.clock)
})

const make = (fields: Partial<MemoDraft> = {}) =>
  createMemo(app, caller(bob), draft('', { visibility: 'PUBLIC', ...fields }))
const update = (view: MemoView, fields: MemoField[], values: Partial<MemoDraft>, all = false) =>
  updateMemo(app, caller(bob), view.memo.uid, {
    values: draft('', values),
    fields: new Set(fields),
    all,
  })
const ALL_FIELDS: MemoField[] = [
  'content',
  'visibility',
  'pinned',
  'state',
  'create_time',
  'update_time',
]

const eventsOf = async (user: User) =>
  (
    await app.db
      .selectFrom('user_events')
      .selectAll()
      .where('user_id', '=', user.id)
      .orderBy('id')
      .execute()
  ).map(({ type, resource }) => `${type} ${resource}`)

describe('a new memo', () => {
  it('has the given values and the properties of its content', async () => {
    const view = await make({
      uid: 'First-1',
      content: '#a `b`',
      pinned: true,
      create_time: 5,
      update_time: 7,
    })
    expect(await getMemo(app.db, ANONYMOUS, 'First-1')).toEqual(view)
    expect(view).toMatchObject({
      memo: {
        uid: 'First-1',
        content: '#a `b`',
        state: 'NORMAL',
        pinned: 1,
        has_code: 1,
        create_time: 5,
        update_time: 7,
      },
      creator: { username: 'bob' },
      tags: ['a'],
      parent: undefined,
    })
  })

  it('gets an id and the current time by default', async () => {
    const { memo } = await make()
    expect(memo.uid).toMatch(/^[0-9A-Za-z]{22}$/)
    expect([memo.create_time, memo.update_time]).toEqual([now, now])
  })

  it.each(['-a', 'a-', 'a_b', 'a b', 'ä', 'a/b', 'a'.repeat(37)])(
    'may not be called %s',
    async (uid) => {
      await expect(make({ uid })).rejects.toMatchObject({ reason: 'INVALID_MEMO_ID' })
    },
  )

  it('has a unique id, which is case-sensitive', async () => {
    await make({ uid: 'x' })
    await make({ uid: 'X' })
    await expect(make({ uid: 'x' })).rejects.toMatchObject({
      reason: 'MEMO_ID_TAKEN',
      metadata: { memo_id: 'x' },
    })
  })

  it('may be as long as the instance allows, in bytes', async () => {
    await make({ content: 'éééé' })
    await expect(make({ content: 'ééééé' })).rejects.toMatchObject({
      reason: 'INVALID_FIELD',
      metadata: { field: 'memo.content', max_bytes: '8' },
    })
  })

  it('is PRIVATE unless the settings of its creator say otherwise', async () => {
    expect((await make({ visibility: undefined })).memo.visibility).toBe('PRIVATE')
    const values = {
      user_id: bob.id,
      locale: 'en',
      memo_visibility: 'PROTECTED',
      theme: '',
    } as const
    await app.db.insertInto('user_settings').values(values).execute()
    expect((await make({ visibility: undefined })).memo.visibility).toBe('PROTECTED')
    expect((await make({ visibility: 'PUBLIC' })).memo.visibility).toBe('PUBLIC')
  })

  it('must be public when the token gives access to public data only', async () => {
    const restricted = tokenCaller(bob, 'all', 'public-only')
    await createMemo(app, restricted, draft('', { visibility: 'PUBLIC' }))
    for (const visibility of [undefined, 'PROTECTED', 'PRIVATE'] as const) {
      const made = createMemo(app, restricted, draft('', { visibility }))
      await expect(made).rejects.toMatchObject({ reason: 'PUBLIC_ONLY_TOKEN' })
    }
  })

  it('cannot be created by a deleted account', async () => {
    await deleteUser(app, bob, 'refused')
    await expect(make()).rejects.toMatchObject({ reason: 'BAD_CREDENTIALS' })
  })
})

describe('an update', () => {
  it('changes the named fields only', async () => {
    const view = await make({ content: '#a', pinned: true })
    const updated = await update(view, ['content'], { content: '#b', visibility: 'PRIVATE' })
    expect(updated.memo).toEqual({ ...view.memo, content: '#b', snippet: '#b' })
    expect(updated.tags).toEqual(['b'])
  })

  it.each<[string, MemoField[], Partial<MemoDraft>, (later: number) => number]>([
    ['content', ['content'], { content: 'new' }, (later) => later],
    ['visibility', ['visibility'], { visibility: 'PRIVATE' }, (later) => later],
    ['state', ['state'], { state: 'ARCHIVED' }, (later) => later],
    ['no pin, which is none of its business', ['pinned'], { pinned: true }, () => now],
    ['no time of creation', ['create_time'], { create_time: 9 }, () => now],
    ['no content that is what it was', ['content'], { content: '' }, () => now],
    [
      'content, to where it is told to',
      ['content', 'update_time'],
      { content: 'new', update_time: 9 },
      () => 9,
    ],
  ])('moves the time of update with %s', async (_, fields, values, expected) => {
    const view = await make()
    app.clock.advance(60)
    const { memo } = await update(view, fields, values)
    expect(memo.update_time).toBe(expected(now + 60))
  })

  it('publishes an event if something changes', async () => {
    const view = await make({ uid: 'x' })
    await update(view, ['content', 'pinned'], { content: '', pinned: false })
    expect(await eventsOf(bob)).toEqual(['MEMO_CREATED x'])
    await update(view, ['pinned'], { pinned: true })
    expect(await eventsOf(bob)).toEqual(['MEMO_CREATED x', 'MEMO_UPDATED x'])
  })

  it.each<MemoField>(['visibility', 'create_time', 'update_time'])(
    'needs a value of %s to name it',
    async (field) => {
      const view = await make({ content: 'old' })
      await expect(update(view, [field, 'content'], { content: 'new' })).rejects.toMatchObject({
        reason: 'INVALID_FIELD',
        metadata: { field: `memo.${field}` },
      })
      expect((await getMemo(app.db, ANONYMOUS, view.memo.uid)).memo.content).toBe('old')
    },
  )

  it('of all fields leaves out fields that the request does not set', async () => {
    const view = await make({ content: 'old', create_time: 5 })
    const { memo } = await update(view, ALL_FIELDS, { content: 'new' }, true)
    expect(memo).toMatchObject({
      content: 'new',
      visibility: 'PUBLIC',
      create_time: 5,
      update_time: now,
    })
  })

  it('of the visibility changes all comments below, and comments cannot change theirs', async () => {
    const view = await make()
    const comment = await createComment(
      app,
      caller(carol),
      view.memo.uid,
      draft('', { visibility: 'PRIVATE' }),
    )
    const reply = await createComment(app, caller(bob), comment.memo.uid, draft(''))
    const visibilities = async () =>
      (await app.db.selectFrom('memos').select('visibility').orderBy('id').execute()).map(
        ({ visibility }) => visibility,
      )
    await update(reply, ['visibility'], { visibility: 'PRIVATE' })
    await update(reply, ['visibility'], {}, true)
    expect(await visibilities()).toEqual(['PUBLIC', 'PUBLIC', 'PUBLIC'])
    await update(view, ['visibility'], { visibility: 'PROTECTED' })
    expect(await visibilities()).toEqual(['PROTECTED', 'PROTECTED', 'PROTECTED'])
  })

  it('cannot make a memo private with a token for public data only', async () => {
    const { memo } = await make()
    const restricted = tokenCaller(bob, 'all', 'public-only')
    const hide = updateMemo(app, restricted, memo.uid, {
      values: draft('', { visibility: 'PRIVATE' }),
      fields: new Set(['visibility']),
      all: false,
    })
    await expect(hide).rejects.toMatchObject({ reason: 'PUBLIC_ONLY_TOKEN' })
  })
})

describe('deleting', () => {
  /** More levels than a cascade of SQLite supports. */
  const LEVELS = 1500

  async function chainBelow(view: MemoView): Promise<void> {
    let last = view
    for (let i = 0; i < LEVELS; i++) last = await storeMemo(app, i % 2 ? bob : carol, {}, last)
  }

  const remaining = async () =>
    (await app.db.selectFrom('memos').select('uid').orderBy('id').execute()).map(({ uid }) => uid)

  it('a memo deletes all comments below it at any depth, and publishes one event', async () => {
    const view = await make({ uid: 'x' })
    await make({ uid: 'kept' })
    await chainBelow(view)
    await deleteMemo(app, caller(bob), 'x')
    expect(await remaining()).toEqual(['kept'])
    expect(await eventsOf(bob)).toEqual(['MEMO_CREATED x', 'MEMO_CREATED kept', 'MEMO_DELETED x'])
    expect(await eventsOf(carol)).toEqual([])
  })

  it('a comment leaves its parent and its siblings', async () => {
    const view = await make({ uid: 'x' })
    await createComment(app, caller(carol), 'x', draft('', { uid: 'a' }))
    await createComment(app, caller(carol), 'x', draft('', { uid: 'b' }))
    await createComment(app, caller(bob), 'a', draft('', { uid: 'c' }))
    await deleteMemo(app, caller(carol), 'a')
    expect(await remaining()).toEqual(['x', 'b'])
    expect(await getMemo(app.db, ANONYMOUS, 'x')).toEqual(view)
  })

  it('an account deletes its memos and the comments below them, with force only', async () => {
    await storeMemo(app, carol, { uid: 'hers' })
    const mine = await make({ uid: 'mine' })
    await createComment(app, caller(bob), 'hers', draft('', { uid: 'my-comment' }))
    await createComment(app, caller(carol), 'my-comment', draft('', { uid: 'her-reply' }))
    await createComment(app, caller(carol), 'hers', draft('', { uid: 'her-comment' }))
    await chainBelow(mine)
    await expect(deleteUser(app, bob, 'refused')).rejects.toMatchObject({
      reason: 'HAS_ASSOCIATED_DATA',
      metadata: { name: 'users/bob' },
    })
    await deleteUser(app, bob, 'deleted')
    expect(await remaining()).toEqual(['hers', 'her-comment'])
    await expect(deleteUser(app, carol, 'refused')).rejects.toMatchObject({
      reason: 'HAS_ASSOCIATED_DATA',
    })
  })

  it('an account needs no force when it has no memos', async () => {
    await make({ uid: 'x' })
    await deleteMemo(app, caller(bob), 'x')
    await deleteUser(app, bob, 'refused')
    await expect(getMemo(app.db, reader(carol), 'x')).rejects.toMatchObject({
      reason: 'MEMO_NOT_FOUND',
    })
  })
})
