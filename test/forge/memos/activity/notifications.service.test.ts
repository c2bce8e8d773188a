import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  UserNotification_Status as Status,
  UserNotification_Type as Type,
  type UserNotification,
  UserNotificationSchema,
} from '#gen/branchline/v1/user_notification_pb.ts'
import {
  DeleteUserNotificationRequestSchema,
  ListUserNotificationsRequestSchema,
  type ListUserNotificationsResponse,
  ListUserNotificationsResponseSchema,
  UpdateUserNotificationRequestSchema,
  UserService,
} from '#gen/branchline/v1/user_service_pb.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { notificationMethods } from '../../../../src/forge/memos/activity/notifications.service.ts'
import { notifyUsers } from '../../../../src/forge/memos/activity/notifications.ts'
import type { MemoView } from '../../../../src/forge/memos/memo-view.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, LOCAL_PEER, type TestApp, testApp } from '../../../support/app.ts'
import { callContext } from '../../../support/call.ts'
import { storeMemo } from '../../../support/memo-rows.ts'

let app: TestApp
let ada: User
let bob: User

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'Ada', {
    user_id: 'ada-1',
    email: 'ada@example.org',
    email_key: 'ada@example.org',
  })
  bob = await addUser(app, 'bob', { email: 'bob@example.org', email_key: 'bob@example.org' })
})

function contextOf(method: (typeof UserService.methods)[number], user: User) {
  const caller = { kind: 'user', peer: LOCAL_PEER, user, credential: { kind: 'password' } } as const
  return callContext(method, { caller, owner: user })
}

async function list(
  input: MessageInitShape<typeof ListUserNotificationsRequestSchema> = {},
  user = ada,
): Promise<ListUserNotificationsResponse> {
  const context = contextOf(UserService.method.listUserNotifications, user)
  const request = create(ListUserNotificationsRequestSchema, input)
  const answer = await notificationMethods(app).listUserNotifications(request, context)
  return create(ListUserNotificationsResponseSchema, answer)
}

async function update(
  notification: MessageInitShape<typeof UserNotificationSchema> | undefined,
  paths: string[],
  user = ada,
): Promise<UserNotification> {
  const context = contextOf(UserService.method.updateUserNotification, user)
  const request = create(UpdateUserNotificationRequestSchema, {
    ...(notification && { notification }),
    updateMask: { paths },
  })
  return create(
    UserNotificationSchema,
    await notificationMethods(app).updateUserNotification(request, context),
  )
}

async function remove(name: string, user = ada): Promise<void> {
  const context = contextOf(UserService.method.deleteUserNotification, user)
  const request = create(DeleteUserNotificationRequestSchema, { name })
  await notificationMethods(app).deleteUserNotification(request, context)
}

/** Bob comments on Ada's memo, or mentions her in a memo. */
async function bobWrites(content: string, commentedOn?: MemoView): Promise<MemoView> {
  const view = await storeMemo(app, bob, { content }, commentedOn)
  const timeMs = app.clock.now()
  await transaction(app.db, (tx) =>
    notifyUsers(app, tx, {
      type: 'memo.created',
      view,
      previousContent: undefined,
      commentedOn,
      timeMs,
    }),
  )
  return view
}

const names = async (filter = '') => (await list({ filter })).notifications.map(({ name }) => name)

describe('ListUserNotifications', () => {
  it('returns an empty list', async () => {
    expect(await list()).toMatchObject({ notifications: [], nextPageToken: '' })
  })

  it('shows the sender and the comment', async () => {
    const memo = await storeMemo(app, ada, { content: 'a memo' })
    const comment = await bobWrites('a comment', memo)
    const [notification] = (await list()).notifications
    expect(notification).toMatchObject({
      name: expect.stringMatching(/^users\/ada-1\/notifications\/[0-9]+$/),
      sender: 'users/bob',
      status: Status.UNREAD,
      type: Type.MEMO_COMMENT,
      createTime: { seconds: BigInt(app.clock.now() / 1000), nanos: 0 },
    })
    expect(notification?.payload).toMatchObject({
      case: 'memoComment',
      value: {
        memo: `memos/${comment.memo.uid}`,
        memoSnippet: 'a comment',
        relatedMemo: `memos/${memo.memo.uid}`,
        relatedMemoSnippet: 'a memo',
      },
    })
  })

  it('shows the memo of a mention', async () => {
    const { memo } = await bobWrites('hello @ada')
    const [notification] = (await list()).notifications
    expect(notification?.type).toBe(Type.MEMO_MENTION)
    expect(notification?.payload).toMatchObject({
      case: 'memoMention',
      value: {
        memo: `memos/${memo.uid}`,
        memoSnippet: 'hello @ada',
        relatedMemo: '',
        relatedMemoSnippet: '',
      },
    })
  })

  it('omits the payload of a deleted memo, but not the type', async () => {
    const { memo } = await bobWrites('hello @ada')
    await app.db.deleteFrom('memos').where('id', '=', memo.id).execute()
    const [notification] = (await list()).notifications
    expect(notification).toMatchObject({ type: Type.MEMO_MENTION, payload: { case: undefined } })
  })

  it('shows the sender as the receiver sees that account', async () => {
    await bobWrites('hello @ada')
    expect((await list()).notifications[0]?.senderUser).toMatchObject({
      name: 'users/bob',
      email: '',
    })
    await app.db.updateTable('users').set({ role: 'ADMIN' }).where('id', '=', ada.id).execute()
    const seen = (await list({}, { ...ada, role: 'ADMIN' })).notifications[0]?.senderUser
    expect(seen).toMatchObject({ name: 'users/bob', email: 'bob@example.org' })
  })

  it('filters', async () => {
    const memo = await storeMemo(app, ada)
    await bobWrites('a comment', memo)
    app.clock.advance(3600)
    await bobWrites('hello @ada')
    const [mention = '', comment = ''] = await names()
    await update({ name: mention, status: Status.ARCHIVED }, ['status'])
    expect(await names('status == "UNREAD"')).toEqual([comment])
    expect(await names('status != "UNREAD"')).toEqual([mention])
    expect(await names('type == "MEMO_MENTION"')).toEqual([mention])
    expect(await names('sender == "users/BOB"')).toEqual([mention, comment])
    expect(await names('sender == "users/ada-1"')).toEqual([])
    expect(await names('create_time > now - duration("59m")')).toEqual([mention])
    expect(await names('create_time < timestamp("2026-05-01T10:30:00Z")')).toEqual([comment])
    expect(await names('status == "UNREAD" && type == "MEMO_MENTION"')).toEqual([])
    await expect(list({ filter: 'status == 1' })).rejects.toThrow('INVALID_FILTER')
  })

  it('pages under the same filter and for the same account only', async () => {
    for (const content of ['@ada', '@ada', '@ada']) await bobWrites(content)
    const all = await names()
    const first = await list({ pageSize: 2 })
    expect(first.notifications.map(({ name }) => name)).toEqual(all.slice(0, 2))
    const second = await list({ pageSize: 2, pageToken: first.nextPageToken })
    expect(second.notifications.map(({ name }) => name)).toEqual(all.slice(2))
    expect(second.nextPageToken).toBe('')
    expect((await list({ pageSize: 3 })).nextPageToken).toBe('')
    const pageToken = first.nextPageToken
    await expect(list({ pageToken, filter: 'status == "UNREAD"' })).rejects.toThrow(
      'INVALID_PAGE_TOKEN',
    )
    await expect(list({ pageToken }, bob)).rejects.toThrow('INVALID_PAGE_TOKEN')
    await expect(list({ pageSize: -1 })).rejects.toThrow('INVALID_PAGE_SIZE')
  })

  it('evaluates now on each page of a filter', async () => {
    for (const content of ['@ada', '@ada']) await bobWrites(content)
    const filter = 'create_time > now - duration("1h")'
    const { nextPageToken: pageToken } = await list({ pageSize: 1, filter })
    app.clock.advance(60)
    expect((await list({ pageSize: 1, filter, pageToken })).notifications).toHaveLength(1)
  })
})

describe('UpdateUserNotification', () => {
  let name: string

  beforeEach(async () => {
    await bobWrites('hello @ada')
    ;[name = ''] = await names()
  })

  it('archives a notification, and reverts that', async () => {
    const archived = await update({ name, status: Status.ARCHIVED }, ['status'])
    expect(archived).toMatchObject({ name, status: Status.ARCHIVED, sender: 'users/bob' })
    expect(await names('status == "ARCHIVED"')).toEqual([name])
    expect((await update({ name, status: Status.UNREAD }, ['*'])).status).toBe(Status.UNREAD)
  })

  it('changes nothing else', async () => {
    const updated = await update({ name, type: Type.MEMO_COMMENT, status: Status.ARCHIVED }, [
      'type',
      'create_time',
    ])
    expect(updated).toMatchObject({ type: Type.MEMO_MENTION, status: Status.UNREAD })
  })

  it.each([
    [
      'a status that is not given',
      ['status'],
      { status: Status.STATUS_UNSPECIFIED },
      'INVALID_FIELD',
    ],
    ['a status that does not exist', ['status'], { status: 7 as Status }, 'INVALID_FIELD'],
    ['an empty mask', [], { status: Status.ARCHIVED }, 'EMPTY_MASK'],
    ['an unknown path', ['status', 'receiver'], { status: Status.ARCHIVED }, 'UNKNOWN_MASK_PATH'],
    // The name is looked up before masks and values are read.
    ['a number of nobody', [], { name: 'users/ada-1/notifications/999' }, 'NOTIFICATION_NOT_FOUND'],
    ['a name that is no number', [], { name: 'users/ada-1/notifications/x' }, 'INVALID_NAME'],
    ['a negative number', [], { name: 'users/ada-1/notifications/-1' }, 'INVALID_NAME'],
    [
      'a number beyond counting',
      [],
      { name: `users/ada-1/notifications/${'9'.repeat(30)}` },
      'INVALID_NAME',
    ],
    ['a name of something else', [], { name: 'users/ada-1/webhooks/1' }, 'INVALID_NAME'],
  ])('rejects %s', async (_, paths, fields, reason) => {
    await expect(update({ name, ...fields }, paths)).rejects.toThrow(reason)
    expect((await list()).notifications[0]?.status).toBe(Status.UNREAD)
  })

  it('rejects an update without a notification', async () => {
    await expect(update(undefined, ['status'])).rejects.toThrow('INVALID_FIELD')
  })

  it('does not find the notification of another account', async () => {
    const stolen = name.replace('ada-1', 'bob')
    await expect(
      update({ name: stolen, status: Status.ARCHIVED }, ['status'], bob),
    ).rejects.toThrow('NOTIFICATION_NOT_FOUND')
  })
})

describe('DeleteUserNotification', () => {
  it('deletes a notification once', async () => {
    await bobWrites('hello @ada')
    const [name = ''] = await names()
    await expect(remove(name.replace('ada-1', 'bob'), bob)).rejects.toThrow(
      'NOTIFICATION_NOT_FOUND',
    )
    await remove(name)
    expect(await names()).toEqual([])
    await expect(remove(name)).rejects.toThrow('NOTIFICATION_NOT_FOUND')
    await expect(remove('users/ada-1/notifications/x')).rejects.toThrow('INVALID_NAME')
  })
})
