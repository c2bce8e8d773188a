import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { updateUser } from '../../../src/forge/accounts/users/users.rows.ts'
import type { User } from '../../../src/forge/core/schema.ts'
import { deliverDue, readRetryAfter } from '../../../src/forge/deliveries/webhook-attempts.ts'
import {
  listWebhookDeliveries,
  queueDeliveries,
  redeliver,
  testWebhook,
} from '../../../src/forge/memos/activity/memo-events.ts'
import {
  createUserWebhook,
  deleteUserWebhook,
  updateUserWebhook,
} from '../../../src/forge/webhooks/registration/account-webhooks.ts'
import type { UserWebhook, WebhookDelivery } from '../../../src/forge/webhooks/schema.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { createOutbound } from '../../../src/platform/outbound/outbound.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { storeMemo } from '../../support/memo-rows.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'

const AGENT = 'branchline-webhook/0'
const NAMES = { webhook: 'users/ada/webhooks/0', delivery: 'users/ada/webhooks/0/deliveries/1' }
const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const OTHER_SECRET = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='
const DAY_S = 24 * 60 * 60

/** The statuses and headers of the receiver's responses, one per request; 204 afterwards. */
type Answers = (readonly [status: number, headers?: Record<string, string>])[]

let app: TestApp
let ada: User
let answers: Answers
let receiver: Receiver

beforeEach(async () => {
  answers = []
  receiver = await startReceiver((response) => {
    const [status, headers] = answers.shift() ?? [204]
    response.writeHead(status, headers).end()
  })
  app = await testApp({ webhookRetryScheduleMs: [5_000, 300_000] })
  ada = await addUser(app, 'ada')
})
afterEach(async () => {
  vi.useRealTimers()
  await receiver.stop()
  await app.db.destroy()
})

const add = (url = receiver.url) =>
  createUserWebhook(app, ada, { url, display_name: '', signing_secret: SECRET })
const queue = (webhook: UserWebhook) => testWebhook(app, ada, webhook, NAMES.webhook)
const deliver = () => deliverDue(app, AGENT)

/** Returns the latest delivery of a webhook. */
async function latest(webhook: UserWebhook): Promise<WebhookDelivery | undefined> {
  return (await listWebhookDeliveries(app, webhook, undefined, 1)).deliveries[0]
}

/** Advances the clock after the next attempt, including its jitter, and sends what is due. */
async function after(seconds: number): Promise<void> {
  app.clock.advance(seconds * 1.1)
  await deliver()
}

describe('a delivery', () => {
  it('is a request that a Standard Webhooks library verifies', async () => {
    // The library uses the system clock.
    vi.useFakeTimers({ now: app.clock.now(), toFake: ['Date'] })
    await add(`${receiver.url}?key=1`)
    await transaction(app.db, async (tx) => {
      const view = await storeMemo({ ...app, db: tx }, ada, { content: 'tö do' })
      const event = { previousContent: undefined, commentedOn: undefined, timeMs: app.clock.now() }
      await queueDeliveries(app, tx, { type: 'memo.created', view, ...event })
    })
    await deliver()
    const [request] = receiver.received
    const headers = request?.headers as Record<string, string>
    expect([request?.method, request?.path, request?.headers]).toEqual([
      'POST',
      '/in?key=1',
      expect.objectContaining({
        'content-type': 'application/json',
        'user-agent': AGENT,
        'webhook-id': expect.stringMatching(/^msg_[0-9a-f]{32}$/),
        'webhook-timestamp': String(app.clock.now() / 1000),
      }),
    ])
    expect(new Webhook(SECRET).verify(request?.body ?? '', headers)).toMatchObject({
      type: 'memo.created',
      creator: 'users/ada',
    })
    expect(() => new Webhook(OTHER_SECRET).verify(request?.body ?? '', headers)).toThrow()
  })

  it('is signed with both secrets during their overlap', async () => {
    vi.useFakeTimers({ now: app.clock.now(), toFake: ['Date'] })
    const webhook = await updateUserWebhook(
      app,
      await add(),
      { signing_secret: OTHER_SECRET },
      NAMES.webhook,
    )
    await queue(webhook)
    await deliver()
    const { body, headers } = await receiver.next()
    for (const secret of [SECRET, OTHER_SECRET]) {
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
        type: 'test',
      })
    }
  })

  it.each([200, 201, 204, 299])('succeeds with status %i', async (status) => {
    const webhook = await add()
    answers = [[status]]
    await queue(webhook)
    await after(0)
    await after(2 * DAY_S)
    expect(receiver.received).toHaveLength(1)
    expect(await latest(webhook)).toMatchObject({
      state: 'DELIVERED',
      attempt_count: 1,
      response_status: status,
      error: '',
      next_attempt_time: null,
      last_attempt_time: Date.UTC(2026, 4, 1, 10),
    })
  })

  it.each([301, 302, 307, 308, 400, 404, 429, 500, 503])(
    'has failed with status %i, and is tried again',
    async (status) => {
      const webhook = await add()
      answers = [[status, { location: receiver.url }]]
      await queue(webhook)
      await deliver()
      expect(receiver.received).toHaveLength(1)
      expect(await latest(webhook)).toMatchObject({
        state: 'PENDING',
        attempt_count: 1,
        response_status: status,
        error: `status ${status}`,
      })
      await after(5)
      expect(await latest(webhook)).toMatchObject({
        state: 'DELIVERED',
        attempt_count: 2,
        error: '',
      })
    },
  )

  it('is retried by the schedule with some delay, and then fails', async () => {
    const webhook = await add()
    answers = Array(9).fill([500])
    await queue(webhook)
    for (const [attempts, seconds] of [[1, 5] as const, [2, 300] as const]) {
      await deliver()
      const { next_attempt_time = 0, attempt_count } = (await latest(webhook)) ?? {}
      const waitS = ((next_attempt_time ?? 0) - app.clock.now()) / 1000
      expect(attempt_count).toBe(attempts)
      expect(waitS).toBeGreaterThanOrEqual(seconds)
      expect(waitS).toBeLessThanOrEqual(seconds * 1.1)
      app.clock.advance(seconds - 0.001)
      await deliver()
      expect(receiver.received).toHaveLength(attempts)
      app.clock.advance(seconds * 0.1 + 0.002)
    }
    await deliver()
    expect(await latest(webhook)).toMatchObject({
      state: 'FAILED',
      attempt_count: 3,
      next_attempt_time: null,
    })
    await after(2 * DAY_S)
    expect(receiver.received).toHaveLength(3)
  })

  it('has the same id and body in each attempt, and the time of the attempt', async () => {
    const webhook = await add()
    answers = [[500]]
    await queue(webhook)
    await deliver()
    await after(5)
    const [first, second] = receiver.received
    expect(second?.body).toBe(first?.body)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(
      Number(second?.headers['webhook-timestamp']) - Number(first?.headers['webhook-timestamp']),
    ).toBe(5)
    expect(second?.headers['webhook-signature']).not.toBe(first?.headers['webhook-signature'])
  })

  it('uses the current URL of the webhook', async () => {
    const webhook = await add()
    answers = [[500]]
    await queue(webhook)
    await deliver()
    await updateUserWebhook(app, webhook, { url: `${receiver.url}/new` }, NAMES.webhook)
    await after(5)
    expect(receiver.received.map(({ path }) => path)).toEqual(['/in', '/in/new'])
  })

  it('waits for as long as the target asks, but not less than scheduled', async () => {
    const webhook = await add()
    answers = [
      [503, { 'retry-after': '120' }],
      [503, { 'retry-after': '1' }],
    ]
    await queue(webhook)
    await deliver()
    app.clock.advance(119)
    await deliver()
    expect(receiver.received).toHaveLength(1)
    app.clock.advance(1)
    await deliver()
    expect(receiver.received).toHaveLength(2)
    app.clock.advance(299)
    await deliver()
    expect(receiver.received).toHaveLength(2)
  })

  it('disables the webhook when the target is gone, and fails pending deliveries', async () => {
    const webhook = await add()
    answers = [[500], [410]]
    const [first, second] = [await queue(webhook), await queue(webhook)]
    await deliver()
    await after(5)
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([
      first.uid,
      second.uid,
    ])
    const { deliveries } = await listWebhookDeliveries(app, webhook, undefined, 9)
    expect(deliveries.map(({ state, error }) => [state, error])).toEqual([
      ['FAILED', 'status 410'],
      ['FAILED', 'the webhook was switched off'],
    ])
    expect(
      await app.db.selectFrom('user_webhooks').select(['disabled', 'next_attempt_time']).execute(),
    ).toEqual([{ disabled: 1, next_attempt_time: null }])
  })

  it('does not disable a webhook whose URL has changed meanwhile', async () => {
    const webhook = await add()
    const { url, stop } = await startReceiver(async (response) => {
      await updateUserWebhook(app, webhook, { url: receiver.url }, NAMES.webhook)
      response.writeHead(410).end()
    })
    await updateUserWebhook(app, webhook, { url }, NAMES.webhook)
    await queue(webhook)
    await deliver()
    await stop()
    expect(await latest(webhook)).toMatchObject({ state: 'PENDING', response_status: 410 })
    await after(5)
    expect(await latest(webhook)).toMatchObject({ state: 'DELIVERED' })
  })

  it('fails for an archived account', async () => {
    const webhook = await add()
    await queue(webhook)
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { state: 'ARCHIVED' }))
    await deliver()
    expect(receiver.received).toEqual([])
    expect(await latest(webhook)).toMatchObject({
      state: 'FAILED',
      attempt_count: 0,
      error: 'the account is archived',
    })
  })

  it('leaves nothing when its webhook is deleted meanwhile', async () => {
    const webhook = await add()
    const slow = await startReceiver(async (response) => {
      await deleteUserWebhook(app, ada, webhook.uid)
      response.end()
    })
    await updateUserWebhook(app, webhook, { url: slow.url }, NAMES.webhook)
    await queue(webhook)
    await deliver()
    await slow.stop()
    expect(slow.received).toHaveLength(1)
    expect(await app.db.selectFrom('webhook_deliveries').selectAll().execute()).toEqual([])
    expect(await app.db.selectFrom('webhook_messages').selectAll().execute()).toEqual([])
  })

  it.each([
    ['nobody listens', 'http://127.0.0.1:1/', 'the connection failed'],
    ['the name has gone', 'http://gone.example/', 'the host cannot be resolved'],
    [
      'the name has become private',
      'http://moved.example/',
      'the host has a private or reserved address',
    ],
  ])('tells its owner when %s', async (_, url, error) => {
    let lookups = 0
    const outbound = createOutbound({
      allowedHosts: parseAllowedHosts('127.0.0.1'),
      ownAddresses: () => [],
      resolve: async (name) =>
        ++lookups === 1 ? ['8.8.8.8'] : name === 'gone.example' ? [] : ['10.0.0.1'],
    })
    app = { ...app, outbound }
    const webhook = await add(url)
    await queue(webhook)
    await deliver()
    expect(await latest(webhook)).toMatchObject({
      state: 'PENDING',
      attempt_count: 1,
      response_status: 0,
      error,
    })
  })

  it('can be redelivered, with its id, its body and all retries', async () => {
    const webhook = await add()
    answers = Array(3).fill([500])
    const { uid } = await queue(webhook)
    for (const seconds of [0, 5, 300]) await after(seconds)
    expect(await latest(webhook)).toMatchObject({ state: 'FAILED', attempt_count: 3 })
    answers = [[500]]
    expect(await redeliver(app, webhook, uid, NAMES)).toMatchObject({
      state: 'PENDING',
      attempt_count: 3,
      uid,
    })
    await deliver()
    await after(5)
    expect(await latest(webhook)).toMatchObject({ state: 'DELIVERED', attempt_count: 5 })
    expect(
      new Set(receiver.received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`))
        .size,
    ).toBe(1)
  })

  it('can be redelivered while its last attempt fails', async () => {
    const webhook = await add()
    const { uid } = await queue(webhook)
    answers = [[500], [500]]
    for (const seconds of [0, 5]) await after(seconds)
    const failing = await startReceiver(async (response) => {
      app.clock.advance(1)
      await updateUserWebhook(app, webhook, { url: receiver.url }, NAMES.webhook)
      await redeliver(app, webhook, uid, NAMES)
      response.writeHead(500).end()
    })
    await updateUserWebhook(app, webhook, { url: failing.url }, NAMES.webhook)
    await after(300)
    await failing.stop()
    expect(await latest(webhook)).toMatchObject({ state: 'DELIVERED', attempt_count: 4 })
  })

  it('is deleted after 100 later deliveries', async () => {
    const webhook = await add()
    const made = []
    for (let i = 0; i < 103; i++) made.push(await queue(webhook))
    await deliver()
    expect(receiver.received).toHaveLength(103)
    const { deliveries } = await listWebhookDeliveries(app, webhook, undefined, 1000)
    expect(deliveries.map(({ uid }) => uid).reverse()).toEqual(made.slice(3).map(({ uid }) => uid))
    expect(await app.db.selectFrom('webhook_messages').select('id').execute()).toHaveLength(100)
  })

  it('logs neither URL, secret nor body', async () => {
    const lines: string[] = []
    const log = {
      info: (...args: unknown[]) => lines.push(JSON.stringify(args)),
    } as unknown as TestApp['log']
    app = { ...app, log }
    const { uid } = await queue(await add(`${receiver.url}?key=hidden`))
    await deliver()
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(uid)
    expect(lines[0]).not.toMatch(/hidden|whsec|v1,|creator/)
  })
})

describe('readRetryAfter', () => {
  const NOW = Date.UTC(2026, 4, 1, 10)
  it.each([
    [undefined, 0],
    ['', 0],
    ['soon', 0],
    ['-5', 0],
    ['0', 0],
    ['120', 120_000],
    ['Fri, 01 May 2026 10:02:00 GMT', 120_000],
    ['Fri, 01 May 2026 09:00:00 GMT', 0],
    ['999999999999999999999', DAY_S * 1000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', DAY_S * 1000],
  ])('reads %j as %i ms', (value, waitMs) => {
    expect(readRetryAfter(value, NOW)).toBe(waitMs)
  })
})
