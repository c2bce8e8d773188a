import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

/** bob owns the repositories, carol may write to some of them, eve has no role. */
beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

/** Makes a repository of bob's where carol may write. */
async function fresh(name: string, fields: object = {}): Promise<string> {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  return path
}

const open = (who: Actor, path: string, fields: object = {}) =>
  forge.ask(who, 'POST', `${path}/issues`, { title: 'a bug', ...fields })

const transfer = (who: Actor, path: string, number: number, repo: string, more: object = {}) =>
  forge.rest(who, 'POST', `${path}/issues/${number}:transfer`, { owner: 'bob', repo, ...more })

/** The answer to a request without a redirect: status and address. */
async function look(path: string, init: RequestInit = {}) {
  const answer = await fetch(`${server.url}/api/v1${path}`, { redirect: 'manual', ...init })
  return [answer.status, answer.headers.get('location')]
}

const counts = async (path: string) =>
  (await forge.ask(users.bob, 'GET', path)).open_issues_count as number

describe('a transfer', () => {
  it('keeps the issue and its comments, and takes labels and the milestone by name', async () => {
    const [from, to] = [await fresh('from'), await fresh('to')]
    await open(users.eve, to)
    for (const path of [from, to]) {
      await forge.ask(users.bob, 'POST', `${path}/labels`, { name: 'bug', color: '#ff0000' })
      await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'one' })
    }
    await forge.ask(users.bob, 'POST', `${from}/labels`, { name: 'only here', color: '#ff0000' })
    const [milestone] = await forge.ask(users.bob, 'GET', `${from}/milestones`)
    const issue = await open(users.bob, from, {
      labels: ['bug', 'only here'],
      milestone: milestone.id,
      assignees: ['carol'],
    })
    const said = await forge.ask(users.eve, 'POST', `${from}/issues/1/comments`, { body: 'me too' })
    await forge.ask(users.bob, 'POST', `${from}/issues/1/pin`)
    const before = [await counts(from), await counts(to)]

    const { status, body } = await transfer(users.carol, from, 1, 'to')
    expect(status).toBe(201)
    expect(body).toMatchObject({
      id: issue.id,
      number: 2,
      title: 'a bug',
      comments: 1,
      pin_order: 0,
      labels: [{ name: 'bug' }],
      milestone: { title: 'one', open_issues: 1 },
      assignees: [{ login: 'carol' }],
      repository: { full_name: 'bob/to' },
    })
    expect(before).toEqual([1, 1])
    expect([await counts(from), await counts(to)]).toEqual([0, 2])
    expect((await forge.ask(users.bob, 'GET', `${from}/milestones`))[0].open_issues).toBe(0)
    expect(await forge.ask(users.eve, 'GET', `${to}/issues/2/comments`)).toMatchObject([
      { id: said.id, body: 'me too' },
    ])
    const comments = await forge.ask(users.eve, 'GET', `${to}/issues/comments`)
    expect(comments.map(({ id }: { id: number }) => id)).toEqual([said.id])
    expect(await forge.ask(users.eve, 'GET', `${from}/issues/pinned`)).toEqual([])
    const timeline = await forge.ask(users.eve, 'GET', `${to}/issues/2/timeline`)
    expect(timeline.at(-1)).toMatchObject({ type: 'transferred', user: { login: 'carol' } })
    // The number is never used again.
    expect((await open(users.eve, from)).number).toBe(2)
  })

  it('redirects every path of the former number, for readers of both, also twice', async () => {
    const [one, two] = [await fresh('one'), await fresh('two')]
    await open(users.eve, one)
    await transfer(users.bob, one, 1, 'two')
    expect(await look(`${one}/issues/1`)).toEqual([301, `/api/v1${two}/issues/1`])
    expect(await look(`${one}/issues/1/comments?since=2020-01-01T00:00:00Z`)).toEqual([
      301,
      `/api/v1${two}/issues/1/comments?since=2020-01-01T00:00:00Z`,
    ])
    await fresh('three', { private: true })
    await transfer(users.bob, two, 1, 'three')
    expect((await look(`${one}/issues/1`))[0]).toBe(404)
    const headers = { authorization: users.bob.authorization }
    expect(await look(`${one}/issues/1`, { headers })).toEqual([
      301,
      '/api/v1/repos/bob/three/issues/1',
    ])
  })
})

describe('a refused transfer', () => {
  it('needs write access to both, and an issue', async () => {
    const path = await fresh('source')
    await open(users.eve, path)
    await forge.repository(users.bob, 'foreign')
    await forge.repository(users.bob, 'hidden', { private: true })
    const statusOf = async (...args: Parameters<typeof transfer>) =>
      (await transfer(...args)).status
    expect(await statusOf(users.eve, path, 1, 'source')).toBe(403)
    expect(await statusOf(users.carol, path, 1, 'foreign')).toBe(403)
    expect(await statusOf(users.carol, path, 1, 'hidden')).toBe(404)
    expect(await statusOf(users.carol, path, 9, 'foreign')).toBe(404)
    expect(await statusOf(users.bob, path, 1, 'source')).toBe(422)
    expect(await statusOf(users.bob, path, 1, '')).toBe(422)
    await forge.ask(users.bob, 'PATCH', '/repos/bob/foreign', { archived: true })
    expect(await statusOf(users.bob, path, 1, 'foreign')).toBe(423)
    expect((await forge.ask(users.eve, 'GET', `${path}/issues/1`)).number).toBe(1)
  })

  it('makes nothing public unasked', async () => {
    const path = await fresh('secret', { private: true })
    await fresh('public')
    await open(users.bob, path)
    const refused = await transfer(users.bob, path, 1, 'public')
    expect([refused.status, refused.body.message]).toEqual([422, 'confirm_public is required'])
    const confirmed = await transfer(users.bob, path, 1, 'public', { confirm_public: true })
    expect(confirmed.status).toBe(201)
    expect((await look(`${path}/issues/1`))[0]).toBe(404)
  })
})
