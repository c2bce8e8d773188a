import { createClient } from '@connectrpc/connect'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import type { SendRest } from '../../support/rest.ts'
import { type Actor, createToken, PASSWORD, signIn, transportTo } from '../../support/server.ts'

let eve: Actor

const { server, users, rest, client: git } = await openForge()
beforeAll(async () => {
  const asAda = createClient(UserService, transportTo(server.url, 'gRPC', users.ada.authorization))
  await asAda.createUser({ user: { username: 'eve', password: PASSWORD, role: User_Role.USER } })
  eve = await signIn(server.url, 'eve')
})

const ORGANIZATION = '/orgs/acme'
const OPEN = '/repos/acme/open'
const CLOSED = '/repos/acme/closed'
let teamId: number

/** Bob owns acme. Carol is in a team that reads code. */
beforeEach(async () => {
  for (const path of [OPEN, CLOSED]) await rest(users.bob, 'DELETE', path)
  await rest(users.bob, 'DELETE', ORGANIZATION)
  expect((await rest(users.bob, 'POST', '/orgs', { username: 'acme' })).status).toBe(201)
  for (const [name, isPrivate] of [
    ['open', false],
    ['closed', true],
  ]) {
    const made = await rest(users.bob, 'POST', '/orgs/acme/repos', {
      name,
      private: isPrivate,
      auto_init: true,
    })
    expect(made.status).toBe(201)
  }
  const team = {
    name: 'readers',
    units_map: { 'repo.code': 'read' },
    includes_all_repositories: true,
  }
  const made = await rest(users.bob, 'POST', '/orgs/acme/teams', team)
  expect(made.status).toBe(201)
  teamId = made.body.id
  expect((await rest(users.bob, 'PUT', `/teams/${teamId}/members/carol`)).status).toBe(204)
})

const statusOf = async (...request: Parameters<SendRest>) => (await rest(...request)).status

/** Returns what Git prints when it lists the refs. */
const listRemote = (path: string, username?: string) =>
  git.git('.', 'ls-remote', remoteOf(server.url, path, username, username && PASSWORD)).then(
    () => 'fine',
    (error: Error) =>
      /returned error: \d+|not found|could not read Username/.exec(error.message)?.[0],
  )

describe('a repository of an organisation', () => {
  it('is accessible to members according to their teams', async () => {
    expect((await rest(users.carol, 'GET', CLOSED)).body.permissions).toEqual({
      admin: false,
      push: false,
      pull: true,
    })
    expect(await listRemote('acme/closed', 'carol')).toBe('fine')
    expect(await statusOf(eve, 'GET', CLOSED)).toBe(404)
    expect(await listRemote('acme/closed', 'eve')).toBe('not found')
    await git.git('.', 'clone', '-q', remoteOf(server.url, 'acme/closed', 'carol', PASSWORD))
    await git.commit('closed', 'mine')
    await expect(git.git('closed', 'push', '-q')).rejects.toThrow('returned error: 403')
    const edit = { units_map: { 'repo.code': 'write' } }
    expect(
      await statusOf(users.bob, 'PATCH', `/teams/${teamId}`, { name: 'readers', ...edit }),
    ).toBe(200)
    await git.git('closed', 'push', '-q')
    // Write access does not include administration.
    expect(await statusOf(users.carol, 'PATCH', CLOSED, { description: 'ours' })).toBe(403)
    expect(await statusOf(users.bob, 'DELETE', `/teams/${teamId}/members/carol`)).toBe(204)
    await expect(git.git('closed', 'fetch', '-q')).rejects.toThrow('not found')
  })

  it('has units that a team may not see', async () => {
    const edit = { name: 'readers', units_map: { 'repo.issues': 'write' } }
    expect(await statusOf(users.bob, 'PATCH', `/teams/${teamId}`, edit)).toBe(200)
    expect(await statusOf(users.carol, 'GET', CLOSED)).toBe(200)
    const contents = await rest(users.carol, 'GET', `${CLOSED}/contents/README.md`)
    expect([contents.status, contents.body.message]).toEqual([
      403,
      'user should have specific read permission or be a repo admin or a site admin',
    ])
    expect(
      await statusOf(users.carol, 'POST', `${CLOSED}/labels`, { name: 'bug', color: '#f00' }),
    ).toBe(201)
    expect(await listRemote('acme/closed', 'carol')).toBe('returned error: 403')
  })

  it.each([
    ['public', { anybody: 200, signedIn: 200, git: 'fine' }],
    ['limited', { anybody: 404, signedIn: 200, git: 'could not read Username' }],
    ['private', { anybody: 404, signedIn: 404, git: 'could not read Username' }],
  ])('that is %s is visible to the right callers', async (visibility, seen) => {
    expect(await statusOf(users.bob, 'PATCH', ORGANIZATION, { visibility })).toBe(200)
    expect(await statusOf(undefined, 'GET', OPEN)).toBe(seen.anybody)
    expect(await statusOf(eve, 'GET', OPEN)).toBe(seen.signedIn)
    expect(await statusOf(users.carol, 'GET', OPEN)).toBe(200)
    expect(await statusOf(users.ada, 'GET', OPEN)).toBe(200)
    expect(await listRemote('acme/open')).toBe(seen.git)
    // A public-only token sees what everyone sees.
    const publicOnly = await createToken(server.url, users.carol, ['all', 'public-only'])
    expect(await statusOf({ authorization: `token ${publicOnly}` }, 'GET', OPEN)).toBe(seen.anybody)
    const found = await rest(eve, 'GET', '/repos/search?q=open')
    expect(found.body.data.length).toBe(seen.signedIn === 200 ? 1 : 0)
  })

  it('is accessible to collaborators, whatever the visibility of the organisation', async () => {
    await rest(users.bob, 'PATCH', ORGANIZATION, { visibility: 'private' })
    expect(
      await statusOf(users.bob, 'PUT', `${CLOSED}/collaborators/eve`, { permission: 'write' }),
    ).toBe(204)
    expect((await rest(eve, 'GET', CLOSED)).body.permissions).toEqual({
      admin: false,
      push: true,
      pull: true,
    })
    expect(await statusOf(eve, 'GET', OPEN)).toBe(404)
    expect(await listRemote('acme/closed', 'eve')).toBe('fine')
  })
})
