import { createClient } from '@connectrpc/connect'
import { afterEach, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { selfSigned } from '../../clients/certificate.ts'
import { branchline, type ServerProcess, serveProcess, withFolder } from '../../support/process.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { PASSWORD, signIn, transportTo } from '../../support/server.ts'

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

/** Runs a story with an instance whose only account is ada's. */
async function withInstance(
  work: (start: (...args: string[]) => Promise<ServerProcess>) => Promise<void>,
  env: Record<string, string> = {},
) {
  await withFolder(async (data) => {
    const running: ServerProcess[] = []
    await branchline(['user', 'create', '--data', data, '--username', 'ada', '--password-stdin'], {
      input: PASSWORD,
    })
    try {
      await work(async (...args) => {
        const server = await serveProcess(data, args, env)
        running.push(server)
        return server
      })
    } finally {
      for (const { child } of running) child.kill('SIGKILL')
      await Promise.all(running.map(({ exited }) => exited))
    }
  })
}

async function adaAt({ url }: ServerProcess) {
  const { authorization } = await signIn(url, 'ada')
  return createClient(UserService, transportTo(url, 'Connect JSON', authorization))
}

const ALLOWED = ['--webhook-allowed-hosts', '127.0.0.1']
const idsOf = (deliveries: readonly { name: string }[]) =>
  deliveries.map(({ name }) => name.split('/').at(-1))

describe('a killed server', () => {
  it('sends all queued deliveries after its next start', async () => {
    await withInstance(async (start) => {
      let silent = true
      const target = await receiver((response) =>
        silent ? undefined : response.writeHead(204).end(),
      )
      const killed = await start(...ALLOWED)
      const ada = await adaAt(killed)
      const { name } = await ada.createUserWebhook({
        parent: 'users/ada',
        webhook: { url: target.url },
      })
      // The first delivery is in progress, and the second waits for it. Both were acknowledged.
      const promised = [await ada.testUserWebhook({ name }), await ada.testUserWebhook({ name })]
      await target.next()
      killed.child.kill('SIGKILL')
      await killed.exited
      expect(target.received).toHaveLength(1)

      silent = false
      await start(...ALLOWED)
      const arrived = [await target.next(), await target.next()]
      expect(arrived.map(({ headers }) => headers['webhook-id'])).toEqual(idsOf(promised))
      expect(target.received[0]?.headers['webhook-id']).toBe(arrived[0]?.headers['webhook-id'])
    })
  })

  it('continues its schedule of retries', async () => {
    await withInstance(async (start) => {
      const target = await receiver((response) => response.writeHead(500).end())
      const args = [...ALLOWED, '--webhook-retry-schedule', '20ms,24h']
      const killed = await start(...args)
      const ada = await adaAt(killed)
      const { name } = await ada.createUserWebhook({
        parent: 'users/ada',
        webhook: { url: target.url },
      })
      const delivery = await ada.testUserWebhook({ name })
      for (let i = 0; i < 2; i++)
        expect([(await target.next()).headers['webhook-id']]).toEqual(idsOf([delivery]))
      // A webhook gets one delivery at a time, so the second failure is recorded when another
      // delivery arrives.
      const other = await ada.testUserWebhook({ name })
      expect([(await target.next()).headers['webhook-id']]).toEqual(idsOf([other]))
      killed.child.kill('SIGKILL')
      await killed.exited

      const again = await adaAt(await start(...args))
      const { deliveries } = await again.listUserWebhookDeliveries({ parent: name })
      expect(deliveries[1]).toMatchObject({
        name: delivery.name,
        attemptCount: 2,
        responseStatus: 500,
      })
      const waitS =
        Number(deliveries[1]?.nextAttemptTime?.seconds) -
        Number(deliveries[1]?.lastAttemptTime?.seconds)
      expect(waitS).toBeGreaterThanOrEqual(24 * 60 * 60)
    })
  })
})

describe('a server that shuts down', () => {
  it('does not wait for a target that does not respond', async () => {
    await withInstance(async (start) => {
      const target = await receiver(() => {})
      const server = await start(...ALLOWED)
      const ada = await adaAt(server)
      const { name } = await ada.createUserWebhook({
        parent: 'users/ada',
        webhook: { url: target.url },
      })
      await ada.testUserWebhook({ name })
      await target.next()
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    })
  })
})

describe('a webhook to an internal address', () => {
  it('is rejected in every spelling, and receives nothing', async () => {
    await withInstance(async (start) => {
      const inside = await receiver()
      const ada = await adaAt(await start())
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
  })

  it('receives nothing after the operator forbids the address', async () => {
    await withInstance(async (start) => {
      const inside = await receiver((response) => response.writeHead(500).end())
      const before = await start(...ALLOWED, '--webhook-retry-schedule', '1ms,1ms')
      const ada = await adaAt(before)
      const { name } = await ada.createUserWebhook({
        parent: 'users/ada',
        webhook: { url: inside.url },
      })
      before.child.kill('SIGTERM')
      await before.exited

      const after = await start('--webhook-retry-schedule', '')
      const again = await adaAt(after)
      await again.testUserWebhook({ name })
      await after.logged('private or reserved address')
      const { deliveries } = await again.listUserWebhookDeliveries({ parent: name })
      expect(deliveries).toMatchObject([{ error: 'the host has a private or reserved address' }])
      expect(inside.received).toEqual([])
    })
  })
})

describe('a target with TLS', () => {
  it('receives deliveries for the name in its certificate only', async () => {
    const certificate = selfSigned()
    try {
      await withInstance(
        async (start) => {
          const target = await receiver(undefined, 0, certificate)
          const ada = await adaAt(await start('--webhook-allowed-hosts', '127.0.0.1,localhost'))
          const add = (url: string) =>
            ada.createUserWebhook({ parent: 'users/ada', webhook: { url } })
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
        },
        // As operators do whose targets have their own certificates.
        { NODE_EXTRA_CA_CERTS: certificate.certFile },
      )
    } finally {
      certificate.remove()
    }
  })
})
