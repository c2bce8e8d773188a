import { beforeEach, describe, expect, it } from 'vitest'
import type { User } from '../../../src/forge/core/schema.ts'
import type { MemoReader } from '../../../src/forge/memos/memo-access.ts'
import { readMemoOrder } from '../../../src/forge/memos/memo-list.ts'
import type { MemoDraft, MemoField } from '../../../src/forge/memos/memo-values.ts'
import { readableSnippet } from '../../../src/forge/memos/memo-view.ts'
import {
  createComment,
  createMemo,
  getMemo,
  listMemoComments,
  updateMemo,
} from '../../../src/forge/memos/memos.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { ANONYMOUS, caller, draft, reader, tokenCaller } from './test-users.ts'

let app: TestApp
let bob: User
let carol: User

beforeEach(async () => {
  app = await testApp()
  bob = await addUser(app, 'bob')
  carol = await addUser(app, 'carol')
  await createMemo(app, caller(bob), draft('Top', { uid: 'top', visibility: 'PUBLIC' }))
})

const comment = (author: User, on: string, uid: string, fields: Partial<MemoDraft> = {}) =>
  createComment(app, caller(author), on, draft(`About ${on}`, { uid, ...fields }))
const change = (author: User, field: MemoField, uid: string, fields: Partial<MemoDraft>) =>
  updateMemo(app, caller(author), uid, {
    values: draft('', fields),
    fields: new Set([field]),
    all: false,
  })
const commentsFor = async (who: MemoReader, uid: string) =>
  (
    await listMemoComments(app, who, uid, {
      order: readMemoOrder('name asc'),
      after: undefined,
      limit: 10,
    })
  ).memos.map(({ memo }) => memo.uid)

describe('a comment', () => {
  it('has the memo as parent and its visibility, and notifies the creator of the memo', async () => {
    const { memo, parent } = await comment(carol, 'top', 'a', { visibility: 'PRIVATE' })
    expect(memo).toMatchObject({ visibility: 'PUBLIC', root_creator_id: bob.id })
    expect(parent).toMatchObject({ uid: 'top', snippet: 'Top' })
    const events = await app.db
      .selectFrom('user_events')
      .selectAll()
      .where('resource', '=', 'a')
      .orderBy('id')
      .execute()
    expect(events.map(({ user_id, type }) => [user_id, type])).toEqual([
      [carol.id, 'MEMO_CREATED'],
      [bob.id, 'MEMO_COMMENT_CREATED'],
    ])
    const notifications = await app.db.selectFrom('notifications').selectAll().execute()
    expect(notifications).toEqual([
      expect.objectContaining({ receiver_id: bob.id, type: 'MEMO_COMMENT' }),
    ])
  })

  it('can be commented on, and the list of a memo contains its direct comments only', async () => {
    await comment(carol, 'top', 'a')
    await comment(bob, 'a', 'b')
    await comment(bob, 'top', 'c')
    expect(await commentsFor(ANONYMOUS, 'top')).toEqual(['a', 'c'])
    expect(await commentsFor(ANONYMOUS, 'a')).toEqual(['b'])
  })

  it('is rejected on a memo that its author cannot read, before its content is analyzed', async () => {
    await change(bob, 'visibility', 'top', { visibility: 'PRIVATE' })
    const long = 'x'.repeat(10_000)
    const made = createComment(app, caller(carol), 'top', draft(long))
    await expect(made).rejects.toMatchObject({ reason: 'PERMISSION_DENIED' })
    await expect(createComment(app, caller(carol), 'none', draft(long))).rejects.toMatchObject({
      reason: 'MEMO_NOT_FOUND',
    })
    await expect(createComment(app, caller(bob), 'top', draft(long))).rejects.toMatchObject({
      reason: 'INVALID_FIELD',
      metadata: { field: 'comment.content' },
    })
    const restricted = tokenCaller(bob, 'all', 'public-only')
    await expect(createComment(app, restricted, 'top', draft(''))).rejects.toMatchObject({
      reason: 'PUBLIC_ONLY_TOKEN',
    })
  })

  it('is rejected on or below an archived memo', async () => {
    await comment(bob, 'top', 'a')
    await change(bob, 'state', 'top', { state: 'ARCHIVED' })
    for (const on of ['top', 'a']) {
      await expect(comment(bob, on, 'b')).rejects.toMatchObject({ reason: 'MEMO_ARCHIVED' })
      await expect(comment(carol, on, 'b')).rejects.toMatchObject({ reason: 'MEMO_NOT_FOUND' })
    }
  })

  it('is not listed once it is archived, and only its author sees its content', async () => {
    await comment(carol, 'top', 'a')
    await comment(bob, 'a', 'b')
    await change(carol, 'state', 'a', { state: 'ARCHIVED' })
    expect(await commentsFor(reader(carol), 'top')).toEqual([])
    const reply = await getMemo(app.db, ANONYMOUS, 'b')
    expect(readableSnippet(reply, ANONYMOUS)).toBeUndefined()
    expect(readableSnippet(reply, reader(bob))).toBeUndefined()
    expect(readableSnippet(reply, reader(carol))).toBe('About top')
  })
})
