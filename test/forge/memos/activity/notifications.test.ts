import { beforeEach, describe, expect, it } from 'vitest'
import { deleteUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import {
  deleteNotification,
  findNotification,
  listNotifications,
  notifyUsers,
  setNotificationStatus,
} from '../../../../src/forge/memos/activity/notifications.ts'
import type { MemoEvent, MemoView } from '../../../../src/forge/memos/memo-view.ts'
import type { Memo } from '../../../../src/forge/memos/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { storeMemo } from '../../../support/memo-rows.ts'

let app: TestApp
let ada: User
let bob: User
let carol: User
let everyone: readonly User[]

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'Ada')
  bob = await addUser(app, 'bob')
  carol = await addUser(app, 'carol')
  const dan = await addUser(app, 'dan', { state: 'ARCHIVED' })
  everyone = [ada, bob, carol, dan]
})

async function tell(event: Partial<MemoEvent> & Pick<MemoEvent, 'view'>): Promise<void> {
  const whole: MemoEvent = {
    type: 'memo.created',
    previousContent: undefined,
    commentedOn: undefined,
    timeMs: app.clock.now(),
    ...event,
  }
  await transaction(app.db, (tx) => notifyUsers(app, tx, whole))
}

/** Stores a memo, or a comment when it has a parent, and publishes the event. */
async function post(
  creator: User,
  content: string,
  fields: Partial<Memo> = {},
  parent?: MemoView,
): Promise<MemoView> {
  const view = await storeMemo(app, creator, { content, ...fields }, parent)
  await tell({ view, commentedOn: parent })
  return view
}

async function edit(view: MemoView, content: string): Promise<MemoView> {
  const edited = { ...view, memo: { ...view.memo, content } }
  await app.db.updateTable('memos').set({ content }).where('id', '=', view.memo.id).execute()
  await tell({ type: 'memo.updated', view: edited, previousContent: view.memo.content })
  return edited
}

const inbox = async (user: User) =>
  (await listNotifications(app, user, [], undefined, 1000)).notifications

/** Returns the notifications as texts, for example `bob: MEMO_MENTION by Ada`. */
async function told(): Promise<string[]> {
  const inboxes = await Promise.all(
    everyone.map(async (user) =>
      (await inbox(user)).map(
        (view) => `${user.username}: ${view.notification.type} by ${view.sender.username}`,
      ),
    ),
  )
  return inboxes.flat()
}

describe('a comment', () => {
  it('notifies the creator of the memo', async () => {
    const memo = await post(ada, 'memo')
    const comment = await post(bob, 'comment', {}, memo)
    const [view] = await inbox(ada)
    expect(view?.notification).toMatchObject({
      type: 'MEMO_COMMENT',
      status: 'UNREAD',
      memo_id: comment.memo.id,
    })
    expect(view?.sender.id).toBe(bob.id)
    expect(view?.payload).toMatchObject({
      memo: { snippet: 'comment' },
      relatedMemo: { snippet: 'memo' },
    })
    expect(await told()).toEqual(['Ada: MEMO_COMMENT by bob'])
  })

  it('on a comment notifies the creator of that comment', async () => {
    const comment = await storeMemo(app, bob, {}, await storeMemo(app, ada))
    await post(carol, 'reply', {}, comment)
    expect(await told()).toEqual(['bob: MEMO_COMMENT by carol'])
  })

  it('on one’s own memo notifies no one', async () => {
    await post(ada, 'comment', {}, await storeMemo(app, ada))
    expect(await told()).toEqual([])
  })

  it('that mentions the creator of the memo notifies that user once', async () => {
    await post(bob, '@ada @carol', {}, await storeMemo(app, ada))
    expect(await told()).toEqual(['Ada: MEMO_COMMENT by bob', 'carol: MEMO_MENTION by bob'])
  })

  it('does not notify users who can no longer read it', async () => {
    const root = await storeMemo(app, ada, { visibility: 'PRIVATE' })
    // Bob commented while the memo was public.
    const comment = await storeMemo(app, bob, {}, root)
    await post(ada, 'comment', {}, comment)
    expect(await told()).toEqual([])
  })

  it('does not notify archived accounts', async () => {
    const [, , , dan] = everyone
    const memo = await storeMemo(app, dan ?? ada)
    await post(bob, 'comment', {}, memo)
    expect(await told()).toEqual([])
  })
})

describe('a mention', () => {
  it.each([
    ['hello @bob', ['bob: MEMO_MENTION by Ada'], 'one'],
    ['@BOB and @bob', ['bob: MEMO_MENTION by Ada'], 'twice, in any case'],
    ['@bob @carol', ['bob: MEMO_MENTION by Ada', 'carol: MEMO_MENTION by Ada'], 'of two'],
    ['@ada', [], 'of oneself'],
    ['@dan', [], 'of an archived account'],
    ['@nobody', [], 'of nobody'],
    ['`@bob`', [], 'in code'],
    ['bob@carol', [], 'that is none'],
  ])('in %j notifies %j: %s', async (content, notifications) => {
    await post(ada, content)
    expect(await told()).toEqual(notifications)
  })

  it.each([
    ['PUBLIC', 'NORMAL', true],
    ['PROTECTED', 'NORMAL', true],
    ['PRIVATE', 'NORMAL', false],
    ['PUBLIC', 'ARCHIVED', false],
  ] as const)('in a memo that is %s and %s notifies: %s', async (visibility, state, notifies) => {
    await post(ada, '@bob', { visibility, state })
    expect(await told()).toEqual(notifies ? ['bob: MEMO_MENTION by Ada'] : [])
  })

  it.each([
    ['an archived memo', { state: 'ARCHIVED' }],
    ['a private memo', { visibility: 'PRIVATE' }],
  ] as const)('in a comment on %s notifies only who can read that', async (_, fields) => {
    await post(carol, '@ada @bob', {}, await storeMemo(app, ada, fields))
    expect(await told()).toEqual(['Ada: MEMO_COMMENT by carol'])
  })

  it('in a reply notifies no one when the comment replied to is archived', async () => {
    const comment = await storeMemo(app, bob, { state: 'ARCHIVED' }, await storeMemo(app, ada))
    await post(bob, '@carol', {}, comment)
    expect(await told()).toEqual([])
  })

  it('refers to a username, not to the chosen id of an account', async () => {
    const eve = await addUser(app, 'eve', { user_id: 'boss' })
    await post(ada, '@boss')
    expect(await inbox(eve)).toEqual([])
  })

  it('in an edit notifies only users who were not mentioned before', async () => {
    const memo = await post(ada, '@bob')
    await edit(memo, '@bob again, and @Bob and @carol')
    expect(await told()).toEqual(['bob: MEMO_MENTION by Ada', 'carol: MEMO_MENTION by Ada'])
  })

  it('in an edited comment notifies only users who can read the memo commented on', async () => {
    const comment = await post(
      carol,
      'hm',
      {},
      await storeMemo(app, ada, { visibility: 'PROTECTED' }),
    )
    const edited = await edit(comment, '@bob')
    expect(await told()).toEqual(['Ada: MEMO_COMMENT by carol', 'bob: MEMO_MENTION by carol'])
    await app.db
      .updateTable('memos')
      .set({ state: 'ARCHIVED' })
      .where('id', '=', comment.memo.parent_id)
      .execute()
    const dora = await addUser(app, 'dora')
    await edit(edited, '@bob @dora')
    expect(await inbox(dora)).toEqual([])
  })

  it('in an edit by an administrator has the author as sender', async () => {
    await edit(await post(bob, ''), '@ada @bob')
    expect(await told()).toEqual(['Ada: MEMO_MENTION by bob'])
  })

  it('in a deleted memo notifies no one', async () => {
    await tell({ type: 'memo.deleted', view: await storeMemo(app, ada, { content: '@bob' }) })
    expect(await told()).toEqual([])
  })

  it('notifies a limited number of users', async () => {
    const others = Array.from({ length: 500 }, (_, i) => `@nobody${i}`).join(' ')
    await post(ada, `@carol ${others} @bob`)
    expect(await told()).toEqual(['carol: MEMO_MENTION by Ada'])
  })

  it('is undone when the transaction is rolled back', async () => {
    const view = await storeMemo(app, ada, { content: '@bob' })
    const event: MemoEvent = {
      type: 'memo.created',
      view,
      previousContent: undefined,
      commentedOn: undefined,
      timeMs: app.clock.now(),
    }
    const change = transaction(app.db, async (tx) => {
      await notifyUsers(app, tx, event)
      throw new Error('half way')
    })
    await expect(change).rejects.toThrow('half way')
    expect(await told()).toEqual([])
  })
})

describe('the payload of a notification', () => {
  it('of a mention in a memo is that memo', async () => {
    const { memo } = await post(ada, 'hello @bob')
    const [view] = await inbox(bob)
    expect(view?.payload?.memo).toMatchObject({ uid: memo.uid, snippet: 'hello @bob' })
    expect(view?.payload?.relatedMemo).toBeUndefined()
  })

  it('of a mention in a comment also has the memo commented on', async () => {
    const memo = await storeMemo(app, ada, { content: 'memo' })
    await post(carol, 'hello @bob', {}, memo)
    expect((await inbox(bob))[0]?.payload?.relatedMemo).toMatchObject({
      uid: memo.memo.uid,
      snippet: 'memo',
    })
  })

  it.each([
    ['deleted', (id: number) => app.db.deleteFrom('memos').where('id', '=', id).execute()],
    [
      'private',
      (id: number) =>
        app.db.updateTable('memos').set({ visibility: 'PRIVATE' }).where('id', '=', id).execute(),
    ],
    [
      'archived',
      (id: number) =>
        app.db.updateTable('memos').set({ state: 'ARCHIVED' }).where('id', '=', id).execute(),
    ],
  ])('is nothing once the memo is %s; the notification stays', async (_, change) => {
    const { memo } = await post(ada, '@bob')
    await change(memo.id)
    const [view] = await inbox(bob)
    expect(view?.notification.type).toBe('MEMO_MENTION')
    expect(view?.payload).toBeUndefined()
  })

  it('of a comment is empty once the receiver cannot read one of the two memos', async () => {
    const comment = await storeMemo(app, bob, {}, await storeMemo(app, ada))
    const reply = await post(carol, '@ada', {}, comment)
    await app.db
      .updateTable('memos')
      .set({ state: 'ARCHIVED' })
      .where('id', '=', comment.memo.id)
      .execute()
    // A mention loses only the memo commented on.
    expect((await inbox(ada))[0]?.payload).toMatchObject({
      memo: { uid: reply.memo.uid },
      relatedMemo: undefined,
    })
    await app.db
      .updateTable('memos')
      .set({ state: 'ARCHIVED' })
      .where('id', '=', reply.memo.id)
      .execute()
    expect((await inbox(bob))[0]?.payload).toBeUndefined()
  })

  it('is deleted with the account that caused the notification', async () => {
    await post(ada, '@bob')
    await transaction(app.db, (tx) => deleteUser(tx, ada.id))
    expect(await inbox(bob)).toEqual([])
  })

  it('needs a constant number of queries', async () => {
    const queriesFor = async (limit: number) => {
      let queries = 0
      const counting = app.db.withPlugin({
        transformQuery({ node }) {
          queries++
          return node
        },
        transformResult: async ({ result }) => result,
      })
      const { notifications } = await listNotifications(
        { ...app, db: counting },
        bob,
        [],
        undefined,
        limit,
      )
      expect(notifications).toHaveLength(limit)
      return queries
    }
    const memo = await storeMemo(app, bob)
    for (const sender of [ada, carol, ada, carol]) await post(sender, '', {}, memo)
    expect(await queriesFor(4)).toBe(await queriesFor(1))
  })
})

describe('listNotifications', () => {
  async function pages(
    size: number,
    between: () => Promise<unknown> = async () => {},
  ): Promise<number[][]> {
    const all: number[][] = []
    let after: Parameters<typeof listNotifications>[3]
    do {
      const page = await listNotifications(app, bob, [], after, size)
      all.push(page.notifications.map(({ notification }) => notification.id))
      after = page.next
      await between()
    } while (after)
    return all
  }

  it('pages through the notifications of one account, newest first', async () => {
    for (let i = 0; i < 4; i++) await post(ada, '@bob @carol')
    app.clock.advance(-60)
    await post(ada, '@bob')
    const ids = (await inbox(bob)).map(({ notification }) => notification.id)
    // The last notification is older. Those of the same time are sorted by descending number.
    expect(ids).toEqual([...ids.slice(0, 4).sort((a, b) => b - a), Math.max(...ids)])
    expect(await pages(2)).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])
    expect(await pages(5)).toEqual([ids])
  })

  it('repeats and skips nothing while notifications are created and deleted', async () => {
    for (let i = 0; i < 6; i++) await post(ada, '@bob')
    const ids = (await inbox(bob)).map(({ notification }) => notification.id)
    const walked = await pages(2, async () => {
      const [newest] = await inbox(bob)
      await deleteNotification(app, bob, newest?.notification.id ?? 0)
      await post(ada, '@bob')
    })
    expect(walked.flat()).toEqual(ids)
  })
})

describe('a change of a notification', () => {
  const events = (user: User) =>
    app.db
      .selectFrom('user_events')
      .select(['type', 'resource'])
      .where('user_id', '=', user.id)
      .orderBy('id')
      .execute()

  it('is an event for watchers, as are the creation and the deletion', async () => {
    await post(ada, '@bob')
    const [view] = await inbox(bob)
    const id = view?.notification.id ?? 0
    expect((await setNotificationStatus(app, bob, id, 'ARCHIVED'))?.notification.status).toBe(
      'ARCHIVED',
    )
    // No change, no event.
    expect((await setNotificationStatus(app, bob, id, 'ARCHIVED'))?.notification.status).toBe(
      'ARCHIVED',
    )
    expect((await setNotificationStatus(app, bob, id, 'UNREAD'))?.notification.status).toBe(
      'UNREAD',
    )
    const before = app.signals.events.count
    expect(await deleteNotification(app, bob, id)).toBe(true)
    expect(app.signals.events.count).toBeGreaterThan(before)
    expect(await events(bob)).toEqual(
      [
        'NOTIFICATION_CREATED',
        'NOTIFICATION_UPDATED',
        'NOTIFICATION_UPDATED',
        'NOTIFICATION_DELETED',
      ].map((type) => ({
        type,
        resource: String(id),
      })),
    )
  })

  it('is possible for its receiver only', async () => {
    await post(ada, '@bob')
    const [view] = await inbox(bob)
    const id = view?.notification.id ?? 0
    expect(await findNotification(app, ada, id)).toBeUndefined()
    expect(await setNotificationStatus(app, ada, id, 'ARCHIVED')).toBeUndefined()
    expect(await deleteNotification(app, ada, id)).toBe(false)
    expect((await findNotification(app, bob, id))?.notification.status).toBe('UNREAD')
    expect(await events(ada)).toEqual([])
  })

  it('never reuses a number', async () => {
    await post(ada, '@bob')
    const [first] = await inbox(bob)
    await deleteNotification(app, bob, first?.notification.id ?? 0)
    await post(ada, '@bob')
    const [second] = await inbox(bob)
    expect(second?.notification.id).toBeGreaterThan(first?.notification.id ?? 0)
  })
})
