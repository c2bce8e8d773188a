import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { RepositoryEvent_Type } from '#gen/branchline/v1/repository_event_pb.ts'
import type { WatchRepositoryResponse } from '#gen/branchline/v1/repository_event_service_pb.ts'
import { tokenOf } from '../../support/callers.ts'
import { issueForge } from '../../support/issue-forge.ts'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'
import {
  WATCH_PROTOCOLS,
  type Watcher,
  type WatchProtocol,
  watchRepository,
} from '../../support/watch.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof issueForge>
const watchers: Watcher<WatchRepositoryResponse>[] = []

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = issueForge(server)
})
afterEach(() => {
  for (const watcher of watchers.splice(0)) watcher.leave()
})
afterAll(() => server.stop())

type Event = NonNullable<WatchRepositoryResponse['event']>

/** Begins to watch a repository of bob's. */
async function watch(
  who: Pick<Actor, 'authorization'> | undefined,
  repo: string,
  protocol: WatchProtocol = 'gRPC',
) {
  const watcher = watchRepository(server.url, protocol, who?.authorization, { owner: 'bob', repo })
  watchers.push(watcher)
  await watcher.next()
  return {
    /** All about issues that is sent until the repository has another description. */
    async events(): Promise<Event[]> {
      const description = String(Math.random())
      await forge.ask(users.bob, 'PATCH', `/repos/bob/${repo}`, { description })
      const events: Event[] = []
      for (;;) {
        const { event } = await watcher.next()
        if (event?.type === RepositoryEvent_Type.REPOSITORY_EDITED) return events
        if (event?.subject.case === 'issue') events.push(event)
      }
    },
  }
}

const summary = (events: readonly Event[]) =>
  events.map(({ type, actor, subject }) => {
    if (subject.case !== 'issue') throw new Error('no issue')
    const { number, commentId } = subject.value
    expect(subject.value.actor).toBe(actor?.login ?? '')
    const name = RepositoryEvent_Type[type]?.replace('ISSUE_', '')
    return `${name} #${number} by ${actor?.login ?? 'nobody'}${commentId === 0n ? '' : ` ${commentId}`}`
  })

/** Less than the time after which the server sends a heartbeat, which would bring the event, too. */
const BEFORE_HEARTBEAT_MS = 20_000

describe('events of issues', () => {
  it.each([
    ['close', { state: 'closed' }],
    ['close with a label and a comment', { state: 'closed', labels: [], comment: 'Done.' }],
    ['edit', { title: 'another' }],
  ])('arrive at once after an edit: %s', { timeout: BEFORE_HEARTBEAT_MS }, async (name, edit) => {
    const repo = `edited-${name.replaceAll(' ', '-')}`
    const path = `/repos/bob/${repo}/issues`
    await forge.ask(users.bob, 'POST', '/user/repos', { name: repo })
    await forge.ask(users.bob, 'POST', path, { title: 'one' })
    const watcher = watchRepository(server.url, 'gRPC', undefined, { owner: 'bob', repo })
    watchers.push(watcher)
    await watcher.next()
    await forge.ask(users.bob, 'PATCH', `${path}/1`, edit)
    const { event } = await watcher.next()
    expect(event?.subject.case).toBe('issue')
  })

  it.each(WATCH_PROTOCOLS)('occur once for each change, over %s', async (protocol) => {
    const name = `life-${protocol.toLowerCase().replaceAll(/[^a-z]/g, '')}`
    const { id } = await forge.repository(users.bob, name)
    const watcher = await watch(undefined, name, protocol)
    const issue = await forge.open(users.carol, id)
    const comment = await forge.comment(users.eve, issue, 'Hm.')
    const told = [{ type: 'issue_label', action: 'label_updated' } as const]
    await forge.change(users.bob, issue, { type: 'ISSUE_EDITED', told })
    await forge.close(users.bob, issue)
    await forge.change(undefined, issue, { type: 'ISSUE_REOPENED', told: [] }, { state: 'OPEN' })
    await forge.remove(users.bob, issue)
    const events = await watcher.events()
    expect(summary(events)).toEqual([
      'OPENED #1 by carol',
      `COMMENTED #1 by eve ${comment.id}`,
      'EDITED #1 by bob',
      'CLOSED #1 by bob',
      'REOPENED #1 by nobody',
      'DELETED #1 by bob',
    ])
    expect(events.every(({ subject }) => 'id' in (subject.value ?? {}))).toBe(true)
    expect(events[0]?.subject.value).toMatchObject({ id: BigInt(issue.id), number: 1n })
  })

  it('occur once for each change of a pin', async () => {
    const { id, path } = await forge.repository(users.bob, 'pins')
    const issues = [await forge.open(users.carol, id), await forge.open(users.carol, id)]
    const watcher = await watch(undefined, 'pins')
    const pin = (method: string, number: number, position = '') =>
      forge.ask(users.bob, method, `${path}/issues/${number}/pin${position}`)
    for (let i = 0; i < 2; i += 1) for (const { number } of issues) await pin('POST', number)
    await pin('PATCH', 1, '/2')
    await pin('PATCH', 1, '/2')
    for (let i = 0; i < 2; i += 1) await pin('DELETE', 2)
    expect(summary(await watcher.events())).toEqual(
      [1, 2, 1, 2].map((number) => `EDITED #${number} by bob`),
    )
  })

  it('are for readers of issues, with tokens that may read issues', async () => {
    const { id } = await forge.repository(users.bob, 'rights')
    const token = (...scopes: string[]) => tokenOf(server.url, users.carol, scopes)
    const watching = {
      stranger: await watch(undefined, 'rights'),
      both: await watch(await token('read:repository', 'read:issue'), 'rights'),
      one: await watch(await token('read:repository'), 'rights'),
    }
    const issue = await forge.open(users.carol, id)
    expect(summary(await watching.stranger.events())).toEqual(['OPENED #1 by carol'])
    expect(summary(await watching.both.events())).toEqual(['OPENED #1 by carol'])
    expect(await watching.one.events()).toEqual([])
    // Issues that are off have no events.
    const late = await watch(users.carol, 'rights')
    await forge.ask(users.bob, 'PATCH', '/repos/bob/rights', { has_issues: false })
    await late.events()
    await forge.comment(users.carol, issue, 'Unseen.')
    expect(await late.events()).toEqual([])
  })
})
