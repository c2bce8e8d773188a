import { afterEach, describe, expect, it, vi } from 'vitest'
import { RepositoryEvent_Type } from '#gen/branchline/v1/repository_event_pb.ts'
import type { WatchRepositoryResponse } from '#gen/branchline/v1/repository_event_service_pb.ts'
import { PAGE_SIZE } from '../../../src/forge/core/event-logs.ts'
import { findRepositoryEventLog } from '../../../src/forge/repositories/activity/repository-events.rows.ts'
import {
  changeWatched,
  MAX_REPOSITORY_EVENTS,
  recordProtectionChange,
} from '../../../src/forge/repositories/activity/repository-events.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { tokenOf } from '../../support/callers.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { serveProcess, withFolder } from '../../support/process.ts'
import { execFileSync } from '../../support/programs.ts'
import { restAt, type SendRest } from '../../support/rest.ts'
import { type Actor, createTestUsers, PASSWORD, startTestServer } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'
import { type Watcher, watchRepository } from '../../support/watch.ts'

/** Lives of the server, each ended by SIGKILL. */
const LIVES = isLongTier ? 3 : 2

/** Servers start one after the other, which takes a minute or two on a busy machine. */
const TIMEOUT_MS = 300_000

const watchers: Watcher<WatchRepositoryResponse>[] = []

const { server, users, rest, client } = await openForge()
afterEach(() => {
  for (const watcher of watchers.splice(0)) watcher.leave()
})

/**
 * Creates a repository of bob with a first commit and a clone, and starts watches for some users.
 */
async function watched(name: string) {
  const { body } = await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  const watch = async (who: Actor | undefined, cursor = '') => {
    const request = { owner: 'bob', repo: name, cursor }
    const watcher = watchRepository(server.url, 'gRPC', who?.authorization, request)
    watchers.push(watcher)
    await watcher.next()
    return watcher
  }
  return {
    id: body.id as number,
    path: `/repos/bob/${name}`,
    git: (...args: string[]) => client.git(name, ...args),
    watch,
  }
}

type Event = NonNullable<WatchRepositoryResponse['event']>

/** Returns a number of events of a stream. */
async function take(watcher: Watcher<WatchRepositoryResponse>, count: number): Promise<Event[]> {
  const events: Event[] = []
  while (events.length < count) {
    const { event } = await watcher.next()
    if (event) events.push(event)
  }
  return events
}

/** Returns the types of events, with the names of their subjects. */
function summary(events: readonly Event[]): string[] {
  return events.map(({ type, subject: { case: kind, value } }) => {
    const name = RepositoryEvent_Type[type]
    if (kind === 'refs') return `${name} ${value.refs.map(({ ref }) => ref).join(' ')}`
    if (kind === 'release') return `${name} ${value.tagName}`
    if (kind === 'commitStatus') return `${name} ${value.context} ${value.status}`
    if (kind === 'protection') return `${name} ${value.name}`
    return kind === 'repository' ? `${name} ${value.owner}/${value.name}` : name
  })
}

describe('the events of a repository', () => {
  it('report pushes and updates over the API, with old and new ids and the pusher', async () => {
    const { path, git, watch } = await watched('refs')
    await rest(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    const watcher = await watch(undefined)
    const before = await git('rev-parse', 'HEAD')
    const after = await client.commit('refs', 'more')
    await git('tag', '-a', 'v1', '-m', 'one')
    const tag = await git('rev-parse', 'v1')
    await git('push', '-q', 'origin', 'main', 'v1')
    await rest(users.carol, 'POST', `${path}/branches`, {
      new_branch_name: 'topic',
      old_ref_name: 'main',
    })
    await git('push', '-q', 'origin', ':v1')
    const [pushed, made, deleted] = await take(watcher, 3)
    expect(pushed).toMatchObject({ actor: { login: 'bob' }, subject: { value: { count: 2 } } })
    expect(pushed?.subject.value).toMatchObject({
      refs: [
        { ref: 'refs/heads/main', oldId: before, newId: after },
        { ref: 'refs/tags/v1', oldId: '', newId: tag },
      ],
    })
    expect(made).toMatchObject({ actor: { login: 'carol' } })
    expect(made?.subject.value).toMatchObject({
      refs: [{ ref: 'refs/heads/topic', oldId: '', newId: after }],
    })
    expect(deleted?.subject.value).toMatchObject({
      refs: [{ ref: 'refs/tags/v1', oldId: tag, newId: '' }],
    })
  })

  it('report each status of a commit, with its creator, to readers of the code', async () => {
    const { path, git, watch } = await watched('checked')
    const watcher = await watch(users.carol)
    const sha = await git('rev-parse', 'HEAD')
    const report = (state: string) =>
      rest(users.bob, 'POST', `${path}/statuses/main`, { state, context: 'ci/build' })
    for (const state of ['pending', 'unknown', 'success']) await report(state)
    const events = await take(watcher, 2)
    expect(summary(events)).toEqual([
      'COMMIT_STATUS_CREATED ci/build pending',
      'COMMIT_STATUS_CREATED ci/build success',
    ])
    expect(events[1]).toMatchObject({
      actor: { login: 'bob' },
      subject: { value: { sha, id: 2n } },
    })
  })

  it('have no actor if the server detected that refs had moved', async () => {
    const { id, path, watch } = await watched('found')
    const watcher = await watch(users.bob)
    execFileSync('git', [
      '-C',
      repositoryPath(server.app.git, id),
      'update-ref',
      'refs/heads/found',
      'main',
    ])
    expect((await rest(users.bob, 'GET', `${path}/branches/found`)).status).toBe(200)
    const [event] = await take(watcher, 1)
    expect(event?.actor).toBeUndefined()
    expect(event?.subject.value).toMatchObject({ refs: [{ ref: 'refs/heads/found' }] })
  })

  it('are few for a push of many refs, and list a limited number of them', async () => {
    const { git, watch } = await watched('many')
    const watcher = await watch(users.bob)
    const head = await git('rev-parse', 'HEAD')
    const lines = Array.from({ length: 1200 }, (_, i) => `create refs/tags/t${i} ${head}\n`)
    execFileSync('git', ['-C', `${client.home}/many`, 'update-ref', '--stdin'], {
      input: lines.join(''),
    })
    await git('push', '-q', '--tags')
    const events = await take(watcher, 3)
    const refs = events.map(({ subject }) =>
      subject.case === 'refs' ? subject.value : expect.fail('of refs'),
    )
    expect(refs.map(({ count }) => count)).toEqual([500, 500, 200])
    for (const { refs: list } of refs) {
      expect(list.length).toBeGreaterThan(50)
      expect(list.length).toBeLessThan(200)
    }
  })

  it('report drafts to writers, protections to administrators, and the rest to all readers', async () => {
    const { path, watch } = await watched('seen')
    await rest(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    const owner = await watch(users.bob)
    const writer = await watch(users.carol)
    const readingToken = await watch(await tokenOf(server.url, users.bob, ['read:repository']))
    const stranger = await watch(undefined)

    const releases = `${path}/releases`
    const { body: release } = await rest(users.bob, 'POST', releases, {
      tag_name: 'v1',
      draft: true,
    })
    await rest(users.bob, 'PATCH', `${releases}/${release.id}`, { name: 'One' })
    await rest(users.bob, 'PATCH', `${releases}/${release.id}`, { draft: false })
    await rest(users.bob, 'POST', `${path}/branch_protections`, { rule_name: 'main' })
    await rest(users.bob, 'PATCH', `${path}/branch_protections/main`, { enable_push: true })
    await rest(users.bob, 'DELETE', `${path}/branch_protections/main`)
    const rule = { name_pattern: 'v*', whitelist_usernames: ['bob'] }
    const { body: tagRule } = await rest(users.bob, 'POST', `${path}/tag_protections`, rule)
    await rest(users.bob, 'DELETE', `${path}/tag_protections/${tagRule.id}`)
    await rest(users.bob, 'DELETE', `${releases}/${release.id}`)
    await rest(users.bob, 'PATCH', path, { description: 'to be seen' })

    const drafts = ['RELEASE_DRAFTED v1', 'RELEASE_EDITED v1']
    const published = ['REFS_UPDATED refs/tags/v1', 'RELEASE_PUBLISHED v1']
    const rules = [
      'BRANCH_PROTECTION_CREATED main',
      'BRANCH_PROTECTION_EDITED main',
      'BRANCH_PROTECTION_DELETED main',
      'TAG_PROTECTION_CREATED v*',
      'TAG_PROTECTION_DELETED v*',
    ]
    const others = ['RELEASE_DELETED v1', 'REPOSITORY_EDITED bob/seen']
    expect(summary(await take(owner, 11))).toEqual([...drafts, ...published, ...rules, ...others])
    expect(summary(await take(writer, 6))).toEqual([...drafts, ...published, ...others])
    // Bob is an administrator with any token, but events about drafts require a write token.
    expect(summary(await take(readingToken, 9))).toEqual([...published, ...rules, ...others])
    expect(summary(await take(stranger, 4))).toEqual([...published, ...others])
  })

  it('continue when it is renamed, archived and transferred', async () => {
    const { path, watch } = await watched('moving')
    const watcher = await watch(users.bob)
    await rest(users.bob, 'PATCH', path, { name: 'moved' })
    await rest(users.bob, 'PATCH', '/repos/bob/moved', { archived: true })
    await rest(users.bob, 'PATCH', '/repos/bob/moved', { archived: false })
    await rest(users.ada, 'POST', '/repos/bob/moved/transfer', { new_owner: 'carol' })
    // Each event shows the repository as it is when the event is sent.
    const types = (await take(watcher, 4)).map(({ type }) => RepositoryEvent_Type[type])
    expect(types).toEqual([
      'REPOSITORY_RENAMED',
      'REPOSITORY_ARCHIVED',
      'REPOSITORY_UNARCHIVED',
      'REPOSITORY_TRANSFERRED',
    ])
  })

  it('are read from the database no faster than a slow client receives them', async () => {
    const { app } = server
    const { id, watch } = await watched('slow')
    const watcher = await watch(users.bob)
    const reads = vi.spyOn(app.db, 'selectFrom')
    const eventsRead = () =>
      reads.mock.calls.filter(([table]) => String(table) === 'repository_event_logs as log')
        .length * PAGE_SIZE
    const name = 'x'.repeat(32 * 1024)
    await changeWatched(app, async (tx) => {
      for (let i = 0; i < MANY; i++) {
        await recordProtectionChange(app, tx, undefined, {
          repositoryId: id,
          type: 'TAG_PROTECTION_CREATED',
          rule: {
            id: i,
            name,
          },
        })
      }
    })
    for (let before = -1; before !== eventsRead(); ) {
      before = eventsRead()
      for (let i = 0; i < 500; i++) await new Promise((resolve) => setImmediate(resolve))
    }
    // Sockets and clients buffer some megabytes before the server notices.
    expect(eventsRead()).toBeGreaterThan(0)
    expect(eventsRead()).toBeLessThan(MANY / 2)
    reads.mockRestore()
    expect(await take(watcher, MANY / 10)).toHaveLength(MANY / 10)
  })

  it('are pruned, oldest first, and an older cursor is refused', async () => {
    const { app } = server
    const { id, path, watch } = await watched('long')
    const owner = users.bob.authorization
    const first = watchRepository(server.url, 'gRPC', owner, { owner: 'bob', repo: 'long' })
    watchers.push(first)
    const { cursor } = await first.next()
    const surplus = 500
    await changeWatched(app, async (tx) => {
      for (let i = 0; i < MAX_REPOSITORY_EVENTS + surplus; i++) {
        await recordProtectionChange(app, tx, undefined, {
          repositoryId: id,
          type: 'TAG_PROTECTION_CREATED',
          rule: {
            id: i,
            name: 'v*',
          },
        })
      }
    })
    const count = async () => (await findRepositoryEventLog(app.db, id)).count
    await expect.poll(count).toBe(MAX_REPOSITORY_EVENTS)
    const late = watchRepository(server.url, 'gRPC', owner, { owner: 'bob', repo: 'long', cursor })
    watchers.push(late)
    await expect(late.next()).rejects.toMatchObject({
      rawMessage: expect.stringContaining('cursor'),
    })
    const now = await watch(users.bob)
    await rest(users.bob, 'PATCH', path, { description: 'on' })
    expect(summary(await take(now, 1))).toEqual(['REPOSITORY_EDITED bob/long'])
  })

  it('arrive once and in order, even if the server is killed repeatedly', {
    timeout: TIMEOUT_MS,
  }, async () => {
    await withFolder(async (data) => {
      const first = await startTestServer({ data })
      const { ada } = await createTestUsers(first.url)
      await restAt(first.url)(ada, 'POST', '/user/repos', { name: 'lives', auto_init: true })
      await first.stop()
      const received: string[] = []
      const acknowledged: string[] = []
      let cursor = ''
      for (let life = 1; life <= LIVES; life++) {
        const process = await serveProcess(data)
        const request = { owner: 'ada', repo: 'lives', cursor }
        const watcher = watchRepository(process.url, 'REST', ada.authorization, request)
        cursor = (await watcher.next()).cursor
        const making = makeBranches(restAt(process.url), ada, `life${life}`, acknowledged)
        for (const wanted = received.length + 8; received.length < wanted; ) {
          const answer = await watcher.next()
          cursor = answer.cursor
          if (answer.event?.subject.case === 'refs')
            received.push(...answer.event.subject.value.refs.map(refOf))
        }
        process.child.kill('SIGKILL')
        await process.exited
        await making
        watcher.leave()
      }
      const last = await startTestServer({ data })
      const { body } = await restAt(last.url)(ada, 'GET', '/repos/ada/lives/branches?limit=50')
      const made = body.length - 1
      const watcher = watchRepository(last.url, 'REST', ada.authorization, {
        owner: 'ada',
        repo: 'lives',
        cursor,
      })
      while (received.length < made) {
        const { event } = await watcher.next()
        if (event?.subject.case === 'refs') received.push(...event.subject.value.refs.map(refOf))
      }
      watcher.leave()
      expect(new Set(received).size).toBe(received.length)
      expect(received.filter((ref) => acknowledged.includes(ref))).toEqual(acknowledged)
      await last.stop()
    })
  })
})

const refOf = ({ ref }: { ref: string }) => ref

/** About 60 MB of responses, more than all sockets and clients on the way can buffer. */
const MANY = 2_000

/** Creates branches until the server has stopped. */
async function makeBranches(
  rest: SendRest,
  who: Actor,
  prefix: string,
  acknowledged: string[],
): Promise<void> {
  try {
    for (let i = 0; i < 15; i++) {
      const body = { new_branch_name: `${prefix}-${i}`, old_ref_name: 'main' }
      if ((await rest(who, 'POST', '/repos/ada/lives/branches', body)).status === 201) {
        acknowledged.push(`refs/heads/${prefix}-${i}`)
      }
    }
  } catch {
    // The server has stopped.
  }
}
