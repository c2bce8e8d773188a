import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import {
  failWaitingDeliveries,
  insertDeliveries,
  insertMessage,
} from '../../../src/forge/webhooks/outbox/webhook-deliveries.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import type { Actor } from '../../support/server.ts'

/** The maximum numbers of pending deliveries of a webhook and of an account. */
const OF_WEBHOOK = 1_000
const OF_ACCOUNT = 5_000

/** Long enough that nothing is sent again meanwhile. */
const LATER_MS = 3_600_000

// Nothing listens there, so each delivery waits for its next attempt.
const webhookAllowedHosts = parseAllowedHosts('127.0.0.1')
const forge = await openForge({
  webhookAllowedHosts,
  settings: { webhookRetryScheduleMs: [LATER_MS] },
})

/**
 * Creates a webhook whose target does not respond.
 *
 * @returns its name and id.
 */
async function addWebhook(who: Actor) {
  const users = forge.grpc(UserService, who)
  const webhook = { url: 'http://127.0.0.1:9/' }
  const { name } = await users.createUserWebhook({ parent: `users/${who.username}`, webhook })
  return { name, id: await idOf(name) }
}

async function idOf(name: string): Promise<number> {
  const uid = name.split('/').at(-1) ?? ''
  const query = forge.server.app.db.selectFrom('user_webhooks').select('id').where('uid', '=', uid)
  return (await query.executeTakeFirstOrThrow()).id
}

function queue(webhookId: number, count: number): Promise<void> {
  return transaction(forge.server.app.db, async (tx) => {
    const message = await insertMessage(tx, { event_type: 'test', body: '{}', create_time: 0 })
    const uids = Array.from({ length: count }, () => `msg_${randomUUID()}`)
    await insertDeliveries(
      tx,
      Array<number>(count).fill(webhookId),
      message,
      uids,
      Date.now() + LATER_MS,
    )
  })
}

async function waiting(id: number): Promise<{ counted: number; kept: number }> {
  const { db } = forge.server.app
  const { count } = await db
    .selectFrom('webhook_deliveries')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('webhook_id', '=', id)
    .where('next_attempt_time', 'is not', null)
    .executeTakeFirstOrThrow()
  const { waiting_count } = await db
    .selectFrom('user_webhooks')
    .select('waiting_count')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return { counted: count, kept: waiting_count }
}

it('pending deliveries of a webhook are limited, and changes continue', async () => {
  const { users: testUsers } = forge
  const full = await addWebhook(testUsers.bob)
  const other = await addWebhook(testUsers.bob)
  await queue(full.id, OF_WEBHOOK)
  expect(await waiting(full.id)).toEqual({ counted: OF_WEBHOOK, kept: OF_WEBHOOK })
  const memos = forge.grpc(MemoService, testUsers.bob)
  await memos.createMemo({ memo: { content: 'told to one of the two' } })
  expect(await waiting(full.id)).toEqual({ counted: OF_WEBHOOK, kept: OF_WEBHOOK })
  expect((await waiting(other.id)).kept).toBe(1)
  const users = forge.grpc(UserService, testUsers.bob)
  expect(await refusalOf(users.testUserWebhook({ name: full.name }))).toMatchObject({
    code: 'ResourceExhausted',
    reason: 'RATE_LIMITED',
  })
  // Failed deliveries no longer count.
  await transaction(forge.server.app.db, (tx) => failWaitingDeliveries(tx, full.id, 'given up'))
  expect(await waiting(full.id)).toEqual({ counted: 0, kept: 0 })
  await users.testUserWebhook({ name: full.name })
  expect(await waiting(full.id)).toEqual({ counted: 1, kept: 1 })
})

it('pending deliveries of an account are limited, independently of other accounts', async () => {
  const { users: testUsers } = forge
  const webhooks = []
  for (let i = 0; i < OF_ACCOUNT / OF_WEBHOOK + 1; i += 1)
    webhooks.push(await addWebhook(testUsers.carol))
  for (const { id } of webhooks.slice(1)) await queue(id, OF_WEBHOOK)
  const users = forge.grpc(UserService, testUsers.carol)
  expect(await refusalOf(users.testUserWebhook({ name: webhooks[0]?.name ?? '' }))).toMatchObject({
    reason: 'RATE_LIMITED',
  })
  const ofAda = await addWebhook(testUsers.ada)
  await forge.grpc(UserService, testUsers.ada).testUserWebhook({ name: ofAda.name })
  expect((await waiting(ofAda.id)).kept).toBe(1)
})
