import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GitHookService } from '#gen/branchline/v1/git_hook_service_pb.ts'
import { runCommand } from '../../support/commands.ts'
import { askBy } from '../../support/forge.ts'
import {
  processWith,
  type ServerProcess,
  serveProcess,
  waitingScript,
  withFolder,
} from '../../support/process.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { restAt } from '../../support/rest.ts'
import {
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'

/** A server starts and is killed while hooks run, and another one continues its work. */
const TIMEOUT_MS = 300_000

describe('the deletion of a head branch after its merge, and the rebase of those above', () => {
  it('survive that the server is killed', { timeout: TIMEOUT_MS }, async () => {
    await withFolder(async (data) => {
      const killed = await serveProcess(data, ['--git-hooks', 'on'])
      const users = await createTestUsers(killed.url)
      const merges = [
        await mergeIntoHook('waits for its checks', killed, users),
        await mergeIntoHook('happens at once', killed, users),
      ]
      killed.child.kill('SIGKILL')
      await killed.exited
      const next = await startTestServer({ data })
      const ask = askBy(restAt(next.url))
      for (const { path, mark, merging } of merges) {
        await processWith(mark, 'gone')
        await merging
        const statusOf = async (at: string) =>
          (await restAt(next.url)(users.bob, 'GET', `${path}${at}`)).status
        expect(await statusOf('/pulls/1/merge')).toBe(204)
        await expect.poll(() => statusOf('/branches/beds')).toBe(404)
        // In the same push, those above have followed.
        const onMain = await ask(users.bob, 'GET', `${path}/compare/roses...main`)
        expect(onMain.total_commits).toBe(0)
      }
      await next.stop()
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    })
  })
})

/**
 * Merges a pull request of a new repository. Resolves when the merge is recorded and waits for a hook,
 * which never ends.
 */
async function mergeIntoHook(
  how: 'waits for its checks' | 'happens at once',
  { url, child }: ServerProcess,
  { ada, bob }: TestUsers,
) {
  const repo = how.replaceAll(' ', '-')
  const path = `/repos/bob/${repo}`
  const ask = askBy(restAt(url))
  await ask(bob, 'POST', '/user/repos', { name: repo, auto_init: true })
  const rule = {
    rule_name: 'main',
    enable_push: true,
    enable_status_check: true,
    status_check_contexts: ['ci'],
  }
  await ask(bob, 'POST', `${path}/branch_protections`, rule)
  const file = { content: 'cm9zZXM=', branch: 'main', new_branch: 'beds' }
  const { commit } = await ask(bob, 'POST', `${path}/contents/beds.txt`, file)
  await ask(bob, 'POST', `${path}/pulls`, { title: 'Beds', head: 'beds', base: 'main' })
  const above = { content: 'cm9zZXM=', branch: 'beds', new_branch: 'roses' }
  await ask(bob, 'POST', `${path}/contents/roses.txt`, above)
  await ask(bob, 'POST', `${path}/pulls`, { title: 'Roses', head: 'roses', base: 'beds' })
  await ask(bob, 'PATCH', path, { rebase_stacks: true })
  // It runs when the merge is recorded, and before anything follows from it.
  const mark = `${repo}-of-${child.pid}`
  const hooks = createClient(GitHookService, transportTo(url, 'Connect JSON', ada.authorization))
  const content = waitingScript(mark)
  await hooks.editGitHook({ owner: 'bob', repo, id: 'post-receive', content })
  const succeed = () =>
    ask(bob, 'POST', `${path}/statuses/${commit.sha}`, { state: 'success', context: 'ci' })
  const order = { Do: 'merge', merge_when_checks_succeed: true, delete_branch_after_merge: true }
  if (how === 'happens at once') await succeed()
  const merging = restAt(url)(bob, 'POST', `${path}/pulls/1/merge`, order).catch(() => undefined)
  if (how !== 'happens at once') {
    expect((await merging)?.status).toBe(201)
    await succeed()
  }
  await processWith(mark, 'there')
  return { path, mark, merging }
}

describe('the follow-ups of a merge', () => {
  let server: TestServer
  let users: PullTestUsers
  let forge: ReturnType<typeof pullForge>
  beforeAll(async () => {
    server = await startTestServer()
    users = await createPullTestUsers(server.url)
    forge = pullForge(server)
  })
  afterAll(() => server.stop())

  /** A pull request of two commits, into a branch that has gone on since. */
  async function proposal(name: string, fields: object = {}) {
    const { path, pulls, id } = await forge.repository(users.bob, name, fields)
    const first = await forge.change(users.bob, path, 'topic', 'main', 'one.txt')
    const second = await forge.change(users.bob, path, 'topic', 'main', 'two.txt')
    const base = await forge.change(users.bob, path, 'main', 'main', 'three.txt')
    await forge.ask(users.bob, 'POST', pulls, { title: 'Two', head: 'topic', base: 'main' })
    return { id, path, first, second, base, pull: `${pulls}/1` }
  }

  const pullOf = async (path: string, sha: string) => {
    const { status, body } = await forge.rest(users.bob, 'GET', `${path}/commits/${sha}/pull`)
    return status === 200 ? body.number : status
  }

  it.each(['merge', 'squash', 'rebase', 'rebase-merge'])(
    'finds the pull request by each commit that a %s brought',
    async (style) => {
      const { path, first, second, base, pull } = await proposal(`bring-${style}`)
      expect([await pullOf(path, first), await pullOf(path, second)]).toEqual([404, 404])
      await forge.ask(users.bob, 'POST', `${pull}/merge`, { Do: style })
      const { merge_commit_sha } = await forge.ask(users.bob, 'GET', pull)
      expect([
        await pullOf(path, first),
        await pullOf(path, second),
        await pullOf(path, merge_commit_sha),
      ]).toEqual([1, 1, 1])
      expect(await pullOf(path, base)).toBe(404)
      const onMain = await forge.ask(users.bob, 'GET', `${path}/commits?sha=main&limit=50`)
      const numbers = await Promise.all(onMain.map(({ sha }: { sha: string }) => pullOf(path, sha)))
      // All that is new on the base, and nothing that was there before.
      expect(numbers.filter((number) => number === 1)).toHaveLength(
        { merge: 3, squash: 1, rebase: 2, 'rebase-merge': 3 }[style] ?? 0,
      )
    },
  )

  it('let a pull request that was merged by hand be found by its commits', async () => {
    const { path, first, second, pull } = await proposal('manual')
    await forge.ask(users.bob, 'PATCH', path, { allow_manual_merge: true })
    await forge.change(users.bob, path, 'side')
    await forge.ask(users.bob, 'POST', `${path}/pulls`, {
      title: 'Side',
      head: 'side',
      base: 'main',
    })
    await forge.ask(users.bob, 'POST', `${path}/pulls/2/merge`, { Do: 'merge' })
    const { merge_commit_sha: MergeCommitID } = await forge.ask(users.bob, 'GET', `${path}/pulls/2`)
    await forge.ask(users.bob, 'POST', `${pull}/merge`, { Do: 'manually-merged', MergeCommitID })
    expect([await pullOf(path, first), await pullOf(path, second)]).toEqual([1, 1])
  })

  it('keep a head branch that has moved since, or whose deleter has lost the right', async () => {
    const { path, pull, id } = await proposal('kept')
    await forge.ask(users.bob, 'POST', `${pull}/merge`, {
      Do: 'merge',
      delete_branch_after_merge: false,
    })
    const { user, head } = await forge.ask(users.bob, 'GET', pull)
    const { id: pull_request_id } = await forge.ask(users.bob, 'GET', pull)
    const { id: carolId } = await forge.ask(users.carol, 'GET', '/user')
    const wanted = async (deleter_id: number, token_uuid: string | null = null) => {
      const row = {
        pull_request_id,
        repository_id: id,
        base_commit: null,
        scopes: null,
        due_time: 0,
      }
      await expect.poll(() => pendingOf(pull_request_id)).toBe(0)
      await server.app.db
        .insertInto('merge_follow_ups')
        .values({ ...row, deleter_id, token_uuid })
        .execute()
      server.app.signals.mergeFollowUps.notify()
      await expect.poll(() => pendingOf(pull_request_id)).toBe(0)
      return (await forge.rest(users.bob, 'GET', `${path}/branches/${head.label}`)).status
    }
    expect(await wanted(carolId)).toBe(200)
    expect(await wanted(user.id, 'a token that is gone')).toBe(200)
    const moved = await forge.change(users.bob, path, 'topic', 'main', 'later.txt')
    expect(await wanted(user.id)).toBe(200)
    expect((await forge.ask(users.bob, 'GET', `${path}/branches/topic`)).commit.id).toBe(moved)
    await server.app.db
      .updateTable('issues')
      .set({ head_commit: moved })
      .where('id', '=', pull_request_id)
      .execute()
    expect(await wanted(user.id)).toBe(404)
    // As after a crash between the deletion and the note of that.
    expect(await wanted(user.id)).toBe(404)
  })

  const pendingOf = async (id: number) =>
    (
      await server.app.db
        .selectFrom('merge_follow_ups')
        .select('tries')
        .where('pull_request_id', '=', id)
        .execute()
    ).length
})
