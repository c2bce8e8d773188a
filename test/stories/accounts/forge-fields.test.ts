import { fromJson } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { UserSchema } from '#gen/branchline/v1/user_pb.ts'
import { ListUsersResponseSchema, UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import { RPC_PROTOCOLS, transportTo } from '../../support/server.ts'

const forge = await openForge()
const { ada, bob } = forge.users
const { url } = forge.server

const send = (method: string, path: string, body?: object) =>
  forge.rest(bob, method, path, body ? { ...body } : undefined)

/** What the clients of Gitea and Forgejo read of an account. */
async function read(path = '/users/bob') {
  const { status, body } = await send('GET', path)
  const { id, login, full_name, html_url, created } = body
  return { status, id, login, full_name, html_url, created }
}

describe('the fields of an account that forge clients read', () => {
  it('have the names of Gitea, and the number that the account has elsewhere', async () => {
    await send('PATCH', '/users/bob', { displayName: 'Bob B.' })
    const { body: self } = await send('GET', '/user')
    const expected = {
      id: self.id,
      login: 'bob',
      full_name: 'Bob B.',
      html_url: `${url}/bob`,
      created: self.created,
    }
    expect(Date.parse(expected.created)).toBeGreaterThan(0)
    expect(await read()).toEqual({ status: 200, ...expected })
    expect(self).toMatchObject(expected)
    expect(expected.id).toBeGreaterThan(0)
  })

  it('follow the username, while the resource name is the chosen id', async () => {
    const { body } = await forge.rest(ada, 'POST', '/users?userId=fixed-id', {
      username: 'Erin',
      password: 'correct horse',
      id: 7,
      login: 'other',
      full_name: 'other',
      html_url: 'other',
    })
    expect(body).toMatchObject({ login: 'Erin', full_name: '', html_url: `${url}/Erin` })
    expect(body.id).not.toBe(7)
    expect(await read('/users/fixed-id')).toMatchObject({ id: body.id, login: 'Erin' })
  })

  it('are the same on all protocols, wherever an account is part of a response', async () => {
    const { id } = await read()
    const expected = { id, login: 'bob', htmlUrl: `${url}/bob` }
    for (const protocol of RPC_PROTOCOLS) {
      const transport = transportTo(url, protocol, ada.authorization)
      const users = createClient(UserService, transport)
      expect(await users.getUser({ name: 'users/bob' })).toMatchObject(expected)
      expect((await users.batchGetUsers({ usernames: ['bob'] })).users).toMatchObject([expected])
      const listed = (await users.listUsers({})).users
      expect(listed.find(({ username }) => username === 'bob')).toMatchObject(expected)
      const auth = createClient(AuthService, transportTo(url, protocol, bob.authorization))
      expect((await auth.getCurrentUser({})).user).toMatchObject(expected)
    }
  })

  it('are read strictly by protobuf-es, over REST and over Connect', async () => {
    const call = await fetch(`${url}/branchline.v1.UserService/GetUser`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'users/bob' }),
    })
    const strict = { ignoreUnknownFields: false }
    for (const json of [await call.json(), (await send('GET', '/users/bob')).body])
      expect(fromJson(UserSchema, json, strict)).toMatchObject({ login: 'bob', username: 'bob' })
    const { body } = await forge.rest(ada, 'GET', '/users')
    expect(fromJson(ListUsersResponseSchema, body, strict).users[0]?.id).toBeGreaterThan(0)
  })

  it('cannot be changed, like all output-only fields', async () => {
    const before = await read()
    const created = '2001-01-01T00:00:00Z'
    const names = { login: 'mallory', full_name: 'M', html_url: 'https://example.org' }
    const values = { id: 99, ...names, created }
    const returned = await send('PATCH', '/users/bob', { ...values, description: 'new' })
    expect([returned.status, returned.body.description]).toEqual([200, 'new'])
    const masked = await send(
      'PATCH',
      '/users/bob?updateMask=id,login,full_name,htmlUrl,created',
      values,
    )
    expect(masked.status).toBe(200)
    expect(await read()).toEqual(before)
  })

  it('may be in a read mask, in both spellings', async () => {
    const { body } = await send('GET', '/users/bob?readMask=id,htmlUrl,full_name')
    const { id, login, username, html_url: htmlUrl } = body
    expect([id, htmlUrl]).toEqual([(await read()).id, `${url}/bob`])
    expect([login, username]).toEqual(['', ''])
    const other = await send('GET', '/users/bob?readMask=html_url,login')
    expect([other.body.id, other.body.login, other.body.html_url]).toEqual([0, 'bob', `${url}/bob`])
  })
})
