import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { groupsOf, openMergeQueue } from '../../support/merge-queues.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startReceiver } from '../../support/receiver.ts'
import { PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'
import { watchRepository } from '../../support/watch.ts'

let now = Date.parse('2030-05-01T12:00:00Z')
let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let client: GitClient

beforeAll(async () => {
  server = await startTestServer({
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    clock: { now: () => now },
  })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  client = await openGitClient()
})
afterAll(async () => {
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  await server.stop()
  await client.remove()
})

const pass = (ms: number) => {
  now += ms
}

const withQueue = (name: string, rule: object = {}) =>
  openMergeQueue({ server, users, forge, pass }, name, rule)

const clone = (name: string) =>
  client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)

describe('a merge queue', () => {
  it.each(['merge', 'rebase', 'rebase-merge', 'squash'])(
    'makes the same of a pull request as a merge by the style %s outside',
    async (style) => {
      const [inside, outside] = [`in-${style}`, `out-${style}`]
      const queue = await withQueue(inside, { merge_queue_style: style })
      const plain = await forge.repository(users.bob, outside)
      for (const { path, pulls } of [queue, plain]) {
        await forge.change(users.bob, path, 'topic')
        await forge.change(users.bob, path, 'topic', 'main', 'more.txt')
        await forge.change(users.bob, path, 'main', 'main', 'base.txt')
        const draft = { head: 'topic', base: 'main', title: 'Topic', body: 'Why' }
        await forge.ask(users.bob, 'POST', pulls, draft)
      }
      expect((await queue.enter(1, {}, users.bob)).status).toBe(201)
      await queue.settle()
      await queue.answer('success')
      expect(await queue.merged(1)).toBe(true)
      const merge = { Do: style }
      await forge.ask(users.bob, 'POST', `${plain.pulls}/1/merge`, merge)
      const madeOf = async (name: string) => {
        await clone(name)
        const format = '--format=%an <%ae>%n%cn <%ce>%n%B%n--'
        const log = await client.git(name, 'log', format, 'origin/main')
        // The text of the README has the name of the repository.
        const files = await client.git(name, 'ls-tree', '-r', 'origin/main', '*.txt')
        return `${log}\n${files}`
      }
      expect(await madeOf(inside)).toBe(await madeOf(outside))
    },
  )

  it('tells CI of each candidate once, in order, and CI fetches the ref', async () => {
    const queue = await withQueue('told')
    const receiver = await startReceiver()
    await forge.ask(users.bob, 'POST', `${queue.path}/hooks`, {
      type: 'gitea',
      active: true,
      events: ['merge_group', 'push', 'create', 'delete'],
      branch_filter: '{main,queue/**}',
      config: { url: receiver.url, content_type: 'json' },
    })
    const watcher = watchRepository(server.url, 'gRPC', users.bob.authorization, {
      owner: 'bob',
      repo: 'told',
    })
    await watcher.next()
    await queue.open('a', 'b')
    await queue.enter(1)
    await queue.enter(2)
    await queue.settle()
    const [group] = (await queue.shown()).groups
    await clone('told')
    await client.git('told', 'fetch', '-q', 'origin', group.ref)
    expect(await client.git('told', 'rev-parse', 'FETCH_HEAD')).toBe(group.head_sha)
    await client.git('told', 'fetch', '-q', 'origin', group.head_sha)
    const pushed = client.git('told', 'push', 'origin', 'HEAD:refs/queue/7/main')
    await expect(pushed).rejects.toThrow('reserved for the server')
    const fork = await forge.fork(users.eve, queue.path)
    expect(await forge.ask(users.eve, 'GET', `${fork.path}/git/refs`)).not.toContainEqual(
      expect.objectContaining({ ref: expect.stringContaining('queue') }),
    )
    await queue.answer('success')

    const deliveries = []
    for (let count = 0; count < 4; count += 1) {
      const { headers, body } = await receiver.next()
      deliveries.push({ event: headers['x-gitea-event'], ...JSON.parse(body) })
    }
    expect(deliveries).toMatchObject([
      {
        event: 'merge_group',
        action: 'checks_requested',
        merge_group: { head_sha: group.head_sha, head_ref: group.ref, base_ref: 'refs/heads/main' },
        sender: { login: 'carol' },
      },
      { event: 'push', ref: group.ref, after: group.head_sha },
      { event: 'push', ref: 'refs/heads/main', after: group.head_sha, pusher: { login: 'carol' } },
      { event: 'merge_group', action: 'destroyed', reason: 'merged' },
    ])
    await receiver.stop()

    const events: string[] = []
    while (!events.at(-1)?.startsWith('LEFT 2')) {
      const { event } = await watcher.next()
      const subject = event?.subject
      if (subject?.case !== 'mergeQueue') continue
      const { number, state, ref } = subject.value
      events.push(ref === '' ? `${state === 'QUEUED' ? 'ENTERED' : 'LEFT'} ${number}` : ref)
    }
    watcher.leave()
    expect(events).toEqual(['ENTERED 1', 'ENTERED 2', group.ref, 'LEFT 1', 'LEFT 2'])
  })

  it('merges 40 entries in order in groups of ten', async () => {
    const queue = await withQueue('forty', { merge_queue_max_group: 10, merge_queue_parallel: 3 })
    const names = Array.from({ length: 40 }, (_, i) => `b${i + 1}`)
    await queue.open(...names)
    for (const [i] of names.entries()) expect((await queue.enter(i + 1)).status).toBe(201)
    await queue.settle()
    const seen = new Set<number>()
    for (let round = 0; round < 8; round += 1) {
      const { groups } = await queue.shown()
      if (groups.length === 0) break
      for (const { number } of groups) seen.add(number)
      await queue.answer('success')
    }
    expect(seen.size).toBe(4)
    await clone('forty')
    const log = await client.git('forty', 'log', '--first-parent', '--format=%s', 'origin/main')
    const merged = log.split('\n').flatMap((line) => /#(\d+)\)/.exec(line)?.[1] ?? [])
    expect(merged).toEqual(names.map((_, i) => String(40 - i)))
  })

  it('follows a rule that is edited while a group is tested', async () => {
    const queue = await withQueue('edited')
    await queue.open('a')
    await queue.enter(1)
    await queue.settle()
    const rule = `${queue.path}/branch_protections/main`
    const more = {
      status_check_contexts: ['ci', 'lint'],
      merge_queue_only_contexts: ['ci', 'lint'],
    }
    await forge.ask(users.bob, 'PATCH', rule, more)
    await queue.answer('success')
    expect((await queue.entry(1)).state).toBe('BUILDING')
    const less = { status_check_contexts: ['ci'], merge_queue_only_contexts: ['ci'] }
    await forge.ask(users.bob, 'PATCH', rule, less)
    await queue.settle()
    expect(await queue.merged(1)).toBe(true)
  })

  it('asks protected files and rights of who added an entry again', async () => {
    const queue = await withQueue('asked')
    await queue.open('a', 'b')
    await queue.enter(1)
    await queue.enter(2, {}, users.bob)
    await queue.settle()
    const rule = `${queue.path}/branch_protections/main`
    await forge.ask(users.bob, 'PATCH', rule, { protected_file_patterns: 'b.txt' })
    await forge.ask(users.bob, 'DELETE', `${queue.path}/collaborators/carol`)
    await queue.answer('success')
    expect(await queue.entry(1)).toMatchObject({ state: 'REMOVED', reason: { code: 'RIGHT_LOST' } })
    expect(await queue.entry(2)).toMatchObject({ state: 'FAILED', reason: { code: 'NOT_READY' } })
  })

  it('takes out what is retargeted, closed or made a draft, and makes the rest again', async () => {
    const queue = await withQueue('changed')
    await queue.open('a', 'b', 'c', 'd')
    await forge.change(users.bob, queue.path, 'release')
    for (const number of [1, 2, 3, 4]) await queue.enter(number)
    await queue.settle()
    const edit = (number: number, fields: object) =>
      forge.ask(users.carol, 'PATCH', `${queue.pulls}/${number}`, fields)
    await edit(1, { base: 'release' })
    await edit(2, { state: 'closed' })
    await edit(3, { title: 'WIP: c' })
    await queue.settle()
    const codes = await Promise.all([1, 2, 3].map(async (n) => (await queue.entry(n)).reason.code))
    expect(codes).toEqual(['RETARGETED', 'CLOSED', 'DRAFT'])
    expect(groupsOf(await queue.shown())).toEqual(['4 BUILDING'])
    await queue.answer('success')
    expect(await queue.merged(4)).toBe(true)
  })

  it('survives a transfer and a rename of the repository, and goes with a deletion', async () => {
    const queue = await withQueue('moved')
    await queue.open('a')
    await queue.enter(1)
    await queue.settle()
    await forge.ask(users.bob, 'PATCH', queue.path, { name: 'moved-on' })
    const { groups } = await forge.ask(users.bob, 'GET', '/repos/bob/moved-on/merge_queue/main')
    expect(groups).toHaveLength(1)
    await forge.ask(users.bob, 'DELETE', '/repos/bob/moved-on')
    await queue.settle()
    expect((await forge.rest(users.bob, 'GET', `${queue.path}/merge_queue/main`)).status).toBe(404)
  })

  it('refuses readers, and tokens without the scope', async () => {
    const queue = await withQueue('refused')
    await queue.open('a')
    expect((await queue.enter(1, {}, users.eve)).status).toBe(405)
    expect((await forge.rest(users.eve, 'DELETE', `${queue.pulls}/1/merge_queue`)).status).toBe(404)
    await queue.enter(1)
    expect((await forge.rest(users.eve, 'DELETE', `${queue.pulls}/1/merge_queue`)).status).toBe(403)
    const wrong = { head_commit_id: '0'.repeat(40) }
    await forge.ask(users.carol, 'DELETE', `${queue.pulls}/1/merge_queue`)
    expect((await queue.enter(1, wrong)).status).toBe(409)
  })
})
