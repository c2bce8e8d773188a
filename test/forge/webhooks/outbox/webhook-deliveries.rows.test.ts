import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { insertUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import {
  findDelivery,
  findDueDelivery,
  insertDelivery,
  insertMessage,
  listDeliveries,
  pruneFinishedDeliveries,
  recordAttempt,
  requeueDelivery,
  webhookQueue,
} from '../../../../src/forge/webhooks/outbox/webhook-deliveries.rows.ts'
import {
  insertUserWebhook,
  listUserWebhooks,
} from '../../../../src/forge/webhooks/registration/account-webhooks.rows.ts'
import type { WebhookDelivery } from '../../../../src/forge/webhooks/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { WorkInProgress } from '../../../../src/platform/database/due-queue.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db
beforeEach(async () => {
  db = await openTestDatabase()
})
afterEach(() => db.destroy())

const TIMES = { create_time: 0, update_time: 0 }

async function addWebhook(uid: string, username = uid) {
  return transaction(db, async (tx) => {
    const profile = {
      email: '',
      email_key: '',
      display_name: '',
      avatar_url: '',
      description: '',
      password_hash: '',
    }
    const user = {
      user_id: null,
      username,
      ...profile,
      role: 'USER',
      state: 'NORMAL',
      ...TIMES,
    } as const
    const { id: user_id } = await insertUser(tx, user)
    const url = 'http://127.0.0.1/'
    return insertUserWebhook(tx, {
      uid,
      user_id,
      url,
      display_name: '',
      signing_secret: Buffer.of(1),
      ...TIMES,
    })
  })
}

const queue = (webhookId: number, uid: string, dueTime: number) =>
  transaction(db, async (tx) => {
    const message = await insertMessage(tx, { event_type: 'test', body: '{}', create_time: 0 })
    return insertDelivery(tx, webhookId, message, uid, dueTime)
  })

const finish = (webhookId: number, delivery: Pick<WebhookDelivery, 'id' | 'next_attempt_time'>) =>
  transaction(db, (tx) =>
    recordAttempt(tx, webhookId, delivery, {
      state: 'DELIVERED',
      error: '',
      next_attempt_time: null,
    }),
  )

const dueTimeOf = async (userId: number) =>
  (await listUserWebhooks(db, userId))[0]?.next_attempt_time

const NOBODY: WorkInProgress = { ids: [], ownerIds: [] }

describe('the due time of a webhook', () => {
  it('is always that of its first pending delivery', async () => {
    const { id, user_id } = await addWebhook('a')
    const [late, early] = [await queue(id, 'late', 50), await queue(id, 'early', 20)]
    expect(await dueTimeOf(user_id)).toBe(20)
    await finish(id, early)
    expect(await dueTimeOf(user_id)).toBe(50)
    await finish(id, late)
    expect(await dueTimeOf(user_id)).toBeNull()
    await transaction(db, (tx) => requeueDelivery(tx, id, early.id, 70))
    expect(await dueTimeOf(user_id)).toBe(70)
  })

  it('orders the queue, the longest wait first, and predicts the next due time', async () => {
    const [a, b, c] = [await addWebhook('a'), await addWebhook('b'), await addWebhook('c')]
    await queue(a.id, '1', 30)
    await queue(b.id, '2', 10)
    await queue(c.id, '3', 99)
    const due = webhookQueue(db)
    expect(await due.next(30, NOBODY)).toEqual({ id: b.id, ownerId: b.user_id })
    expect(await due.next(30, { ...NOBODY, ids: [b.id] })).toEqual({ id: a.id, ownerId: a.user_id })
    expect(await due.next(30, { ...NOBODY, ownerIds: [b.user_id] })).toEqual({
      id: a.id,
      ownerId: a.user_id,
    })
    expect(await due.next(30, { ids: [b.id], ownerIds: [a.user_id] })).toBeUndefined()
    expect([await due.nextTime(30), await due.nextTime(99)]).toEqual([99, undefined])
    expect((await findDueDelivery(db, b.id, 30))?.delivery.uid).toBe('2')
    expect(await findDueDelivery(db, c.id, 30)).toBeUndefined()
  })
})

describe('a message', () => {
  it('is stored until its last delivery is deleted', async () => {
    const [a, b] = [await addWebhook('a'), await addWebhook('b')]
    await transaction(db, async (tx) => {
      const message = await insertMessage(tx, {
        event_type: 'test',
        body: 'shared',
        create_time: 0,
      })
      for (const webhook of [a, b]) await insertDelivery(tx, webhook.id, message, webhook.uid, 0)
    })
    const messages = () => db.selectFrom('webhook_messages').selectAll().execute()
    await db.deleteFrom('user_webhooks').where('id', '=', a.id).execute()
    expect(await messages()).toHaveLength(1)
    expect((await findDelivery(db, b.id, 'b'))?.body).toBe('shared')
    // Cascades from the account to the webhook and its deliveries.
    await db.deleteFrom('users').where('id', '=', b.user_id).execute()
    expect(await messages()).toEqual([])
  })
})

describe('pruning', () => {
  it('leaves the latest finished deliveries and all pending ones', async () => {
    const { id } = await addWebhook('a')
    for (let i = 0; i < 6; i++) {
      const delivery = await queue(id, `d${i}`, 0)
      if (i !== 2 && i !== 4) await finish(id, delivery)
    }
    await transaction(db, (tx) => pruneFinishedDeliveries(tx, id, 2))
    expect((await listDeliveries(db, id, undefined, 9)).map(({ uid }) => uid)).toEqual([
      'd5',
      'd4',
      'd3',
      'd2',
    ])
    await transaction(db, (tx) => pruneFinishedDeliveries(tx, id, 2))
    expect(await listDeliveries(db, id, undefined, 9)).toHaveLength(4)
  })
})

describe('the queries of deliveries', () => {
  it.each([
    [
      'the next that is due',
      (handle: Db) => webhookQueue(handle).next(5, { ids: [1], ownerIds: [2] }),
      [
        /^SEARCH user_webhooks USING (COVERING )?INDEX user_webhooks_by_due_time \(next_attempt_time<\?\)/,
        // The webhooks and owners that are left out.
        ...Array.from({ length: 2 }, () => [
          /^LIST SUBQUERY/,
          /^SCAN json_each/,
          /^CREATE BLOOM/,
        ]).flat(),
      ],
    ],
    [
      'the next that falls due',
      (handle: Db) => webhookQueue(handle).nextTime(5),
      [
        /^SEARCH user_webhooks USING COVERING INDEX user_webhooks_by_due_time \(next_attempt_time>\?\)/,
      ],
    ],
    [
      'findDueDelivery',
      (handle: Db) => findDueDelivery(handle, 1, 5),
      [
        /^SEARCH delivery USING INDEX webhook_deliveries_waiting \(webhook_id=\? AND next_attempt_time<\?\)/,
        /^SEARCH message USING INTEGER PRIMARY KEY/,
      ],
    ],
    [
      'listDeliveries',
      (handle: Db) => listDeliveries(handle, 1, 5, 3),
      [
        /^SEARCH delivery USING INDEX webhook_deliveries_of_webhook \(webhook_id=\? AND id<\?\)/,
        /^SEARCH message USING INTEGER PRIMARY KEY/,
      ],
    ],
    [
      'listUserWebhooks',
      (handle: Db) => listUserWebhooks(handle, 1),
      [/^SEARCH user_webhooks USING INDEX user_webhooks_of_user \(user_id=\?\)/],
    ],
  ])('read only what they need, by an index: %s', async (_, query, plan) => {
    const [steps] = await plansOf(db, query)
    expect(steps).toEqual(plan.map((step) => expect.stringMatching(step)))
  })
})
