import { afterAll, describe, expect, it, vi } from 'vitest'
import { MirrorService } from '#gen/branchline/v1/mirror_service_pb.ts'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { openForge, refusalOf, startForge } from '../../support/forge.ts'
import { createToken } from '../../support/server.ts'

const forge = await openForge({ webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
const { users, rest, ask, server } = forge
const { bob, carol } = users
/** Another server, which follows the first one. */
const other = await startForge()
afterAll(other.stop)

const token = await createToken(other.server.url, other.users.carol, ['write:repository'])
const base64 = (text: string) => Buffer.from(text).toString('base64')
const mirrors = '/repos/bob/garden/push_mirrors'
const mirrorOf = async (name: string) => ask(bob, 'GET', `${mirrors}/${name}`)

/** Waits until the latest push to a mirror has ended, well or badly. */
const pushed = (name: string, isRight: (mirror: Record<string, unknown>) => boolean) =>
  vi.waitFor(async () => expect(isRight(await mirrorOf(name))).toBe(true), { timeout: 60_000 })

await ask(bob, 'POST', '/user/repos', { name: 'garden', auto_init: true })
await other.ask(other.users.carol, 'POST', '/user/repos', { name: 'copy' })
const address = `${other.server.url}/carol/copy.git`
const fileAt = (path: string) =>
  other.rest(other.users.carol, 'GET', `/repos/carol/copy/contents/${path}`)

describe('a push mirror', () => {
  let name = ''

  it('has the branches of the repository soon after it was added, and shows no secret', async () => {
    const made = await rest(bob, 'POST', mirrors, {
      remote_address: address,
      remote_username: 'carol',
      remote_password: token,
      interval: '0',
      sync_on_commit: true,
    })
    expect(made).toMatchObject({
      status: 200,
      body: { repo_name: 'garden', remote_address: address, interval: '0s', sync_on_commit: true },
    })
    expect(JSON.stringify(made.body)).not.toContain(token)
    name = String(made.body.remote_name)
    await pushed(name, ({ last_update }) => last_update !== undefined)
    expect(await mirrorOf(name)).toMatchObject({ last_error: '' })
    expect((await fileAt('README.md')).status).toBe(200)
  })

  it('follows each change, deletions too', async () => {
    await ask(bob, 'POST', '/repos/bob/garden/contents/rose.txt', {
      content: base64('red'),
      new_branch: 'roses',
    })
    await vi.waitFor(async () => expect((await fileAt('rose.txt?ref=roses')).status).toBe(200), {
      timeout: 60_000,
    })
    await ask(bob, 'DELETE', '/repos/bob/garden/branches/roses')
    await vi.waitFor(async () => expect((await fileAt('rose.txt?ref=roses')).status).toBe(404), {
      timeout: 60_000,
    })
  })

  it('is listed with its state, and keeps its password sealed', async () => {
    expect(await ask(bob, 'GET', mirrors)).toMatchObject([{ remote_name: name }])
    const [row] = await server.app.db.selectFrom('push_mirrors').selectAll().execute()
    expect(String(row?.credentials)).not.toContain(token)
    expect(JSON.stringify(server.logged)).not.toContain(token)
  })

  it('reports what the other server refuses, and tries a change again later', async () => {
    await other.ask(other.users.carol, 'PATCH', '/repos/carol/copy', { archived: true })
    await ask(bob, 'POST', `${mirrors}-sync`)
    await ask(bob, 'POST', '/repos/bob/garden/contents/oak.txt', { content: base64('old') })
    await pushed(name, ({ last_error }) => last_error !== '')
    const untilNext = async () => {
      const [row] = await server.app.db.selectFrom('push_mirrors').selectAll().execute()
      return (row?.next_sync_time ?? 0) - server.app.clock.now()
    }
    await expect.poll(untilNext).toBeGreaterThan(0)
    await other.ask(other.users.carol, 'PATCH', '/repos/carol/copy', { archived: false })
    await ask(bob, 'POST', `${mirrors}-sync`)
    await pushed(name, ({ last_error }) => last_error === '')
    expect((await fileAt('oak.txt')).status).toBe(200)
  })

  it('is deleted without the copy', async () => {
    expect((await rest(bob, 'DELETE', `${mirrors}/${name}`)).status).toBe(204)
    expect((await rest(bob, 'DELETE', `${mirrors}/${name}`)).status).toBe(404)
    expect((await fileAt('oak.txt')).status).toBe(200)
  })
})

describe('nobody misuses push mirrors', () => {
  it.each(['file:///etc', 'ssh://git@example.org/x', 'https://example.org/?a=b', ''])(
    'the address %j is refused',
    async (remote_address) => {
      expect((await rest(bob, 'POST', mirrors, { remote_address })).status).toBe(422)
    },
  )

  it.each(['10.0.0.1', '169.254.169.254', '[::1]', '0x7f.1.1.1'])(
    'the private address %s, which the operator has not allowed, is not stored',
    async (host) => {
      const made = await rest(bob, 'POST', mirrors, { remote_address: `http://${host}/x.git` })
      expect([made.status, made.body.message]).toEqual([
        422,
        expect.stringContaining('private or reserved'),
      ])
      expect(await ask(bob, 'GET', mirrors)).toEqual([])
    },
  )

  it('a private address is refused by gRPC too', async () => {
    const refused = forge.grpc(MirrorService, bob).createPushMirror({
      owner: 'bob',
      repo: 'garden',
      remoteAddress: 'http://10.0.0.1/x.git',
    })
    expect((await refusalOf(refused)).reason).toBe('BLOCKED_ADDRESS')
  })

  it('wrong credentials are reported without them', async () => {
    const made = await ask(bob, 'POST', mirrors, {
      remote_address: address.replace('//', '//carol:wrong-password@'),
    })
    expect(made.remote_address).toBe(address)
    await pushed(String(made.remote_name), ({ last_error }) => last_error !== '')
    const { last_error } = await mirrorOf(String(made.remote_name))
    expect(last_error).toContain('credentials')
    expect(last_error).not.toContain('wrong-password')
    await ask(bob, 'DELETE', `${mirrors}/${made.remote_name}`)
  })

  it('a short interval, and more mirrors than ten, are refused', async () => {
    const remote_address = 'http://127.0.0.1:1/x.git'
    expect((await rest(bob, 'POST', mirrors, { remote_address, interval: '1s' })).status).toBe(422)
    for (let count = 0; count < 10; count += 1) await ask(bob, 'POST', mirrors, { remote_address })
    expect((await rest(bob, 'POST', mirrors, { remote_address })).status).toBe(422)
  })

  it('only administrators of the repository see and change them', async () => {
    expect((await rest(carol, 'GET', mirrors)).status).toBe(403)
    expect((await rest(undefined, 'GET', mirrors)).status).toBe(401)
    await ask(bob, 'PATCH', '/repos/bob/garden', { private: true })
    expect((await rest(carol, 'GET', mirrors)).status).toBe(404)
    const made = forge.grpc(MirrorService, carol).createPushMirror({
      owner: 'bob',
      repo: 'garden',
      remoteAddress: address,
    })
    expect(await refusalOf(made)).toMatchObject({ reason: 'REPOSITORY_NOT_FOUND' })
  })
})
