import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { finishScheduledMerges } from '../../../src/forge/pulls/merging/scheduled-merge-worker.ts'
import { groupsOf, openMergeQueue, QUEUE_RULE } from '../../support/merge-queues.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let now = Date.parse('2030-05-01T12:00:00Z')
let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer({ clock: { now: () => now } })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

const pass = (ms: number) => {
  now += ms
}

/** A repository of bob's with a queue, where carol may write. */
const withQueue = (name: string, rule: object = {}) =>
  openMergeQueue({ server, users, forge, pass }, name, rule)

describe('a merge queue', () => {
  it('moves the branch once, to the commit whose status succeeded', async () => {
    const queue = await withQueue('moves')
    await queue.open('a', 'b', 'c')
    const before = await queue.tip()
    expect((await queue.enter(1)).status).toBe(201)
    await queue.settle()
    expect((await queue.enter(2)).status).toBe(201)
    expect((await queue.enter(3)).status).toBe(201)
    await queue.settle()
    expect(groupsOf(await queue.shown())).toEqual(['1 BUILDING'])
    await queue.answer('success')
    const { groups, entries } = await queue.shown()
    expect(groupsOf({ groups })).toEqual(['2,3 BUILDING'])
    expect(groups[0].base_sha).toBe(await queue.tip())
    expect(entries.map((entry: { position: number }) => entry.position)).toEqual([1, 2])
    await queue.answer('pending')
    expect(await queue.merged(2)).toBe(false)
    await queue.answer('success')
    expect([await queue.merged(1), await queue.merged(2), await queue.merged(3)]).toEqual([
      true,
      true,
      true,
    ])
    expect(await queue.tip()).toBe(groups[0].head_sha)
    expect(await queue.shown()).toMatchObject({ entries: [], groups: [] })
    const commits = await queue.get(`/commits?sha=main`)
    expect(commits.map((c: { sha: string }) => c.sha)).toContain(before)
    expect((await queue.get('/pulls/2')).merge_commit_sha).toBe(entries[0].candidate_sha)
    expect((await queue.get('/pulls/3')).merge_commit_sha).toBe(groups[0].head_sha)
    expect((await queue.entry(3)).state).toBe('MERGED')
  })

  it('finds the red one of four in four runs, and merges the others', async () => {
    const queue = await withQueue('culprit')
    await queue.open('a', 'b', 'c', 'd')
    for (const number of [1, 2, 3, 4]) await queue.enter(number)
    await queue.settle()
    const runs = new Set<string>()
    for (let round = 0; round < 10; round += 1) {
      const { groups } = await queue.shown()
      if (groups.length === 0) break
      runs.add(groups[0].head_sha)
      const files = await queue.get(`/git/trees/${groups[0].head_sha}`)
      const isRed = files.tree.some(({ path }: { path: string }) => path === 'c.txt')
      await queue.status(groups[0].head_sha, isRed ? 'failure' : 'success')
      await queue.settle()
    }
    expect(runs.size).toBeLessThanOrEqual(4)
    expect(await Promise.all([1, 2, 3, 4].map(queue.merged))).toEqual([true, true, false, true])
    expect(await queue.entry(3)).toMatchObject({
      state: 'FAILED',
      position: 0,
      reason: { code: 'CHECKS_FAILED', contexts: ['ci'] },
    })
    expect((await queue.get('/pulls/3')).merge_queue_entry).toBeNull()
    expect((await queue.get('/pulls/3')).state).toBe('open')
  })

  it('lets one that conflicts with another wait, and decides once that one is merged', async () => {
    const queue = await withQueue('conflicts')
    await queue.openClashing('x', 'one\n')
    await queue.openClashing('y', 'two\n')
    await queue.open('z')
    for (const number of [1, 2, 3]) await queue.enter(number)
    await queue.settle()
    expect(groupsOf(await queue.shown())).toEqual(['1,3 BUILDING'])
    expect((await queue.entry(2)).state).toBe('QUEUED')
    await queue.answer('success')
    expect(await queue.entry(2)).toMatchObject({
      state: 'FAILED',
      reason: { code: 'CONFLICT', files: ['same.txt'] },
    })
  })

  it('makes groups again after a push to the branch, a moved head and a jump', async () => {
    const queue = await withQueue('again', { merge_queue_parallel: 2, merge_queue_max_group: 1 })
    await queue.open('a', 'b', 'c')
    for (const number of [1, 2]) await queue.enter(number)
    await queue.settle()
    const [before] = (await queue.shown()).groups
    await forge.change(users.bob, queue.path, 'main', 'main', 'pushed.txt')
    await queue.settle()
    const { groups } = await queue.shown()
    expect(groupsOf({ groups })).toEqual(['1 BUILDING', '2 BUILDING'])
    expect(groups[0].base_sha).toBe(await queue.tip())
    await queue.status(before.head_sha, 'failure')
    await queue.settle()
    expect((await queue.entry(1)).state).toBe('BUILDING')
    expect((await queue.enter(3, { jump: true })).status).toBe(403)
    expect((await queue.enter(3, { jump: true }, users.bob)).body).toMatchObject({
      position: 1,
      priority: 'jump',
    })
    await queue.settle()
    expect(groupsOf(await queue.shown())).toEqual(['3 BUILDING', '1 BUILDING'])
    await forge.change(users.carol, queue.path, 'c', 'main', 'more.txt')
    await queue.settle()
    expect(await queue.entry(3)).toMatchObject({ state: 'REMOVED', reason: { code: 'HEAD_MOVED' } })
    expect(groupsOf(await queue.shown())).toEqual(['1 BUILDING', '2 BUILDING'])
  })

  it('decides by the first failure, and not by statuses from before', async () => {
    const queue = await withQueue('first')
    await queue.open('a')
    await queue.enter(1)
    await queue.settle()
    const [group] = (await queue.shown()).groups
    await queue.status(group.head_sha, 'failure')
    await queue.status(group.head_sha, 'success')
    await queue.settle()
    expect(await queue.entry(1)).toMatchObject({ reason: { code: 'CHECKS_FAILED' } })
    expect((await queue.enter(1)).status).toBe(201)
    await queue.settle()
    expect((await queue.entry(1)).state).toBe('BUILDING')
  })

  it('times out with and without statuses, and not while the repository is archived', async () => {
    const queue = await withQueue('times', {
      merge_queue_check_timeout_seconds: 60,
      status_check_contexts: ['ci', 'more'],
      merge_queue_only_contexts: ['ci', 'more'],
    })
    await queue.open('a', 'b')
    await queue.enter(1)
    await queue.enter(2)
    await queue.settle()
    await forge.ask(users.bob, 'PATCH', queue.path, { archived: true })
    await queue.settle()
    expect((await queue.enter(1)).status).toBe(423)
    now += 120_000
    await forge.ask(users.bob, 'PATCH', queue.path, { archived: false })
    await queue.settle()
    expect((await queue.entry(1)).state).toBe('BUILDING')
    now += 55_000
    await queue.settle()
    expect((await queue.entry(1)).state).toBe('BUILDING')
    now += 5_000
    await queue.settle()
    expect(await queue.entry(1)).toMatchObject({
      state: 'FAILED',
      reason: { code: 'TIMED_OUT', contexts: ['ci', 'more'] },
    })
    expect((await queue.entry(2)).reason.code).toBe('TIMED_OUT')
    await queue.enter(1)
    await queue.settle()
    await queue.answer('success')
    now += 60_000
    await queue.settle()
    expect((await queue.entry(1)).reason).toMatchObject({
      code: 'CHECKS_FAILED',
      contexts: ['more'],
    })
  })

  it('is entered by a merge, and left by its cancellation', async () => {
    const queue = await withQueue('merges')
    await queue.open('a', 'b')
    const merge = (fields: object, who: Actor = users.carol) =>
      forge.rest(who, 'POST', `${queue.pulls}/1/merge`, fields)
    expect((await merge({ Do: 'squash' })).status).toBe(201)
    expect((await queue.get('/pulls/1')).merge_queue_entry).toMatchObject({
      state: 'QUEUED',
      position: 1,
      style: 'merge',
      group: null,
      added_by: { login: 'carol' },
    })
    expect((await merge({ Do: 'merge' })).status).toBe(409)
    expect((await forge.rest(users.eve, 'DELETE', `${queue.pulls}/1/merge_queue`)).status).toBe(403)
    expect((await forge.rest(users.carol, 'DELETE', `${queue.pulls}/1/merge`)).status).toBe(204)
    expect(await queue.entry(1)).toMatchObject({ state: 'REMOVED', reason: { code: 'DEQUEUED' } })
    expect((await queue.get('/pulls/1')).has_left_merge_queue).toBe(true)
    expect((await merge({ Do: 'nonsense' })).status).toBe(405)
    expect((await merge({ Do: 'merge', force_merge: true })).status).toBe(201)
    expect(await queue.merged(1)).toBe(false)
    await forge.ask(users.carol, 'DELETE', `${queue.pulls}/1/merge`)
    const branchFor = (who: Actor) => forge.ask(who, 'GET', `${queue.path}/branches/main`)
    const { enable_merge_queue: hasQueue, ...seen } = await branchFor(users.carol)
    expect([hasQueue, seen.user_can_bypass_merge_queue]).toEqual([true, undefined])
    expect((await branchFor(users.bob)).user_can_bypass_merge_queue).toBe(true)
    expect((await merge({ Do: 'merge', force_merge: true }, users.bob)).status).toBe(200)
    expect(await queue.merged(1)).toBe(true)
  })

  it('becomes scheduled merges when it is switched off, and takes them back in their order', async () => {
    const queue = await withQueue('switched')
    await queue.open('a', 'b', 'c')
    for (const number of [2, 1]) {
      now += 1
      await queue.enter(number)
    }
    await queue.settle()
    const rule = `${queue.path}/branch_protections/main`
    await forge.ask(users.bob, 'PATCH', rule, { enable_merge_queue: false })
    await queue.settle()
    expect((await queue.entry(1)).reason.code).toBe('QUEUE_OFF')
    expect((await queue.get('/pulls/1')).auto_merge.user.login).toBe('carol')
    expect((await forge.rest(users.bob, 'GET', `${queue.path}/merge_queue/main`)).status).toBe(404)
    await forge.ask(users.bob, 'PATCH', rule, { enable_merge_queue: true })
    await finishScheduledMerges(server.app)
    await queue.settle()
    expect(groupsOf(await queue.shown())).toEqual(['2,1 BUILDING'])
    expect((await queue.get('/pulls/1')).auto_merge).toBeNull()
  })

  it('has refs that can be fetched while a group is tested, and refuses others below them', async () => {
    const queue = await withQueue('refs')
    await queue.open('a')
    await queue.enter(1)
    await queue.settle()
    const [group] = (await queue.shown()).groups
    expect(group.ref).toBe(`refs/queue/${group.number}/main`)
    const refs = async () =>
      (await forge.rest(users.bob, 'GET', `${queue.path}/git/refs/queue`)).body
    expect(await refs()).toEqual([
      expect.objectContaining({
        ref: group.ref,
        object: expect.objectContaining({ sha: group.head_sha }),
      }),
    ])
    await queue.answer('success')
    expect(await queue.merged(1)).toBe(true)
  })

  it('follows a rename of the branch', async () => {
    const queue = await withQueue('renamed')
    await queue.open('a')
    await queue.enter(1)
    await queue.settle()
    await forge.ask(users.bob, 'PATCH', `${queue.path}/branches/main`, { name: 'trunk' })
    await queue.settle()
    const { groups, entries } = await queue.get('/merge_queue/trunk')
    expect(entries).toMatchObject([{ base: 'trunk', state: 'BUILDING' }])
    expect(groups[0].ref).toBe(`refs/queue/${groups[0].number}/trunk`)
    await queue.status(groups[0].head_sha, 'success')
    await queue.settle()
    expect(await queue.merged(1)).toBe(true)
  })

  it('asks approvals again before it moves the branch', async () => {
    const queue = await withQueue('approved', { required_approvals: 1 })
    await queue.open('a')
    expect((await queue.enter(1)).status).toBe(405)
    const reviews = `${queue.pulls}/1/reviews`
    const { id } = await forge.ask(users.bob, 'POST', reviews, { event: 'APPROVED', body: 'ok' })
    expect((await queue.enter(1)).status).toBe(201)
    await queue.settle()
    const [group] = (await queue.shown()).groups
    await forge.ask(users.bob, 'POST', `${reviews}/${id}/dismissals`, { message: 'no' })
    await queue.status(group.head_sha, 'success')
    await queue.settle()
    expect(await queue.merged(1)).toBe(false)
    expect(await queue.entry(1)).toMatchObject({ state: 'FAILED', reason: { code: 'NOT_READY' } })
  })
})

describe('the settings of a merge queue', () => {
  it.each([
    [{ rule_name: 'rel*' }, 'enable_merge_queue'],
    [{ enable_status_check: false }, 'enable_merge_queue'],
    [{ status_check_contexts: ['ci*'], merge_queue_only_contexts: [] }, 'status_check_contexts'],
    [{ merge_queue_only_contexts: ['other'] }, 'merge_queue_only_contexts'],
    [{ merge_queue_only_contexts: [], merge_queue_head_contexts: ['ci'] }, 'enable_merge_queue'],
    [{ merge_queue_style: 'fast-forward-only' }, 'merge_queue_style'],
    [{ merge_queue_max_group: 51 }, 'merge_queue_max_group'],
    [{ merge_queue_parallel: 0 }, 'merge_queue_parallel'],
    [{ merge_queue_wait_seconds: 3601 }, 'merge_queue_wait_seconds'],
    [{ merge_queue_check_timeout_seconds: 9 }, 'merge_queue_check_timeout_seconds'],
    [{ merge_queue_bypass: 'everybody' }, 'merge_queue_bypass'],
  ])('refuse %j', async (fields, field) => {
    const name = `refused-${field}-${Object.values(fields).join()}`.replaceAll(/[^\w-]/g, '-')
    const { path } = await forge.repository(users.bob, name)
    const rule = { ...QUEUE_RULE, ...fields }
    const { status, body } = await forge.rest(users.bob, 'POST', `${path}/branch_protections`, rule)
    expect([status, body.message]).toEqual([422, expect.stringContaining(field)])
  })

  it('are defaults unless a rule says otherwise', async () => {
    const { path } = await forge.repository(users.bob, 'defaults')
    const rule = { rule_name: 'main' }
    expect(await forge.ask(users.bob, 'POST', `${path}/branch_protections`, rule)).toMatchObject({
      enable_merge_queue: false,
      merge_queue_style: 'merge',
      merge_queue_max_group: 5,
      merge_queue_parallel: 2,
      merge_queue_wait_seconds: 5,
      merge_queue_check_timeout_seconds: 3600,
      merge_queue_only_contexts: [],
      merge_queue_head_contexts: [],
      merge_queue_bypass: 'bypass_allowlist',
    })
  })
})
