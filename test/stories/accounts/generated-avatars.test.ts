import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { RPC_PROTOCOLS, startTestServer, transportTo } from '../../support/server.ts'

const forge = await openForge()
const { users, server, ask } = forge

describe('an account without a picture', () => {
  it('has a generated one, the same for every caller and under every name', async () => {
    const { avatar_url, id } = await ask(users.bob, 'GET', '/user')
    expect(avatar_url).toMatch(new RegExp(`^${server.url}/file/avatars/[0-9a-f]{32}$`))
    const { owner } = await ask(users.bob, 'POST', '/user/repos', { name: 'engine' })
    expect(owner).toMatchObject({ id, avatar_url })
    const { data } = await ask(users.carol, 'GET', `/users/search?uid=${id}`)
    expect(data).toMatchObject([{ login: 'bob', avatar_url }])
    expect((await ask(users.carol, 'GET', '/user')).avatar_url).not.toBe(avatar_url)
    await ask(users.bob, 'PATCH', '/users/bob', { username: 'robert' })
    expect(await ask(users.bob, 'GET', '/user')).toMatchObject({ login: 'robert', avatar_url })
  })

  it('has none in its own resource, where an empty address means none', async () => {
    expect((await ask(users.carol, 'GET', '/users/carol')).avatarUrl).toBe('')
  })

  it('loses the generated one to a picture of its own', async () => {
    const avatarUrl = 'https://example.org/ada.png'
    await ask(users.ada, 'PATCH', '/users/ada', { avatarUrl })
    expect((await ask(users.ada, 'GET', '/user')).avatar_url).toBe(avatarUrl)
  })

  it('may be an organisation', async () => {
    const acme = await ask(users.carol, 'POST', '/orgs', { username: 'acme' })
    expect(acme.avatar_url).toContain('/file/avatars/')
    const { owner } = await ask(users.carol, 'POST', '/orgs/acme/repos', { name: 'tools' })
    expect(owner.avatar_url).toBe(acme.avatar_url)
  })
})

describe('a generated picture', () => {
  const seed = '0123456789abcdef'.repeat(2)

  it('is a harmless SVG that caches keep', async () => {
    const first = await fetch(`${server.url}/file/avatars/${seed}`)
    const text = await first.text()
    expect([first.status, first.headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
    expect(text).toMatch(/^<svg [^<>]*>(<rect [^<>]*\/>)+<\/svg>$/)
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=300',
    })
    const again = await fetch(first.url, {
      headers: { 'if-none-match': first.headers.get('etag') ?? '' },
    })
    expect(again.status).toBe(304)
    const other = await fetch(`${server.url}/file/avatars/${seed.replace('0', '7')}`)
    expect(await other.text()).not.toBe(text)
  })

  it.each(['', '0', 'users', seed.toUpperCase(), `${seed}0`, '%3Csvg%3E', 'x'.repeat(9000)])(
    'does not exist for %j',
    async (text) => {
      const refused = await fetch(`${server.url}/file/avatars/${text}`)
      expect([refused.status, refused.headers.get('content-type')]).toEqual([
        404,
        'application/json',
      ])
      expect((await refused.text()).length).toBeLessThan(1000)
    },
  )

  it.each(RPC_PROTOCOLS)('is the same over %s', async (protocol) => {
    const client = createClient(UserService, transportTo(server.url, protocol))
    const { contentType, data } = await client.getGeneratedAvatar({ seed })
    expect([contentType, Buffer.from(data).toString().slice(0, 4)]).toEqual([
      'image/svg+xml',
      '<svg',
    ])
    expect(await refusalOf(client.getGeneratedAvatar({ seed: '' }))).toMatchObject({
      code: 'NotFound',
      reason: 'AVATAR_NOT_FOUND',
    })
  })

  it('tells a stranger of a private instance nothing, and is shown to everyone', async () => {
    const hidden = await startTestServer({ settings: { privateInstance: true } })
    try {
      const picture = await fetch(`${hidden.url}/file/avatars/${seed}`)
      const known = await fetch(`${server.url}/file/avatars/${seed}`)
      expect([picture.status, await picture.text()]).toEqual([200, await known.text()])
      expect((await fetch(`${hidden.url}/file/users/bob/avatar`)).status).toBe(401)
    } finally {
      await hidden.stop()
    }
  })
})
