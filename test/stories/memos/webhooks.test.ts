import { createClient } from '@connectrpc/connect'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { selfSigned } from '../../clients/certificate.ts'
import { serveProcess, withFolder } from '../../support/process.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import {
  type Actor,
  createTestUsers,
  startTestServer,
  type TestServerOptions,
  transportTo,
} from '../../support/server.ts'

let receivers: Receiver[] = []
afterEach(async () => {
  await Promise.all(receivers.map((receiver) => receiver.stop()))
  receivers = []
})

async function receiver(...args: Parameters<typeof startReceiver>): Promise<Receiver> {
  const started = await startReceiver(...args)
  receivers.push(started)
  return started
}

const ALLOWED = ['--webhook-allowed-hosts', '127.0.0.1']
const webhookAllowedHosts = parseAllowedHosts('127.0.0.1')

const clientAt = (url: string, { authorization }: Actor) =>
  createClient(UserService, transportTo(url, 'Connect JSON', authorization))

/** Starts a server in the process of the tests, for one of them. */
async function startServer(options: TestServerOptions) {
  const server = await startTestServer(options)
  onTestFinished(() => server.stop())
  return server
}

const idsOf = (deliveries: readonly { name: string }[]) =>
  deliveries.map(({ name }) => name.split('/').at(-1))

describe('a killed server', () => {
  it('sends all queued deliveries after its next start, and continues its schedule of retries', async () => {
    await withFolder(async (data) => {
      let silent = true
      const target = await receiver((response) =>
        silent ? undefined : response.writeHead(204).end(),
      )
      const failing = await receiver((response) => response.writeHead(500).end())
      const args = [...ALLOWED, '--webhook-retry-schedule', '20ms,24h']
      const killed = await serveProcess(data, args)
      const { ada: actor } = await createTestUsers(killed.url)
      const ada = clientAt(killed.url, actor)
      const webhookTo = (url: string) =>
        ada.createUserWebhook({ parent: 'users/ada', webhook: { url } })
      const { name } = await webhookTo(target.url)
      // The first delivery is in progress, and the second waits for it. Both were acknowledged.
      const promised = [await ada.testUserWebhook({ name }), await ada.testUserWebhook({ name })]
      await target.next()
      const { name: retried } = await webhookTo(failing.url)
      const delivery = await ada.testUserWebhook({ name: retried })
      for (let i = 0; i < 2; i++)
        expect([(await failing.next()).headers['webhook-id']]).toEqual(idsOf([delivery]))
      // A webhook gets one delivery at a time, so the second failure is recorded when another
      // delivery arrives.
      const other = await ada.testUserWebhook({ name: retried })
      expect([(await failing.next()).headers['webhook-id']]).toEqual(idsOf([other]))
      killed.child.kill('SIGKILL')
      await killed.exited
      expect(target.received).toHaveLength(1)

      silent = false
      const webhookRetryScheduleMs = [20, 24 * 60 * 60_000]
      const next = await startTestServer({
        data,
        webhookAllowedHosts,
        settings: { webhookRetryScheduleMs },
      })
      const arrived = [await target.next(), await target.next()]
      expect(arrived.map(({ headers }) => headers['webhook-id'])).toEqual(idsOf(promised))
      expect(target.received[0]?.headers['webhook-id']).toBe(arrived[0]?.headers['webhook-id'])
      const again = clientAt(next.url, actor)
      const { deliveries } = await again.listUserWebhookDeliveries({ parent: retried })
      expect(deliveries[1]).toMatchObject({
        name: delivery.name,
        attemptCount: 2,
        responseStatus: 500,
      })
      const waitS =
        Number(deliveries[1]?.nextAttemptTime?.seconds) -
        Number(deliveries[1]?.lastAttemptTime?.seconds)
      expect(waitS).toBeGreaterThanOrEqual(24 * 60 * 60)
      await next.stop()
    })
  })
})

describe('a server that shuts down', () => {
  it('does not wait for a target that does not respond', async () => {
    const target = await receiver(() => {})
    const server = await startServer({ webhookAllowedHosts })
    const ada = clientAt(server.url, (await createTestUsers(server.url)).ada)
    const { name } = await ada.createUserWebhook({
      parent: 'users/ada',
      webhook: { url: target.url },
    })
    await ada.testUserWebhook({ name })
    await target.next()
    // Longer than the test may take.
    await server.close(60 * 60_000)
  })
})

describe('a webhook to an internal address', () => {
  it('is rejected in every spelling, and receives nothing', async () => {
    const inside = await receiver()
    const server = await startServer({})
    const ada = clientAt(server.url, (await createTestUsers(server.url)).ada)
    const hosts = [
      '127.0.0.1',
      'localhost',
      'LOCALHOST',
      '127.0.0.1.',
      '127.1',
      '0x7f000001',
      '2130706433',
      '0177.0.0.1',
    ]
    for (const host of [
      ...hosts,
      '①②⑦.0.0.1',
      '0.0.0.0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
    ]) {
      const webhook = { url: `http://${host}:${inside.port}/` }
      const refused = ada.createUserWebhook({ parent: 'users/ada', webhook })
      await expect(refused, host).rejects.toThrow('has a private or reserved address')
    }
    expect((await ada.listUserWebhooks({ parent: 'users/ada' })).webhooks).toEqual([])
    expect(inside.received).toEqual([])
  })

  it('receives nothing after the operator forbids the address', async () => {
    await withFolder(async (data) => {
      const inside = await receiver((response) => response.writeHead(500).end())
      const before = await startTestServer({ data, webhookAllowedHosts })
      const { ada } = await createTestUsers(before.url)
      const { name } = await clientAt(before.url, ada).createUserWebhook({
        parent: 'users/ada',
        webhook: { url: inside.url },
      })
      await before.stop()

      const after = await startTestServer({ data })
      const again = clientAt(after.url, ada)
      await again.testUserWebhook({ name })
      await expect
        .poll(() => again.listUserWebhookDeliveries({ parent: name }))
        .toMatchObject({ deliveries: [{ error: 'the host has a private or reserved address' }] })
      expect(JSON.stringify(after.logged)).toContain('private or reserved address')
      expect(inside.received).toEqual([])
      await after.stop()
    })
  })
})

describe('a target with TLS', () => {
  it('receives deliveries for the name in its certificate only', async () => {
    const certificate = selfSigned()
    onTestFinished(() => certificate.remove())
    await withFolder(async (data) => {
      const target = await receiver(undefined, 0, certificate)
      const hosts = ['--webhook-allowed-hosts', '127.0.0.1,localhost']
      // As operators do whose targets have their own certificates.
      const env = { NODE_EXTRA_CA_CERTS: certificate.certFile }
      const server = await serveProcess(data, hosts, env)
      const ada = clientAt(server.url, (await createTestUsers(server.url)).ada)
      const add = (url: string) => ada.createUserWebhook({ parent: 'users/ada', webhook: { url } })
      const mistaken = await add(target.url.replace('127.0.0.1', 'localhost'))
      const right = await add(target.url)

      await ada.testUserWebhook({ name: mistaken.name })
      const delivery = await ada.testUserWebhook({ name: right.name })
      expect([(await target.next()).headers['webhook-id']]).toEqual(idsOf([delivery]))
      await expect
        .poll(() => ada.listUserWebhookDeliveries({ parent: mistaken.name }))
        .toMatchObject({
          deliveries: [{ attemptCount: 1, responseStatus: 0, error: 'the connection failed' }],
        })
      expect(target.received).toHaveLength(1)
      server.child.kill('SIGKILL')
      await server.exited
    })
  })
})
