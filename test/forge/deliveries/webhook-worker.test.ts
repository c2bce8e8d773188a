import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { DueWorker } from '../../../src/forge/core/scheduled-work.ts'
import type { User } from '../../../src/forge/core/schema.ts'
import { startDeliveries } from '../../../src/forge/deliveries/webhook-attempts.ts'
import { testWebhook } from '../../../src/forge/memos/activity/memo-events.ts'
import {
  createUserWebhook,
  updateUserWebhook,
} from '../../../src/forge/webhooks/registration/account-webhooks.ts'
import type { UserWebhook } from '../../../src/forge/webhooks/schema.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'

const NAME = 'users/ada/webhooks/0'

let app: TestApp
let ada: User
let workers: DueWorker[]
/** Never responds. */
let silent: Receiver
let prompt: Receiver

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
  workers = []
  silent = await startReceiver(() => {})
  prompt = await startReceiver()
})
afterEach(async () => {
  for (const worker of workers) await worker.stop()
  await Promise.all([silent.stop(), prompt.stop()])
  await app.db.destroy()
})

function start(): DueWorker {
  const worker = startDeliveries(app, 'branchline-webhook/0')
  workers.push(worker)
  return worker
}

const add = ({ url }: Receiver, owner = ada) =>
  createUserWebhook(app, owner, { url, display_name: '', signing_secret: '' })
const queue = (webhook: UserWebhook) => testWebhook(app, ada, webhook, NAME)

describe('the delivery worker', () => {
  it('sends deliveries that are queued before and after its start', async () => {
    const webhook = await add(prompt)
    const before = await queue(webhook)
    start()
    expect((await prompt.next()).headers['webhook-id']).toBe(before.uid)
    const meanwhile = await queue(webhook)
    expect((await prompt.next()).headers['webhook-id']).toBe(meanwhile.uid)
  })

  it('sends deliveries when they fall due', async () => {
    const failing = await startReceiver((response) => response.writeHead(500).end())
    const webhook = await add(failing)
    start()
    const { uid } = await queue(webhook)
    await failing.next()
    // A webhook gets one delivery at a time, so the failure is recorded when the next one arrives.
    await queue(webhook)
    await failing.next()
    app.clock.advance(6)
    app.signals.deliveries.notify()
    expect((await failing.next()).headers['webhook-id']).toBe(uid)
    await failing.stop()
  })

  it('is not blocked by a target that does not respond', async () => {
    const [hanging, fine] = [await add(silent), await add(prompt)]
    start()
    await queue(hanging)
    await silent.next()
    for (let i = 0; i < 3; i++) {
      await queue(fine)
      await prompt.next()
    }
  })

  it('sends one delivery of a webhook at a time', async () => {
    const [hanging, fine] = [await add(silent), await add(prompt)]
    start()
    for (let i = 0; i < 3; i++) await queue(hanging)
    await silent.next()
    await queue(fine)
    await prompt.next()
    expect(silent.received).toHaveLength(1)
  })

  it('does not let the targets of one account use up the limit of others', async () => {
    for (let i = 0; i < 40; i++) await queue(await add(silent))
    const bob = await addUser(app, 'bob')
    const fine = await add(prompt, bob)
    await queue(fine)
    start()
    await prompt.next()
    await Promise.all(Array.from({ length: 4 }, () => silent.next()))
    await queue(fine)
    await prompt.next()
    expect(silent.received).toHaveLength(4)
  })

  it('sends to targets of many accounts concurrently', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => warnings.push(warning)
    process.on('warning', note)
    onTestFinished(() => {
      process.off('warning', note)
    })
    for (let i = 0; i < 12; i++) await queue(await add(silent, await addUser(app, `user-${i}`)))
    start()
    for (let i = 0; i < 12; i++) await silent.next()
    expect(warnings).toEqual([])
  })

  it('cancels running deliveries when it stops, and sends them after the next start', async () => {
    const webhook = await add(silent)
    const worker = start()
    const { uid } = await queue(webhook)
    await silent.next()
    await worker.stop()
    const row = await app.db.selectFrom('webhook_deliveries').selectAll().executeTakeFirstOrThrow()
    expect(row).toMatchObject({
      uid,
      state: 'PENDING',
      attempt_count: 0,
      next_attempt_time: app.clock.now(),
    })
    await updateUserWebhook(app, webhook, { url: prompt.url }, NAME)
    start()
    expect((await prompt.next()).headers['webhook-id']).toBe(uid)
  })

  it('stops immediately when it is idle, and sends nothing afterwards', async () => {
    const webhook = await add(prompt)
    const worker = start()
    await worker.stop()
    await queue(webhook)
    await worker.stop()
    expect(prompt.received).toEqual([])
  })
})
