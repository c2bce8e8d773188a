import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { openForge, startForge } from '../../support/forge.ts'
import { createToken } from '../../support/server.ts'

/** Other servers that take connections and say nothing. */
const forge = await openForge({ webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
const { users, rest, ask, server } = forge
const { ada, bob, carol } = users

const other = await startForge()
const token = await createToken(other.server.url, other.users.carol, ['write:repository'])
await other.ask(other.users.carol, 'POST', '/user/repos', { name: 'copy' })

const connections = new Set<Socket>()
const silent = createServer((socket) => {
  connections.add(socket)
  socket.on('error', () => {}).on('close', () => connections.delete(socket))
})
silent.listen(0, '127.0.0.1')
await once(silent, 'listening')
const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/a/b.git`

afterAll(async () => {
  for (const socket of connections) socket.destroy()
  silent.close()
  await other.stop()
})

const addMirror = async (who: typeof bob, repo: string, address: string, password = '') =>
  ask(who, 'POST', `/repos/${repo}/push_mirrors`, {
    remote_address: address,
    remote_username: password && 'carol',
    remote_password: password,
    interval: '8h',
    sync_on_commit: true,
  })
const rowsOfMirrors = () => server.app.db.selectFrom('push_mirrors').selectAll().execute()

describe('servers that say nothing', () => {
  it('hold the push mirrors of their owners only', async () => {
    for (const [who, name] of [
      [ada, 'ada'],
      [bob, 'bob'],
    ] as const) {
      await ask(who, 'POST', '/user/repos', { name: 'garden', auto_init: true })
      for (let i = 0; i < 4; i++) await addMirror(who, `${name}/garden`, silentUrl)
    }
    await expect.poll(() => connections.size).toBeGreaterThanOrEqual(3)
    await ask(carol, 'POST', '/user/repos', { name: 'garden', auto_init: true })
    const { remote_name: name } = await addMirror(
      carol,
      'carol/garden',
      `${other.server.url}/carol/copy.git`,
      token,
    )
    await expect
      .poll(async () => await ask(carol, 'GET', `/repos/carol/garden/push_mirrors/${name}`))
      .toMatchObject({ last_error: '', last_update: expect.any(String) })
    expect(connections.size).toBeLessThanOrEqual(4)
  })

  it('lose a connection without progress, and are left alone for a while', async () => {
    Object.assign(server.app, { upstreamTimes: { idleMs: 50, listMs: 60_000 } })
    const { id } = await ask(carol, 'POST', '/user/repos', { name: 'field', auto_init: true })
    await addMirror(carol, 'carol/field', silentUrl)
    const mirror = async () =>
      (await rowsOfMirrors()).find(({ repository_id }) => repository_id === Number(id))
    await expect.poll(mirror).toMatchObject({ error: 'the other server took too long' })
    const rests = (await mirror())?.next_sync_time ?? 0
    expect(rests - server.app.clock.now()).toBeGreaterThan(9 * 60_000)
    // A change does not end the rest.
    await ask(carol, 'POST', '/repos/carol/field/contents/a', { content: 'YQ==' })
    expect(await mirror()).toMatchObject({ next_sync_time: rests })
  })

  it('cannot draw out a list of refs', async () => {
    Object.assign(server.app, { upstreamTimes: { idleMs: 60_000, listMs: 50 } })
    const { status, body } = await rest(carol, 'POST', '/repos/migrate', {
      clone_addr: silentUrl,
      repo_name: 'slow',
    })
    expect({ status, body }).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('took too long') },
    })
  })

  it('hold the imports of their accounts only', async () => {
    Object.assign(server.app, { upstreamTimes: { idleMs: 60_000, listMs: 60_000 } })
    const before = connections.size
    const migrate = (who: typeof bob, name: string) =>
      fetch(`${server.url}/api/v1/repos/migrate`, {
        method: 'POST',
        headers: { authorization: who.authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ clone_addr: `${server.url}/carol/garden.git`, repo_name: name }),
      })
    const slots = server.app.copies
    // As eight accounts with two slow imports each hold them.
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const held = Array.from({ length: 16 }, (_, i) =>
      slots(`account ${1000 + Math.floor(i / 2)}`, () => ended).catch(() => {}),
    )
    const made = await migrate(bob, 'imported')
    expect(made.status).toBe(201)
    expect(connections.size).toBe(before)
    end()
    await Promise.all(held)
  })
})
