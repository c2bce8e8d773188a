import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { WatchIssueResponse } from '#gen/branchline/v1/issue_event_service_pb.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, createToken, startTestServer, type TestServer } from '../../support/server.ts'
import {
  WATCH_PROTOCOLS,
  type Watcher,
  type WatchProtocol,
  watchIssue,
} from '../../support/watch.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
const watchers: Watcher<WatchIssueResponse>[] = []

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

/** Makes a repository of bob's with an issue. */
async function fresh(name: string, fields: object = {}): Promise<string> {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'issue' })
  return path
}

/** Begins to watch a conversation of bob's. */
async function watch(
  who: Pick<Actor, 'authorization'> | undefined,
  repo: string,
  {
    protocol = 'gRPC',
    cursor = '',
    index = 1n,
  }: { protocol?: WatchProtocol; cursor?: string; index?: bigint } = {},
) {
  const request = { owner: 'bob', repo, index, cursor }
  const watcher = watchIssue(server.url, protocol, who?.authorization, request)
  watchers.push(watcher)
  const first = await watcher.next()
  expect(first.change.case).toBe(undefined)
  return {
    next: () => watcher.next(),
    leave: () => watcher.leave(),
    /** What the next changes tell, and the last cursor. */
    async take(count: number): Promise<{ told: string[]; cursor: string }> {
      const told: string[] = []
      let last = ''
      while (told.length < count) {
        const answer = await watcher.next()
        last = answer.cursor
        told.push(brief(answer))
      }
      return { told, cursor: last }
    },
  }
}

function brief({ change }: WatchIssueResponse): string {
  switch (change.case) {
    case 'entry':
      return `${change.value.type} ${change.value.body}`.trim()
    case 'commentEdited':
      return `edited ${change.value.body}`
    case 'commentDeleted':
      return `deleted ${change.value}`
    case 'changed':
      return `changed ${change.value.title} ${change.value.state}`
    case 'reactions': {
      const counts = change.value.counts.map(({ content, count }) => `${content} ${count}`)
      return `reactions to ${change.value.commentId}: ${counts.join(', ')}`
    }
    case 'deleted':
      return 'gone'
    default:
      return 'nothing'
  }
}

describe('the changes of an issue', () => {
  it.each(WATCH_PROTOCOLS)('are sent once each, over %s', async (protocol) => {
    const name = `life-${protocol.toLowerCase().replaceAll(/[^a-z]/g, '')}`
    const path = await fresh(name)
    const watcher = await watch(undefined, name, { protocol })
    const say = (body: string) =>
      forge.ask(users.eve, 'POST', `${path}/issues/1/comments`, { body })
    const { id } = await say('one')
    expect((await watcher.take(1)).told).toEqual(['comment one'])
    await forge.ask(users.eve, 'PATCH', `${path}/issues/comments/${id}`, { body: 'two' })
    expect((await watcher.take(1)).told).toEqual(['edited two'])
    await forge.ask(users.bob, 'PATCH', `${path}/issues/1`, { title: 'new', state: 'closed' })
    const { told } = await watcher.take(3)
    expect(told).toEqual(['change_title', 'close', 'changed new closed'])
    const heart = { content: 'heart' }
    await forge.ask(users.eve, 'POST', `${path}/issues/1/reactions`, heart)
    await forge.ask(users.eve, 'POST', `${path}/issues/1/reactions`, heart)
    await forge.ask(users.bob, 'POST', `${path}/issues/comments/${id}/reactions`, heart)
    await forge.ask(users.eve, 'DELETE', `${path}/issues/1/reactions`, heart)
    expect((await watcher.take(3)).told.sort()).toHaveLength(3)
    await forge.ask(users.eve, 'DELETE', `${path}/issues/comments/${id}`)
    expect((await watcher.take(1)).told).toEqual([`deleted ${id}`])
    await forge.ask(users.bob, 'DELETE', `${path}/issues/1`)
    expect((await watcher.take(1)).told).toEqual(['gone'])
    await expect(watcher.next()).rejects.toThrow('not found')
  })

  it('continue with the cursor where a stream was cut, and say what is there', async () => {
    const path = await fresh('cut')
    const watcher = await watch(users.eve, 'cut')
    const bodies = Array.from({ length: 10 }, (_, n) => `comment ${n}`)
    for (const body of bodies)
      await forge.ask(users.bob, 'POST', `${path}/issues/1/comments`, { body })
    const { told, cursor } = await watcher.take(4)
    watcher.leave()
    await forge.ask(users.bob, 'POST', `${path}/issues/1/reactions`, { content: 'heart' })
    await forge.ask(users.bob, 'PATCH', `${path}/issues/1`, { state: 'closed' })
    await forge.ask(users.bob, 'PATCH', `${path}/issues/1`, { state: 'open' })
    const again = await watch(users.eve, 'cut', { cursor })
    const rest = (await again.take(11)).told
    expect([...told, ...rest.slice(0, 6)]).toEqual(bodies.map((body) => `comment ${body}`))
    expect(rest[6]).toBe('reactions to 0: heart 1')
    // Times are seconds, so both entries may come before the first of the two changes.
    expect(rest.slice(7).filter((text) => text === 'close' || text === 'reopen')).toHaveLength(2)
    expect(rest.at(-1)).toBe('changed issue open')
  })

  it('are those of a pull request, too', async () => {
    const path = await fresh('pulls')
    await forge.change(users.bob, path, 'f')
    await forge.ask(users.bob, 'POST', `${path}/pulls`, { title: 'p', head: 'f', base: 'main' })
    const watcher = await watch(users.eve, 'pulls', { index: 2n })
    await forge.ask(users.eve, 'POST', `${path}/issues/2/comments`, { body: 'hm' })
    await forge.ask(users.eve, 'POST', `${path}/issues/1/comments`, { body: 'of another' })
    await forge.ask(users.bob, 'POST', `${path}/issues/2/reactions`, { content: 'eyes' })
    await forge.ask(users.bob, 'PATCH', `${path}/issues/2`, { state: 'closed' })
    expect((await watcher.take(4)).told).toEqual([
      'comment hm',
      'reactions to 0: eyes 1',
      'close',
      'changed p closed',
    ])
  })

  it('are for readers with the scope, and end with the right', async () => {
    const path = await fresh('rights', { private: true })
    for (const who of [undefined, users.eve]) await expect(watch(who, 'rights')).rejects.toThrow()
    const scoped = async (scope: string) => ({
      authorization: `Bearer ${await createToken(server.url, users.carol, [scope])}`,
    })
    await expect(watch(await scoped('read:repository'), 'rights')).rejects.toThrow()
    await expect(watch(users.carol, 'rights', { cursor: 'x' })).rejects.toThrow('cursor')
    await expect(watch(users.carol, 'rights', { index: 9n })).rejects.toThrow('not found')
    const watcher = await watch(await scoped('read:issue'), 'rights')
    await forge.ask(users.bob, 'DELETE', `${path}/collaborators/carol`)
    await forge.ask(users.bob, 'POST', `${path}/issues/1/comments`, { body: 'secret' })
    await expect(watcher.next()).rejects.toThrow('not found')
    // The issues of a repository that stays readable.
    const open = await fresh('switched')
    const other = await watch(users.eve, 'switched')
    await forge.ask(users.bob, 'PATCH', open, { has_issues: false })
    await expect(other.next()).rejects.toThrow('not found')
  })

  it('show no entry about a hidden conversation', async () => {
    const path = await fresh('shown')
    await fresh('not-shown', { private: true })
    const watcher = await watch(users.eve, 'shown')
    const duplicate_of = { index: 1, owner: 'bob', repo: 'not-shown' }
    await forge.ask(users.bob, 'PATCH', `${path}/issues/1`, { duplicate_of })
    expect((await watcher.take(2)).told).toEqual(['close duplicate', 'changed issue closed'])
    await forge.ask(users.bob, 'PATCH', `${path}/issues/1`, { state: 'open' })
    expect((await watcher.take(2)).told).toEqual(['reopen', 'changed issue open'])
  })
})
