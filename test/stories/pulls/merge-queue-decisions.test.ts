import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { examine } from '../../../src/forge/administration/doctor.ts'
import { updateRefs } from '../../../src/platform/git/refs/refs.ts'
import { groupsOf, openMergeQueue } from '../../support/merge-queues.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { createToken, startTestServer, type TestServer } from '../../support/server.ts'

let now = Date.parse('2030-05-01T12:00:00Z')
let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer({ clock: { now: () => now }, settings: { gitHooks: true } })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(async () => {
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  await server.stop()
})

const pass = (ms: number) => {
  now += ms
}

const withQueue = (name: string, rule: object = {}) =>
  openMergeQueue({ server, users, forge, pass }, name, rule)

describe('a merge queue', () => {
  it('asks contexts of heads at entering only, and contexts of the queue on candidates only', async () => {
    const queue = await withQueue('contexts', {
      status_check_contexts: ['ci', 'bot', 'both'],
      merge_queue_only_contexts: ['ci'],
      merge_queue_head_contexts: ['bot'],
    })
    await queue.open('a')
    const { sha } = (await queue.get('/pulls/1')).head
    await queue.status(sha, 'success', 'bot')
    expect((await queue.enter(1)).status).toBe(405)
    await queue.status(sha, 'success', 'both')
    expect((await queue.enter(1)).status).toBe(201)
    await queue.settle()
    await queue.answer('success')
    expect(await queue.merged(1)).toBe(false)
    const [group] = (await queue.shown()).groups
    await queue.status(group.head_sha, 'failure', 'other')
    await queue.status(group.head_sha, 'skipped', 'both')
    await queue.settle()
    expect(await queue.merged(1)).toBe(true)
  })

  it('takes READY back when a success becomes pending, and ignores what comes for old commits', async () => {
    const queue = await withQueue('flaps', { merge_queue_max_group: 1, merge_queue_parallel: 2 })
    await queue.open('a', 'b')
    for (const number of [1, 2]) await queue.enter(number)
    await queue.settle()
    const [, second] = (await queue.shown()).groups
    const states: string[] = []
    for (const state of ['success', 'success', 'pending', 'success']) {
      await queue.status(second.head_sha, state)
      await queue.settle()
      states.push((await queue.entry(2)).state)
    }
    expect(states).toEqual(['READY', 'READY', 'BUILDING', 'READY'])
    await queue.answer('warning')
    expect((await queue.entry(1)).reason.code).toBe('CHECKS_FAILED')
    expect(groupsOf(await queue.shown())).toEqual(['2 BUILDING'])
    // The commit was made again, without the one that left.
    await queue.status(second.head_sha, 'failure')
    await queue.settle()
    expect((await queue.entry(2)).state).toBe('BUILDING')
    await queue.answer('success')
    expect(await queue.merged(2)).toBe(true)
  })

  it.each([
    ['nobody', 201, 201],
    ['administrators', 201, 200],
  ])('lets %s merge at once', async (bypass, ofWriter, ofAdministrator) => {
    const queue = await withQueue(`passes-${bypass}`, { merge_queue_bypass: bypass })
    await queue.open('a', 'b')
    const merge = { Do: 'merge', force_merge: true }
    const statusOf = async (who: (typeof users)['bob'], number: number) =>
      (await forge.rest(who, 'POST', `${queue.pulls}/${number}/merge`, merge)).status
    // 201 is a place in the queue.
    expect(await statusOf(users.carol, 1)).toBe(ofWriter)
    expect(await statusOf(users.bob, 2)).toBe(ofAdministrator)
    expect([await queue.merged(1), await queue.merged(2)]).toEqual([false, ofAdministrator === 200])
  })

  it('moves the branch as one push that Git hooks see, and says when they refuse', async () => {
    const queue = await withQueue('hooked')
    await forge.ask(users.ada, 'PATCH', `${queue.path}/hooks/git/pre-receive`, {
      content: [
        '#!/bin/sh',
        '[ "$GITEA_PUSH_TRIGGER" = merge-queue ] || exit 0',
        '[ "$GITEA_PR_INDEX:$BRANCHLINE_PR_INDEXES" = "2:1 2" ] && exit 0',
        'echo "not today: $GITEA_PR_INDEX"',
        'exit 1',
        '',
      ].join('\n'),
    })
    await queue.open('a', 'b', 'c')
    for (const number of [1, 2]) await queue.enter(number)
    await queue.settle()
    await queue.answer('success')
    expect([await queue.merged(1), await queue.merged(2)]).toEqual([true, true])
    await queue.enter(3)
    await queue.settle()
    await queue.answer('success')
    expect(await queue.entry(3)).toMatchObject({
      state: 'FAILED',
      reason: { code: 'HOOK_REFUSED', text: expect.stringContaining('not today: 3') },
    })
  })

  it('waits no longer for what was deleted: the rule, and the branch of a pull request', async () => {
    const queue = await withQueue('deleted')
    await queue.open('a', 'b')
    for (const number of [1, 2]) await queue.enter(number)
    await queue.settle()
    await forge.ask(users.carol, 'DELETE', `${queue.path}/branches/a`)
    await queue.settle()
    expect((await queue.entry(1)).reason.code).toBe('CLOSED')
    expect(groupsOf(await queue.shown())).toEqual(['2 BUILDING'])
    const [group] = (await queue.shown()).groups
    await forge.ask(users.bob, 'DELETE', `${queue.path}/branch_protections/main`)
    await queue.settle()
    expect((await queue.entry(2)).reason.code).toBe('QUEUE_OFF')
    const ref = await forge.rest(users.bob, 'GET', `${queue.path}/git/${group.ref}`)
    expect(ref.status).toBe(404)
  })

  it('is read with the scope of reading, and changed with that of writing', async () => {
    const queue = await withQueue('scopes')
    await queue.open('a')
    const statuses = async (scope: string) => {
      const token = {
        authorization: `token ${await createToken(server.url, users.carol, [scope])}`,
      }
      const requests = [
        ['POST', `${queue.pulls}/1/merge_queue`],
        ['GET', `${queue.path}/merge_queue/main`],
        ['GET', `${queue.pulls}/1/merge_queue`],
        ['DELETE', `${queue.pulls}/1/merge_queue`],
      ] as const
      const found: number[] = []
      for (const [method, path] of requests)
        found.push((await forge.rest(token, method, path)).status)
      return found
    }
    expect(await statuses('write:issue')).toEqual([403, 403, 403, 403])
    expect(await statuses('read:repository')).toEqual([403, 200, 404, 403])
    expect(await statuses('write:repository')).toEqual([201, 200, 200, 204])
  })

  it('leaves out what the branch takes only signed, since the rule was changed meanwhile', async () => {
    const unsigned = await startTestServer({
      clock: { now: () => now },
      settings: { signing: false },
    })
    try {
      const people = await createPullTestUsers(unsigned.url)
      const story = { server: unsigned, users: people, forge: pullForge(unsigned), pass }
      const queue = await openMergeQueue(story, 'unsigned')
      await queue.open('a')
      await queue.enter(1)
      await queue.settle()
      const rule = `${queue.path}/branch_protections/main`
      await story.forge.ask(people.bob, 'PATCH', rule, { require_signed_commits: true })
      await queue.answer('success')
      expect(await queue.entry(1)).toMatchObject({
        state: 'FAILED',
        reason: { code: 'NOT_READY', text: 'the server does not sign commits' },
      })
    } finally {
      await unsigned.stop()
    }
  })

  it('has refs of its own below refs/queue, and `doctor` deletes others', async () => {
    const queue = await withQueue('refs')
    await queue.open('a')
    await queue.enter(1)
    await queue.settle()
    const [group] = (await queue.shown()).groups
    const { id } = await queue.get('')
    const foreign = 'refs/queue/999999/main'
    const { git } = server.app
    await updateRefs(git, id, [{ name: foreign, from: undefined, to: group.head_sha }])
    const found = async (fix: boolean) => {
      const outcomes: string[] = []
      for await (const { problem, outcome } of examine(server.app, { fsck: false, fix }))
        outcomes.push(`${problem}: ${outcome}`)
      return outcomes
    }
    const problem = `${foreign} belongs to no group of a merge queue`
    expect(await found(false)).toEqual([`${problem}: --fix repairs it`])
    expect(await found(true)).toEqual([`${problem}: repaired`])
    expect(await found(false)).toEqual([])
    expect((await queue.get(`/git/${group.ref}`)).object.sha).toBe(group.head_sha)
  })
})
