import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFollowUps } from '../../../src/forge/pulls/merging/merge-follow-ups.ts'
import { groupsOf, openMergeQueue } from '../../support/merge-queues.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

let now = Date.parse('2030-05-01T12:00:00Z')
let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer({ clock: { now: () => now } })
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

const STACK = ['one', 'two', 'three']

/**
 * A repository with a queue, where carol has three pull requests: `one` into main, `two` into `one`,
 * `three` into `two`.
 */
async function openStack(name: string, rule: object = {}) {
  const queue = await openMergeQueue({ server, users, forge, pass }, name, rule)
  let base = 'main'
  for (const branch of STACK) {
    await forge.change(users.carol, queue.path, branch, base)
    await forge.ask(users.carol, 'POST', queue.pulls, { head: branch, base, title: branch })
    base = branch
  }
  return {
    ...queue,
    entered: async () =>
      (await queue.shown()).entries.map(
        (entry: { pull_request: { number: number } }) => entry.pull_request.number,
      ),
    allMerged: () => Promise.all([1, 2, 3].map(queue.merged)),
    codes: () =>
      Promise.all(
        [1, 2, 3].map(async (n) => {
          const { body } = await forge.rest(users.bob, 'GET', `${queue.pulls}/${n}/merge_queue`)
          return body.reason?.code ?? 'none'
        }),
      ),
    filesOf: async (number: number) =>
      (await queue.get(`/pulls/${number}/files`)).map(
        (file: { filename: string }) => file.filename,
      ),
  }
}

describe('a stack in a merge queue', () => {
  it.each(['merge', 'rebase', 'squash'])(
    'enters as a whole, is tried in one group and is merged in its order by the style %s',
    async (style) => {
      const queue = await openStack(`whole-${style}`, { merge_queue_style: style })
      expect((await queue.get('/pulls/3')).stack_queue).toBe('main')
      expect('stack_queue' in (await queue.get('/pulls/1'))).toBe(false)
      // Changes of lines that the pull request below has added, which another merge base would clash with.
      const { sha } = await queue.get('/contents/one.txt?ref=three')
      await forge.ask(users.carol, 'PUT', `${queue.path}/contents/one.txt`, {
        content: Buffer.from('one\nof three\n').toString('base64'),
        branch: 'three',
        sha,
      })
      await forge.change(users.bob, queue.path, 'main', 'main', 'pushed.txt')
      const { status, body } = await queue.enter(3, { delete_branch_after_merge: true })
      expect([status, body.pull_request.number, body.base, body.stacked_on]).toEqual([
        201,
        3,
        'main',
        2,
      ])
      expect(await queue.entered()).toEqual([1, 2, 3])
      expect('stacked_on' in (await queue.entry(1))).toBe(false)
      expect((await queue.get('/pulls/2')).merge_queue_entry.stacked_on).toBe(1)
      await queue.settle()
      expect(groupsOf(await queue.shown())).toEqual(['1,2,3 BUILDING'])
      const [group] = (await queue.shown()).groups
      await queue.answer('success')
      expect(await queue.allMerged()).toEqual([true, true, true])
      expect(await queue.tip()).toBe(group.head_sha)
      const text = await queue.get('/contents/one.txt')
      expect(Buffer.from(text.content, 'base64').toString()).toBe('one\nof three\n')
      // Each shows its own changes, and the branch that has them.
      expect([await queue.filesOf(1), await queue.filesOf(2)]).toEqual([['one.txt'], ['two.txt']])
      expect(await queue.filesOf(3)).toEqual(['one.txt', 'three.txt'])
      expect((await queue.get('/pulls/3')).base.ref).toBe('main')
      const timeline: { type: string }[] = await queue.get('/issues/3/timeline')
      expect(timeline.map(({ type }) => type)).toContain('change_target_branch')
      const commits = await queue.get('/commits?sha=main')
      const count = { merge: 9, rebase: 6, squash: 5 }[style]
      expect(commits).toHaveLength(count ?? 0)
    },
  )

  it('takes those above with one that leaves, and lets those below go on', async () => {
    const queue = await openStack('leaves')
    await queue.enter(3)
    await queue.settle()
    await forge.ask(users.carol, 'DELETE', `${queue.pulls}/2/merge_queue`)
    expect(await queue.codes()).toEqual(['none', 'DEQUEUED', 'BELOW_LEFT'])
    expect(await queue.entry(3)).toMatchObject({
      state: 'REMOVED',
      reason: { text: 'pull request #2 below left the queue: carol took it out' },
    })
    await queue.settle()
    expect(groupsOf(await queue.shown())).toEqual(['1 BUILDING'])
    await queue.enter(3)
    expect(await queue.entered()).toEqual([1, 2, 3])
    await queue.settle()
    await forge.change(users.carol, queue.path, 'one', 'main', 'more.txt')
    expect(await queue.codes()).toEqual(['HEAD_MOVED', 'BELOW_LEFT', 'BELOW_LEFT'])
    await queue.enter(2)
    expect(await queue.entered()).toEqual([1, 2])
    expect((await queue.enter(2)).status).toBe(409)
    await forge.ask(users.carol, 'PATCH', `${queue.pulls}/1`, { state: 'closed' })
    expect(await queue.codes()).toEqual(['CLOSED', 'BELOW_LEFT', 'BELOW_LEFT'])
    expect(await queue.entered()).toEqual([])
  })

  it('does not let those above a red one pass', async () => {
    const queue = await openStack('red')
    await queue.enter(3)
    await queue.settle()
    const answer = async () => {
      const [group] = (await queue.shown()).groups
      const { tree } = await queue.get(`/git/trees/${group.head_sha}`)
      const isRed = tree.some(({ path }: { path: string }) => path === 'two.txt')
      await queue.answer(isRed ? 'failure' : 'success')
    }
    for (let rounds = 0; rounds < 4 && (await queue.entered()).length > 0; rounds += 1)
      await answer()
    expect(await queue.allMerged()).toEqual([true, false, false])
    expect(await queue.codes()).toEqual(['none', 'CHECKS_FAILED', 'BELOW_LEFT'])
  })

  it('says that all timed out, and not that one below left', async () => {
    const queue = await openStack('late', { merge_queue_check_timeout_seconds: 60 })
    await queue.enter(3)
    await queue.settle()
    now += 60_000
    await queue.settle()
    expect(await queue.codes()).toEqual(['TIMED_OUT', 'TIMED_OUT', 'TIMED_OUT'])
  })

  it('is not divided by the size of groups if it fits, and keeps its order over groups if not', async () => {
    const queue = await openStack('sizes', { merge_queue_max_group: 3 })
    await queue.open('other')
    await queue.enter(4)
    await queue.enter(3)
    await queue.settle()
    expect(groupsOf(await queue.shown())).toEqual(['4 BUILDING'])
    await queue.answer('success')
    expect(groupsOf(await queue.shown())).toEqual(['1,2,3 BUILDING'])
    const small = await openStack('small', { merge_queue_max_group: 2, merge_queue_parallel: 2 })
    await small.enter(3, { delete_branch_after_merge: true })
    await small.settle()
    expect(groupsOf(await small.shown())).toEqual(['1,2 BUILDING', '3 BUILDING'])
    const [, last] = (await small.shown()).groups
    await small.answer('success')
    expect(await small.allMerged()).toEqual([true, true, false])
    // The branch below stays until the last one has merged.
    const work = await startFollowUps(server.app)
    await work.stop()
    expect((await small.get('/pulls/3')).base.ref).toBe('two')
    expect(await small.entry(3)).toMatchObject({ state: 'BUILDING', candidate_sha: last.head_sha })
    await small.answer('success')
    expect(await small.allMerged()).toEqual([true, true, true])
    const branchStatus = async () =>
      (await forge.rest(users.bob, 'GET', `${small.path}/branches/two`)).status
    const rest = await startFollowUps(server.app)
    await expect.poll(branchStatus).toBe(404)
    await rest.stop()
  })

  it('waits with one below that conflicts with an open one, and those behind go on', async () => {
    const queue = await openStack('waits')
    await queue.openClashing('clash', 'of clash\n')
    const content = Buffer.from('of two\n').toString('base64')
    const change = { content, branch: 'two' }
    await forge.ask(users.carol, 'POST', `${queue.path}/contents/same.txt`, change)
    await queue.open('behind')
    for (const number of [4, 3, 5]) expect((await queue.enter(number)).status).toBe(201)
    expect(await queue.entered()).toEqual([4, 1, 2, 3, 5])
    await queue.settle()
    expect(groupsOf(await queue.shown())).toEqual(['4,1,5 BUILDING'])
    await queue.answer('success')
    expect(await queue.allMerged()).toEqual([true, false, false])
    expect(await queue.codes()).toEqual(['none', 'CONFLICT', 'BELOW_LEFT'])
    expect((await queue.entry(2)).reason.files).toEqual(['same.txt'])
  })

  it('jumps with those below', async () => {
    const queue = await openStack('jumps', { merge_queue_max_group: 1 })
    await queue.open('other')
    await queue.enter(4)
    await queue.enter(1)
    await queue.settle()
    expect((await queue.enter(3, { jump: true }, users.bob)).status).toBe(201)
    expect(await queue.entered()).toEqual([1, 2, 3, 4])
    await queue.settle()
    expect(groupsOf(await queue.shown())).toEqual(['1 BUILDING'])
  })

  it('asks the rule and the rights for each', async () => {
    const queue = await openStack('asked', { required_approvals: 1, dismiss_stale_approvals: true })
    const approve = (number: number) =>
      forge.ask(users.bob, 'POST', `${queue.pulls}/${number}/reviews`, {
        event: 'APPROVED',
        body: 'ok',
      })
    await approve(3)
    const refused = await queue.enter(3)
    expect([refused.status, refused.body.message]).toEqual([
      405,
      'pull request #1 below may not enter the merge queue: APPROVALS_MISSING',
    ])
    expect(await queue.entered()).toEqual([])
    await approve(1)
    await approve(2)
    // No rule of `one` dismisses the approval, and that of main would.
    await forge.change(users.carol, queue.path, 'two', 'one', 'more.txt')
    expect((await queue.enter(2)).status).toBe(405)
    await approve(2)
    expect((await queue.enter(2, {}, users.eve)).status).toBe(405)
    expect((await queue.enter(2)).status).toBe(201)
    await queue.settle()
    const reviews = await queue.get('/pulls/2/reviews')
    await forge.ask(users.bob, 'POST', `${queue.pulls}/2/reviews/${reviews.at(-1).id}/dismissals`, {
      message: 'no',
    })
    await queue.answer('success')
    await queue.settle()
    expect(await queue.codes()).toEqual(['none', 'NOT_READY', 'none'])
    await queue.answer('success')
    expect(await queue.merged(1)).toBe(true)
  })

  it('may have dependencies on those below', async () => {
    const queue = await openStack('depends')
    const dependency = { owner: 'bob', repo: 'depends', index: 1 }
    await forge.ask(users.carol, 'POST', `${queue.path}/issues/2/dependencies`, dependency)
    expect((await queue.enter(2)).status).toBe(201)
    await queue.settle()
    await queue.answer('success')
    expect([await queue.merged(1), await queue.merged(2)]).toEqual([true, true])
  })

  it('stays over renames of branches, a merge past the queue, and a new base at its place', async () => {
    const queue = await openStack('renamed')
    await queue.enter(2)
    await queue.settle()
    await forge.ask(users.bob, 'PATCH', `${queue.path}/branches/one`, { name: 'first' })
    expect((await queue.get('/pulls/2')).base.ref).toBe('first')
    expect(await queue.entered()).toEqual([1, 2])
    const merge = { Do: 'squash', force_merge: true, delete_branch_after_merge: true }
    expect((await forge.rest(users.bob, 'POST', `${queue.pulls}/1/merge`, merge)).status).toBe(200)
    await queue.settle()
    expect(groupsOf(await queue.shown())).toEqual(['2 BUILDING'])
    await queue.answer('success')
    expect(await queue.merged(2)).toBe(true)
    expect(await queue.filesOf(2)).toEqual(['two.txt'])
  })

  it('leaves when its base is changed by hand', async () => {
    const queue = await openStack('retargeted')
    await queue.enter(2)
    await forge.ask(users.carol, 'PATCH', `${queue.pulls}/2`, { base: 'main' })
    expect(await queue.codes()).toEqual(['none', 'RETARGETED', 'none'])
  })

  it('is not scheduled above the lowest when the queue is switched off', async () => {
    const queue = await openStack('off')
    await queue.enter(3)
    const rule = `${queue.path}/branch_protections/main`
    await forge.ask(users.bob, 'PATCH', rule, { enable_merge_queue: false })
    await queue.settle()
    expect(await queue.codes()).toEqual(['QUEUE_OFF', 'QUEUE_OFF', 'QUEUE_OFF'])
    expect((await queue.get('/pulls/1')).auto_merge).not.toBeNull()
    expect((await queue.get('/pulls/2')).auto_merge).toBeNull()
    expect((await queue.enter(3)).status).toBe(404)
  })
})
