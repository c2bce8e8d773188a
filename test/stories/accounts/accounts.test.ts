import { createClient } from '@connectrpc/connect'
import { afterEach, describe, expect, it } from 'vitest'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import {
  type Actor,
  createTestUsers,
  PASSWORD,
  signIn,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
afterEach(() => server.stop())

const users = (actor?: Actor) =>
  createClient(UserService, transportTo(server.url, 'gRPC', actor?.authorization))

describe('the first account', () => {
  it('is only one, even for concurrent requests, and administers the instance', async () => {
    server = await startTestServer()
    const attempts = Array.from({ length: 10 }, (_, i) =>
      users().createUser({
        user: { username: `first-${i}`, password: PASSWORD, role: User_Role.USER },
      }),
    )
    const made = (await Promise.allSettled(attempts)).filter((one) => one.status === 'fulfilled')
    expect(made.map(({ value }) => value.role)).toEqual([User_Role.ADMIN])
  })

  it('is refused behind a proxy, whose clients all seem to be on this machine', async () => {
    server = await startTestServer()
    const response = await fetch(`${server.url}/api/v1/users`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.7' },
      body: JSON.stringify({ username: 'mallory', password: PASSWORD }),
    })
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({
      message: expect.stringContaining('user create'),
      details: expect.arrayContaining([
        expect.objectContaining({ reason: 'FIRST_ACCOUNT_REFUSED' }),
      ]),
    })
  })
})

describe('a repeated create request', () => {
  it('creates one account, even if all copies arrive at once', async () => {
    server = await startTestServer()
    const { ada } = await createTestUsers(server.url)
    const request = { user: { username: 'eve', password: PASSWORD }, requestId: 'c0ffee' }
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => users(ada).createUser(request)),
    )
    expect(new Set(answers.map(({ name }) => name))).toEqual(new Set(['users/eve']))
    const { totalSize } = await users(ada).listUsers({ filter: "username == 'eve'" })
    expect(totalSize).toBe(1)
  })

  it('is refused if it differs in any field, including the password', async () => {
    server = await startTestServer()
    const { ada } = await createTestUsers(server.url)
    const user = { username: 'eve', password: PASSWORD }
    await users(ada).createUser({ user, requestId: 'once' })
    for (const other of [
      { ...user, displayName: 'Eve' },
      { ...user, password: 'another horse' },
    ]) {
      await expect(users(ada).createUser({ user: other, requestId: 'once' })).rejects.toThrow(
        'request id was used',
      )
    }
  })

  it('is a new request if another caller sends it', async () => {
    server = await startTestServer({ settings: { registration: 'open' } })
    const { ada } = await createTestUsers(server.url)
    await users(ada).createUser({
      user: { username: 'eve', password: PASSWORD },
      requestId: 'once',
    })
    await expect(
      users().createUser({ user: { username: 'eve', password: PASSWORD }, requestId: 'once' }),
    ).rejects.toThrow('taken')
  })
})

describe('registration', () => {
  it('creates users but no administrators, whatever the request says', async () => {
    server = await startTestServer({ settings: { registration: 'open' } })
    await createTestUsers(server.url)
    const eve = await users().createUser({
      user: { username: 'eve', password: PASSWORD, role: User_Role.ADMIN, state: State.ARCHIVED },
    })
    expect([eve.role, eve.state]).toEqual([User_Role.USER, State.NORMAL])
  })
})

describe('paging through accounts', () => {
  it('neither repeats nor misses an account while others are created and deleted', async () => {
    server = await startTestServer()
    const { ada } = await createTestUsers(server.url)
    const seen: string[] = []
    let pageToken = ''
    for (let page = 0; page === 0 || pageToken !== ''; page++) {
      const answer = await users(ada).listUsers({ pageSize: 1, pageToken, showDeleted: true })
      seen.push(...answer.users.map(({ username }) => username))
      pageToken = answer.nextPageToken
      // New accounts come first and therefore before the remaining pages.
      if (page < 3)
        await users(ada).createUser({ user: { username: `late-${page}`, password: PASSWORD } })
    }
    expect(seen.filter((name) => !name.startsWith('late-'))).toEqual(['dan', 'carol', 'bob', 'ada'])
    expect(new Set(seen).size).toBe(seen.length)
  })

  it('ends on the last page, even if that page is full', async () => {
    server = await startTestServer()
    const { ada } = await createTestUsers(server.url)
    const response = await fetch(`${server.url}/api/v1/users?pageSize=3`, {
      headers: { authorization: ada.authorization },
    })
    expect(Object.keys((await response.json()) as object)).toEqual(['users', 'totalSize'])
  })

  it('accepts a page token only for its own list', async () => {
    server = await startTestServer()
    const { ada } = await createTestUsers(server.url)
    const { nextPageToken } = await users(ada).listUsers({ pageSize: 1 })
    await expect(
      users(ada).listUsers({ pageToken: nextPageToken, showDeleted: true }),
    ).rejects.toThrow('page token')
    await expect(users(ada).listUsers({ pageToken: `${nextPageToken}A` })).rejects.toThrow(
      'page token',
    )
    expect(
      (await users(ada).listUsers({ pageToken: nextPageToken, pageSize: 1000 })).users,
    ).toHaveLength(2)
  })
})

describe('changing an account', () => {
  it('loses no change when fifty requests change different fields at once', async () => {
    server = await startTestServer()
    const { bob } = await createTestUsers(server.url)
    const name = 'users/bob'
    const changes = Array.from({ length: 50 }, (_, i) => {
      const [path, user] = [
        ['display_name', { name, displayName: 'Bob' }],
        ['description', { name, description: 'builds bridges' }],
        ['email', { name, email: 'bob@bridges.example' }],
      ][i % 3] as ['display_name', { name: string }]
      return users(bob).updateUser({ user, updateMask: { paths: [path] } })
    })
    await Promise.all(changes)
    expect(await users(bob).getUser({ name })).toMatchObject({
      displayName: 'Bob',
      description: 'builds bridges',
      email: 'bob@bridges.example',
    })
  })

  it('uses the fields of a REST body as the mask if there is none', async () => {
    server = await startTestServer()
    const { bob } = await createTestUsers(server.url)
    const patch = async (body: object) => {
      const headers = { authorization: bob.authorization, 'content-type': 'application/json' }
      const response = await fetch(`${server.url}/api/v1/users/bob`, {
        method: 'PATCH',
        headers,
        body: JSON.stringify(body),
      })
      return { status: response.status, body: await response.json() }
    }
    // A client that writes back what it read also sends output-only fields.
    expect(
      await patch({ name: 'users/bob', displayName: 'B', createTime: '2020-01-01T00:00:00Z' }),
    ).toMatchObject({
      status: 200,
      body: { displayName: 'B', email: 'bob@example.org' },
    })
    expect(await patch({ display_name: 'C', nickname: 'b' })).toMatchObject({
      status: 400,
      body: {
        details: expect.arrayContaining([
          expect.objectContaining({ reason: 'UNKNOWN_MASK_PATH', metadata: { path: 'nickname' } }),
        ]),
      },
    })
    expect(await patch({})).toMatchObject({
      status: 400,
      body: {
        details: expect.arrayContaining([expect.objectContaining({ reason: 'EMPTY_MASK' })]),
      },
    })
    expect(await users(bob).getUser({ name: 'users/bob' })).toMatchObject({ displayName: 'B' })
  })

  it('to another name frees the old one at once, and keeps the session', async () => {
    server = await startTestServer()
    const { bob, carol } = await createTestUsers(server.url)
    const renamed = await users(bob).updateUser({
      user: { name: 'users/bob', username: 'robert' },
      updateMask: { paths: ['username'] },
    })
    expect(renamed.name).toBe('users/robert')
    await expect(users(bob).getUser({ name: 'users/bob' })).rejects.toThrow('does not exist')
    expect(
      (
        await users(carol).updateUser({
          user: { name: 'users/carol', username: 'bob' },
          updateMask: { paths: ['username'] },
        })
      ).name,
    ).toBe('users/bob')
    expect(
      (
        await users(bob).updateUser({
          user: { name: 'users/robert', description: '-' },
          updateMask: { paths: ['description'] },
        })
      ).username,
    ).toBe('robert')
  })

  it('to another password ends all other sessions, and every access token', async () => {
    server = await startTestServer()
    const { bob } = await createTestUsers(server.url)
    const elsewhere = await signIn(server.url, 'bob')
    await users(bob).updateUser({
      user: { name: 'users/bob', password: 'another horse', currentPassword: PASSWORD },
      updateMask: { paths: ['password'] },
    })
    for (const old of [bob, elsewhere])
      await expect(users(old).getUser({ name: 'users/bob' })).rejects.toThrow('credentials')
    await expect(signIn(server.url, 'bob')).rejects.toThrow('credentials')
    await signIn(server.url, 'bob', 'another horse')
  })

  it('to archived locks the account out at once, until it is restored', async () => {
    server = await startTestServer()
    const { ada, bob } = await createTestUsers(server.url)
    const setState = (state: State) =>
      users(ada).updateUser({
        user: { name: 'users/bob', state },
        updateMask: { paths: ['state'] },
      })
    await setState(State.ARCHIVED)
    await expect(users(bob).getUser({ name: 'users/bob' })).rejects.toThrow('credentials')
    expect((await users().batchGetUsers({ usernames: ['bob'] })).users).toEqual([])
    await setState(State.NORMAL)
    await signIn(server.url, 'bob')
  })

  it('keeps one administrator when two demote themselves at once', async () => {
    server = await startTestServer()
    const { ada } = await createTestUsers(server.url)
    await users(ada).updateUser({
      user: { name: 'users/bob', role: User_Role.ADMIN },
      updateMask: { paths: ['role'] },
    })
    const bob = await signIn(server.url, 'bob')
    const demote = (actor: Actor) =>
      users(actor).updateUser({
        user: { name: `users/${actor.username}`, role: User_Role.USER },
        updateMask: { paths: ['role'] },
      })
    const outcomes = await Promise.allSettled([demote(ada), demote(bob)])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })
})

describe('deleting an account', () => {
  it('frees its name and revokes its credentials for good', async () => {
    server = await startTestServer()
    const { ada, bob } = await createTestUsers(server.url)
    await users(bob).deleteUser({ name: 'users/bob' })
    await expect(users(bob).getUser({ name: 'users/carol' })).rejects.toThrow('credentials')
    const again = await users(ada).createUser({ user: { username: 'bob', password: PASSWORD } })
    expect(again.name).toBe('users/bob')
    await expect(users(bob).getUser({ name: 'users/bob' })).rejects.toThrow('credentials')
  })
})

describe('an avatar', () => {
  const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

  it('is returned as the path that serves it, as a picture only', async () => {
    server = await startTestServer()
    const { bob } = await createTestUsers(server.url)
    const avatarUrl = `data:image/png;base64,${PNG.toString('base64')}`
    const updated = await users(bob).updateUser({
      user: { name: 'users/bob', avatarUrl },
      updateMask: { paths: ['avatar_url'] },
    })
    expect(updated.avatarUrl).toBe('/file/users/bob/avatar')
    const response = await fetch(server.url + updated.avatarUrl)
    expect(Buffer.from(await response.arrayBuffer()).equals(PNG)).toBe(true)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    })
    const etag = response.headers.get('etag') ?? ''
    expect(
      (await fetch(server.url + updated.avatarUrl, { headers: { 'if-none-match': etag } })).status,
    ).toBe(304)
    const kept = await users(bob).updateUser({
      user: { name: 'users/bob', avatarUrl: updated.avatarUrl },
      updateMask: { paths: ['avatar_url'] },
    })
    expect(kept.avatarUrl).toBe(updated.avatarUrl)
    await users(bob).updateUser({
      user: { name: 'users/bob', avatarUrl: '' },
      updateMask: { paths: ['avatar_url'] },
    })
    expect((await fetch(server.url + updated.avatarUrl)).status).toBe(404)
  })
})
