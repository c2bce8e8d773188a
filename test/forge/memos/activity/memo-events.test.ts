import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { User } from '../../../../src/forge/core/schema.ts'
import {
  listWebhookDeliveries,
  queueDeliveries,
  redeliver,
  testWebhook,
} from '../../../../src/forge/memos/activity/memo-events.ts'
import type { MemoEvent } from '../../../../src/forge/memos/memo-view.ts'
import { disableUserWebhook } from '../../../../src/forge/webhooks/registration/account-webhooks.rows.ts'
import {
  createUserWebhook,
  deleteUserWebhook,
  updateUserWebhook,
} from '../../../../src/forge/webhooks/registration/account-webhooks.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { storeMemo } from '../../../support/memo-rows.ts'

const NAMES = { webhook: 'users/ada/webhooks/0', delivery: 'users/ada/webhooks/0/deliveries/1' }

let app: TestApp
let ada: User
let bob: User

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
  bob = await addUser(app, 'bob', { user_id: 'bob-1' })
})
afterEach(() => app.db.destroy())

const addWebhook = (owner: User) =>
  createUserWebhook(app, owner, {
    url: 'http://127.0.0.1:9/',
    display_name: '',
    signing_secret: '',
  })

type Told = Pick<MemoEvent, 'type' | 'view'> & Partial<MemoEvent>

/** Queues deliveries for a change, in a transaction. */
const tell = (event: Told) =>
  transaction(app.db, (tx) =>
    queueDeliveries(app, tx, {
      previousContent: undefined,
      commentedOn: undefined,
      timeMs: app.clock.now(),
      ...event,
    }),
  )

/** Returns the types of the events that are pending for the webhooks of an account, by webhook. */
async function queuedFor(owner: User): Promise<string[][]> {
  const webhooks = await app.db
    .selectFrom('user_webhooks')
    .selectAll()
    .where('user_id', '=', owner.id)
    .orderBy('id')
    .execute()
  return Promise.all(
    webhooks.map(async (webhook) => {
      const { deliveries } = await listWebhookDeliveries(app, webhook, undefined, 1000)
      return deliveries.map(({ event_type }) => event_type).reverse()
    }),
  )
}

describe('queueDeliveries', () => {
  it('queues a delivery with a new id for each webhook of the creator', async () => {
    const [first, second] = [await addWebhook(bob), await addWebhook(bob)]
    const view = await storeMemo(app, bob, { uid: 'm1', content: 'new' })
    await tell({ type: 'memo.updated', view, timeMs: app.clock.now() - 1500 })
    const deliveries = await Promise.all(
      [first, second].map(
        async (webhook) => (await listWebhookDeliveries(app, webhook, undefined, 9)).deliveries,
      ),
    )
    expect(deliveries.flat()).toHaveLength(2)
    for (const { uid, body, ...rest } of deliveries.flat()) {
      expect(uid).toMatch(/^msg_[0-9a-f]{32}$/)
      expect(JSON.parse(body)).toEqual({
        type: 'memo.updated',
        timestamp: '2026-05-01T09:59:58.500Z',
        activityType: 'memos.memo.updated',
        creator: 'users/bob-1',
        memo: JSON.parse(app.payloads.memo(view)),
      })
      expect(rest).toMatchObject({
        state: 'PENDING',
        event_type: 'memo.updated',
        next_attempt_time: app.clock.now(),
      })
    }
    expect(new Set(deliveries.flat().map(({ uid }) => uid)).size).toBe(2)
  })

  it.each([
    ['memo.created', 'memos.memo.created'],
    ['memo.updated', 'memos.memo.updated'],
    ['memo.deleted', 'memos.memo.deleted'],
  ] as const)('tells the creator alone of %s', async (type, activityType) => {
    const webhook = await addWebhook(ada)
    await addWebhook(bob)
    await tell({ type, view: await storeMemo(app, ada) })
    expect([await queuedFor(ada), await queuedFor(bob)]).toEqual([[[type]], [[]]])
    const { deliveries } = await listWebhookDeliveries(app, webhook, undefined, 1)
    expect(JSON.parse(deliveries[0]?.body ?? '')).toMatchObject({ type, activityType })
  })

  it('notifies the creator of a comment and the creator of the memo commented on', async () => {
    await addWebhook(ada)
    await addWebhook(bob)
    const memo = await storeMemo(app, ada)
    await tell({
      type: 'memo.created',
      view: await storeMemo(app, bob, {}, memo),
      commentedOn: memo,
    })
    expect([await queuedFor(ada), await queuedFor(bob)]).toEqual([
      [['memo.comment.created']],
      [['memo.created']],
    ])
    const own = await storeMemo(app, ada, {}, memo)
    await tell({ type: 'memo.created', view: own, commentedOn: memo })
    expect(await queuedFor(ada)).toEqual([
      ['memo.comment.created', 'memo.created', 'memo.comment.created'],
    ])
  })

  it('names the creator of a comment, and its activity', async () => {
    const webhook = await addWebhook(ada)
    const memo = await storeMemo(app, ada)
    await tell({
      type: 'memo.created',
      view: await storeMemo(app, bob, {}, memo),
      commentedOn: memo,
    })
    const { deliveries } = await listWebhookDeliveries(app, webhook, undefined, 1)
    expect(JSON.parse(deliveries[0]?.body ?? '')).toMatchObject({
      activityType: 'memos.memo.comment.created',
      creator: 'users/bob-1',
    })
  })

  it('notifies only the creator when a comment changes', async () => {
    await addWebhook(ada)
    const memo = await storeMemo(app, ada)
    await tell({
      type: 'memo.deleted',
      view: await storeMemo(app, bob, {}, memo),
      commentedOn: memo,
    })
    expect(await queuedFor(ada)).toEqual([[]])
  })

  it('does not notify the creator of the memo when that user can no longer read it', async () => {
    await addWebhook(bob)
    const root = await storeMemo(app, ada, { visibility: 'PRIVATE' })
    const comment = await storeMemo(app, bob, {}, root)
    await tell({
      type: 'memo.created',
      view: await storeMemo(app, ada, {}, comment),
      commentedOn: comment,
    })
    expect(await queuedFor(bob)).toEqual([[]])
  })

  it('skips archived accounts and disabled webhooks', async () => {
    const carol = await addUser(app, 'carol', { state: 'ARCHIVED' })
    await addWebhook(carol)
    const { id, url } = await addWebhook(ada)
    await transaction(app.db, (tx) => disableUserWebhook(tx, id, url))
    const memo = await storeMemo(app, carol)
    await tell({
      type: 'memo.created',
      view: await storeMemo(app, ada, {}, memo),
      commentedOn: memo,
    })
    expect([await queuedFor(carol), await queuedFor(ada)]).toEqual([[[]], [[]]])
    expect(await app.db.selectFrom('webhook_messages').select('id').execute()).toEqual([])
  })

  it('is undone when the change is rolled back', async () => {
    await addWebhook(ada)
    const view = await storeMemo(app, ada)
    const change = transaction(app.db, async (tx) => {
      const event = {
        type: 'memo.updated',
        view,
        previousContent: '',
        commentedOn: undefined,
        timeMs: 0,
      } as const
      await queueDeliveries(app, tx, event)
      throw new Error('no')
    })
    await expect(change).rejects.toThrow('no')
    expect(await queuedFor(ada)).toEqual([[]])
    expect(
      (await app.db.selectFrom('user_webhooks').selectAll().executeTakeFirst())?.next_attempt_time,
    ).toBeNull()
  })
})

describe('listWebhookDeliveries', () => {
  it('pages newest first', async () => {
    const webhook = await addWebhook(ada)
    const made = []
    for (let i = 0; i < 3; i++) made.unshift(await testWebhook(app, ada, webhook, NAMES.webhook))
    const first = await listWebhookDeliveries(app, webhook, undefined, 2)
    const second = await listWebhookDeliveries(app, webhook, first.deliveries[1]?.id, 2)
    expect([first, second]).toEqual([
      { deliveries: made.slice(0, 2), more: true },
      { deliveries: made.slice(2), more: false },
    ])
  })
})

describe('testWebhook', () => {
  it('queues a message of type test, and returns the delivery', async () => {
    const seen = app.signals.deliveries.count
    const delivery = await testWebhook(app, bob, await addWebhook(bob), NAMES.webhook)
    expect(delivery).toMatchObject({ event_type: 'test', state: 'PENDING', attempt_count: 0 })
    expect(JSON.parse(delivery.body)).toEqual({
      type: 'test',
      timestamp: '2026-05-01T10:00:00.000Z',
      creator: 'users/bob-1',
    })
    expect(app.signals.deliveries.count).toBe(seen + 1)
  })
})

describe('a disabled webhook', () => {
  it('can be neither tested nor redelivered', async () => {
    const webhook = await addWebhook(ada)
    const { uid } = await testWebhook(app, ada, webhook, NAMES.webhook)
    await transaction(app.db, (tx) => disableUserWebhook(tx, webhook.id, webhook.url))
    const refused = { reason: 'WEBHOOK_DISABLED', metadata: { name: NAMES.webhook } }
    await expect(testWebhook(app, ada, webhook, NAMES.webhook)).rejects.toMatchObject(refused)
    await expect(redeliver(app, webhook, uid, NAMES)).rejects.toMatchObject(refused)
    await updateUserWebhook(app, webhook, { url: webhook.url }, NAMES.webhook)
    await expect(redeliver(app, webhook, uid, NAMES)).resolves.toBeDefined()
  })
})

describe('a webhook that is deleted concurrently', () => {
  it('is not found', async () => {
    const webhook = await addWebhook(ada)
    const { uid } = await testWebhook(app, ada, webhook, NAMES.webhook)
    await deleteUserWebhook(app, ada, webhook.uid)
    const gone = { reason: 'WEBHOOK_NOT_FOUND', metadata: { name: NAMES.webhook } }
    await expect(testWebhook(app, ada, webhook, NAMES.webhook)).rejects.toMatchObject(gone)
    await expect(redeliver(app, webhook, uid, NAMES)).rejects.toMatchObject({
      reason: 'WEBHOOK_DELIVERY_NOT_FOUND',
    })
  })
})

describe('redeliver', () => {
  it('finds deliveries of this webhook only', async () => {
    const [webhook, other] = [await addWebhook(ada), await addWebhook(ada)]
    const { uid } = await testWebhook(app, ada, other, NAMES.webhook)
    await expect(redeliver(app, webhook, uid, NAMES)).rejects.toMatchObject({
      reason: 'WEBHOOK_DELIVERY_NOT_FOUND',
      metadata: { name: NAMES.delivery },
    })
  })
})
