import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { WatchIssuesResponse } from '#gen/branchline/v1/issue_event_service_pb.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, createToken, startTestServer, type TestServer } from '../../support/server.ts'
import {
  WATCH_PROTOCOLS,
  type Watcher,
  type WatchProtocol,
  watchIssues,
} from '../../support/watch.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
const watchers: Watcher<WatchIssuesResponse>[] = []

/** bob owns the repositories, carol may write to them, eve has no role. */
beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterEach(() => {
  for (const watcher of watchers.splice(0)) watcher.leave()
})
afterAll(() => server.stop())

async function fresh(name: string, fields: object = {}): Promise<string> {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  return path
}

/** Begins to watch what concerns a user. */
async function watch(
  who: Pick<Actor, 'authorization'> | undefined,
  { protocol = 'gRPC', cursor = '' }: { protocol?: WatchProtocol; cursor?: string } = {},
) {
  const watcher = watchIssues(server.url, protocol, who?.authorization, { cursor })
  watchers.push(watcher)
  const first = await watcher.next()
  expect(first.issue).toBe(undefined)
  return {
    leave: () => watcher.leave(),
    /** The next changed issue, and the cursor after it. */
    async next(): Promise<{ named: string; cursor: string }> {
      for (;;) {
        const { issue, deleted, cursor: after } = await watcher.next()
        // A heartbeat of a slow machine names nothing.
        const end = deleted ? ' deleted' : ''
        if (issue)
          return { named: `${issue.repository?.fullName}#${issue.number}${end}`, cursor: after }
      }
    },
  }
}

const open = (path: string, fields: object) =>
  forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'issue', ...fields })

const edit = (path: string, number: number, fields: object) =>
  forge.ask(users.bob, 'PATCH', `${path}/issues/${number}`, fields)

describe('the issues that concern a user', () => {
  it.each(WATCH_PROTOCOLS)('are named when they change, over %s', async (protocol) => {
    const name = `mine-${protocol.toLowerCase().replaceAll(/[^a-z]/g, '')}`
    const path = await fresh(name)
    const watcher = await watch(users.carol, { protocol })
    await open(path, { title: 'of nobody' })
    await open(path, { assignees: ['carol'] })
    expect((await watcher.next()).named).toBe(`bob/${name}#2`)
    await open(path, { body: 'see @carol' })
    expect((await watcher.next()).named).toBe(`bob/${name}#3`)
    await edit(path, 2, { state: 'closed' })
    expect((await watcher.next()).named).toBe(`bob/${name}#2`)
    await edit(path, 2, { assignees: [] })
    expect((await watcher.next()).named).toBe(`bob/${name}#2`)
    await edit(path, 1, { title: 'still of nobody' })
    await forge.ask(users.carol, 'POST', `${path}/issues`, { title: 'own' })
    expect((await watcher.next()).named).toBe(`bob/${name}#4`)
  })

  it('continue with the cursor where a stream was cut, each once', async () => {
    const path = await fresh('cut')
    const watcher = await watch(users.carol)
    await open(path, { assignees: ['carol'] })
    const { cursor } = await watcher.next()
    watcher.leave()
    for (const title of ['a', 'b', 'c']) await edit(path, 1, { title })
    await open(path, { assignees: ['carol'] })
    await edit(path, 1, { title: 'd' })
    const again = await watch(users.carol, { cursor })
    expect([(await again.next()).named, (await again.next()).named]).toEqual([
      'bob/cut#2',
      'bob/cut#1',
    ])
    await expect(watch(users.eve, { cursor })).rejects.toThrow('cursor')
  })

  it('are those that the user may read', async () => {
    const [hidden, shown] = [await fresh('hidden', { private: true }), await fresh('shown')]
    await open(hidden, { assignees: ['carol'] })
    await expect(watch(undefined)).rejects.toThrow()
    const authorization = async (scope: string) =>
      `Bearer ${await createToken(server.url, users.carol, [scope])}`
    const ofRepositories = { authorization: await authorization('read:repository') }
    await expect(watch(ofRepositories)).rejects.toThrow()
    const bearer = { authorization: await authorization('read:issue') }
    const watcher = await watch(bearer)
    await edit(hidden, 1, { title: 'for carol' })
    expect((await watcher.next()).named).toBe('bob/hidden#1')
    await forge.ask(users.bob, 'DELETE', `${hidden}/collaborators/carol`)
    await edit(hidden, 1, { title: 'a secret', body: '@carol' })
    await open(shown, { body: '@carol' })
    expect((await watcher.next()).named).toBe('bob/shown#1')
  })

  it('are named when they are deleted, to who may still read the repository', async () => {
    const [hidden, shown] = [await fresh('gone', { private: true }), await fresh('gone-too')]
    for (const path of [hidden, shown]) await open(path, { body: '@carol', assignees: ['carol'] })
    await open(shown, { body: '@carol' })
    await open(shown, { title: 'of nobody' })
    const watcher = await watch(users.carol)
    await forge.ask(users.bob, 'DELETE', `${hidden}/collaborators/carol`)
    await forge.ask(users.bob, 'DELETE', `${hidden}/issues/1`)
    for (const number of [3, 1, 2])
      await forge.ask(users.bob, 'DELETE', `${shown}/issues/${number}`)
    expect((await watcher.next()).named).toBe('bob/gone-too#1 deleted')
    expect((await watcher.next()).named).toBe('bob/gone-too#2 deleted')
  })

  // The last one, because a late check of the pull request may concern the user, too.
  it('are pull requests too, until the request for a review ends', async () => {
    const path = await fresh('reviews')
    await forge.change(users.bob, path, 'f')
    await forge.ask(users.bob, 'POST', `${path}/pulls`, { title: 'p', head: 'f', base: 'main' })
    const watcher = await watch(users.carol)
    const reviewers = { reviewers: ['carol'] }
    await forge.ask(users.bob, 'POST', `${path}/pulls/1/requested_reviewers`, reviewers)
    expect((await watcher.next()).named).toBe('bob/reviews#1')
    await forge.ask(users.bob, 'DELETE', `${path}/pulls/1/requested_reviewers`, reviewers)
    expect((await watcher.next()).named).toBe('bob/reviews#1')
  })
})
