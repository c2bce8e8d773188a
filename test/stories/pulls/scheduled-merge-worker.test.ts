import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConnectError } from '@connectrpc/connect'
import { afterAll, describe, expect, it } from 'vitest'
import { PullMergeService } from '#gen/branchline/v1/pull_merge_service_pb.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { withCheckLock, withPullLock } from '../../../src/forge/pulls/heads/merge-locks.ts'
import { finishScheduledMerges } from '../../../src/forge/pulls/merging/scheduled-merge-worker.ts'
import { tokenOf } from '../../support/callers.ts'
import { openForge } from '../../support/forge.ts'
import { restAt } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  PASSWORD,
  signIn,
  startTestServer,
} from '../../support/server.ts'

const forge = await openForge()
const { server, users, rest, ask } = forge
afterAll(async () => {
  await forge.checkObjects()
  await forge.stop()
})

/** Writes a file on a branch, or on a new one, and returns the commit. */
async function write(
  who: Actor,
  path: string,
  file: string,
  text: string,
  branches: object,
): Promise<string> {
  const content = Buffer.from(text).toString('base64')
  const { commit } = await ask(who, 'POST', `${path}/contents/${file}`, { content, ...branches })
  return commit.sha
}

let made = 0

/**
 * A repository of bob where carol may write, with a rule for main and a pull request of carol's
 * that brings one file.
 */
async function proposal(
  rule: object | undefined = { enable_status_check: true, status_check_contexts: ['ci/*'] },
) {
  const name = `auto-${++made}`
  await ask(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  const path = `/repos/bob/${name}`
  await ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  if (rule)
    await ask(users.bob, 'POST', `${path}/branch_protections`, {
      rule_name: 'main',
      enable_push: true,
      ...rule,
    })
  const head = await write(users.carol, path, 'beds.txt', 'roses\n', {
    branch: 'main',
    new_branch: 'beds',
  })
  const { number } = await ask(users.carol, 'POST', `${path}/pulls`, {
    title: 'Beds',
    head: 'beds',
    base: 'main',
  })
  return { path, head, pull: `${path}/pulls/${number}`, number: number as number, name }
}

const SOON = { Do: 'merge', merge_when_checks_succeed: true }

const report = (who: Actor, path: string, sha: string, state: string, context = 'ci/build') =>
  ask(who, 'POST', `${path}/statuses/${sha}`, { state, context })

async function isMerged(pull: string): Promise<boolean> {
  await finishScheduledMerges(server.app)
  return (await rest(users.bob, 'GET', `${pull}/merge`)).status === 204
}

/** The worker of the server tries too, and one of both may have to wait for the other. */
const expectMerged = (pull: string) => expect.poll(() => isMerged(pull)).toBe(true)

/** The pull request whose head was a commit, as it is stored. */
const rowOf = (head: string) =>
  server.app.db
    .selectFrom('issues')
    .select(['id', 'state'])
    .where('head_commit', '=', head)
    .executeTakeFirstOrThrow()

describe('a scheduled merge', () => {
  it('happens when the last required check succeeds', async () => {
    const { path, pull, head } = await proposal()
    expect(
      (await rest(users.carol, 'POST', `${pull}/merge`, { ...SOON, MergeTitleField: 'At last' }))
        .status,
    ).toBe(201)
    await report(users.carol, path, head, 'pending')
    await report(users.carol, path, head, 'success', 'ci/lint')
    expect(await isMerged(pull)).toBe(false)
    await report(users.carol, path, head, 'success')
    await expectMerged(pull)
    const { merged_by, merge_commit_sha } = await ask(users.bob, 'GET', pull)
    const { commit } = await ask(users.bob, 'GET', `${path}/git/commits/${merge_commit_sha}`)
    expect([merged_by.login, commit.message]).toEqual(['carol', 'At last\n'])
  })

  it('happens at once if the checks have succeeded already', async () => {
    const { path, pull, head } = await proposal()
    await report(users.carol, path, head, 'success')
    expect((await rest(users.carol, 'POST', `${pull}/merge`, SOON)).status).toBe(200)
    await expectMerged(pull)
  })

  it('can be scheduled once, over REST and over gRPC', async () => {
    const { pull, number, name } = await proposal()
    expect((await rest(users.carol, 'POST', `${pull}/merge`, SOON)).status).toBe(201)
    const again = await rest(users.bob, 'POST', `${pull}/merge`, SOON)
    expect([again.status, again.headers.get('x-error-reason')]).toEqual([
      409,
      'AUTO_MERGE_SCHEDULED',
    ])
    expect(again.body.message).toMatch(
      /^pull request is already scheduled to auto merge when checks succeed \[pull_id: \d+\]$/,
    )
    const refused = await forge
      .grpc(PullMergeService, users.bob)
      .mergePullRequest({
        owner: 'bob',
        repo: name,
        index: BigInt(number),
        do: 'merge',
        mergeWhenChecksSucceed: true,
      })
      .then(() => expect.fail('was not refused'), ConnectError.from)
    expect(refused.findDetails(ErrorInfoSchema)[0]?.reason).toBe('AUTO_MERGE_SCHEDULED')
  })

  it('can be cancelled by the user who scheduled it and by users who may merge, and by no one else', async () => {
    const { pull } = await proposal()
    const cancel = async (who: Actor) => {
      const { status, headers } = await rest(who, 'DELETE', `${pull}/merge`)
      return [status, headers.get('x-error-reason')]
    }
    expect(await cancel(users.carol)).toEqual([404, 'AUTO_MERGE_NOT_SCHEDULED'])
    expect((await rest(users.carol, 'POST', `${pull}/merge`, SOON)).status).toBe(201)
    const erin = { username: 'erin', email: 'erin@example.org', password: PASSWORD }
    await ask(users.ada, 'POST', '/admin/users', erin)
    expect(await cancel(await signIn(server.url, 'erin'))).toEqual([
      403,
      'AUTO_MERGE_CANCEL_DENIED',
    ])
    expect(await cancel(users.bob)).toEqual([204, null])
    expect((await rest(users.carol, 'POST', `${pull}/merge`, SOON)).status).toBe(201)
    expect(await cancel(users.carol)).toEqual([204, null])
    expect((await rest(users.carol, 'DELETE', `${pull}9/merge`)).status).toBe(404)
  })

  it('does not happen after it was cancelled', async () => {
    const { path, pull, head } = await proposal()
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    await ask(users.carol, 'DELETE', `${pull}/merge`)
    await report(users.carol, path, head, 'success')
    expect(await isMerged(pull)).toBe(false)
  })

  it('waits for the checks of commits that are pushed later', async () => {
    const { path, pull, head } = await proposal()
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    const pushed = await write(users.carol, path, 'more.txt', 'tulips\n', { branch: 'beds' })
    await report(users.carol, path, head, 'success')
    expect(await isMerged(pull)).toBe(false)
    await report(users.carol, path, pushed, 'success')
    await expectMerged(pull)
  })

  it('happens when an approval arrives, but not after the approval was dismissed', async () => {
    const { pull } = await proposal({ required_approvals: 1, dismiss_stale_approvals: true })
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    const approve = () => ask(users.bob, 'POST', `${pull}/reviews`, { event: 'APPROVED' })
    expect(await isMerged(pull)).toBe(false)
    await approve()
    await expectMerged(pull)

    const other = await proposal({
      required_approvals: 1,
      enable_status_check: true,
      status_check_contexts: ['ci'],
    })
    await ask(users.carol, 'POST', `${other.pull}/merge`, SOON)
    const { id } = await ask(users.bob, 'POST', `${other.pull}/reviews`, { event: 'APPROVED' })
    await ask(users.bob, 'POST', `${other.pull}/reviews/${id}/dismissals`, { message: 'Not yet.' })
    await report(users.carol, other.path, other.head, 'success', 'ci')
    expect(await isMerged(other.pull)).toBe(false)
  })

  it('happens when the protection rule no longer requires what is missing', async () => {
    const { path, pull } = await proposal()
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    expect(await isMerged(pull)).toBe(false)
    await ask(users.bob, 'PATCH', `${path}/branch_protections/main`, { enable_status_check: false })
    await expectMerged(pull)
  })

  it('uses the rights that the user who scheduled it has at that time', async () => {
    const { path, pull, head } = await proposal()
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    await ask(users.bob, 'DELETE', `${path}/collaborators/carol`)
    await report(users.bob, path, head, 'success')
    expect(await isMerged(pull)).toBe(false)
  })

  it.each([
    ['a public repository', false],
    ['a private repository', true],
  ])(
    'ends when the user who scheduled it loses the right, even if the right returns: %s',
    async (_, isPrivate) => {
      const { path, pull, head } = await proposal()
      await ask(users.bob, 'PATCH', path, { private: isPrivate })
      await ask(users.carol, 'POST', `${pull}/merge`, SOON)
      await ask(users.bob, 'DELETE', `${path}/collaborators/carol`)
      await report(users.bob, path, head, 'success')
      expect(await isMerged(pull)).toBe(false)
      await ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
      expect(await isMerged(pull)).toBe(false)
      expect((await ask(users.bob, 'GET', pull)).auto_merge).toBeNull()
    },
  )

  it.each([
    ['is archived', { archived: true }, { archived: false }],
    ['does not allow its style', { allow_merge_commits: false }, { allow_merge_commits: true }],
    ['hides its pull requests', { has_pull_requests: false }, { has_pull_requests: true }],
  ])('waits while the repository %s', async (_, closed, open) => {
    const { path, pull, head } = await proposal()
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    await report(users.carol, path, head, 'pending')
    await ask(users.bob, 'PATCH', path, closed)
    // As no client could say it of an archived one.
    await server.app.db.updateTable('commit_status_contexts').set({ state: 'success' }).execute()
    await finishScheduledMerges(server.app)
    expect((await rowOf(head)).state).toBe('OPEN')
    await ask(users.bob, 'PATCH', path, open)
    await expectMerged(pull)
  })

  it('sees no more than the token that scheduled it', async () => {
    const { path, pull, head } = await proposal()
    const token = await tokenOf(server.url, users.carol, ['write:repository', 'public-only'])
    expect((await rest(token, 'POST', `${pull}/merge`, SOON)).status).toBe(201)
    await ask(users.bob, 'PATCH', path, { private: true })
    await report(users.carol, path, head, 'success')
    expect(await isMerged(pull)).toBe(false)
    await ask(users.bob, 'PATCH', path, { private: false })
    await expectMerged(pull)
  })

  it('does not mark the pull request as seen by the user who scheduled it', async () => {
    const { path, pull, number } = await proposal()
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    await ask(users.bob, 'POST', `${path}/issues/${number}/comments`, { body: 'Wait.' })
    expect(await isMerged(pull)).toBe(false)
    expect((await ask(users.carol, 'GET', pull)).unread).toBe(true)
  })

  it('is either cancelled or happens, never both', async () => {
    const { path, pull, head } = await proposal()
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    await finishScheduledMerges(server.app)
    const { id } = await rowOf(head)
    const [merging, cancelling] = await withPullLock(server.app, id, async () => {
      await report(users.carol, path, head, 'success')
      const merging = finishScheduledMerges(server.app)
      const cancelling = rest(users.carol, 'DELETE', `${pull}/merge`)
      // Both are at the door by then, or one of them has got past it.
      const looking = Array.from({ length: 5 }, () => ask(users.bob, 'GET', pull))
      await Promise.race([cancelling, Promise.all(looking)])
      return [merging, cancelling]
    })
    await merging
    const { status } = await cancelling
    expect(await isMerged(pull)).toBe(status === 404)
  })

  it('is tried again later after a fault of the server, without delaying other merges', async () => {
    const { path, pull, head } = await proposal()
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    await finishScheduledMerges(server.app)
    const { id } = await rowOf(head)
    const broken = { head_commit: 'broken', head_ref_commit: 'broken' }
    await server.app.db.updateTable('issues').set(broken).where('id', '=', id).execute()
    const before = Date.now()
    await ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'admin' })
    const failure = 'a scheduled merge failed'
    await expect.poll(() => server.logged.some(({ msg }) => msg === failure)).toBe(true)
    const orderOf = server.app.db
      .selectFrom('auto_merges')
      .selectAll()
      .where('pull_request_id', '=', id)
    expect((await orderOf.executeTakeFirstOrThrow()).due_time).toBeGreaterThan(before + 1000)
    await server.app.db.deleteFrom('auto_merges').execute()
  })

  it('ends when the pull request is closed', async () => {
    const { path, pull, head } = await proposal()
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    await ask(users.carol, 'PATCH', pull, { state: 'closed' })
    await report(users.carol, path, head, 'success')
    await ask(users.carol, 'PATCH', pull, { state: 'open' })
    expect(await isMerged(pull)).toBe(false)
  })

  it('ends when the base branch changes, and follows a rename of the base branch', async () => {
    for (const [change, expected] of [
      [(pull: string) => ask(users.carol, 'PATCH', pull, { base: 'main' }), false],
      [
        (_: string, path: string) =>
          ask(users.bob, 'PATCH', `${path}/branches/next`, { name: 'later' }),
        true,
      ],
    ] as const) {
      const { path, pull } = await proposal()
      await ask(users.bob, 'DELETE', `${path}/branch_protections/main`)
      await ask(users.bob, 'POST', `${path}/branches`, { new_branch_name: 'next' })
      await ask(users.carol, 'PATCH', pull, { base: 'next' })
      const rule = { enable_push: true, enable_status_check: true, status_check_contexts: ['ci/*'] }
      const { rule_name } = await ask(users.bob, 'POST', `${path}/branch_protections`, {
        ...rule,
        rule_name: 'next',
      })
      expect((await rest(users.bob, 'POST', `${pull}/merge`, SOON)).status).toBe(201)
      // Ready, but for its title.
      await ask(users.carol, 'PATCH', pull, { title: 'WIP: beds' })
      await ask(users.bob, 'DELETE', `${path}/branch_protections/${rule_name}`)
      await change(pull, path)
      await ask(users.carol, 'PATCH', pull, { title: 'Beds' })
      if (expected) await expectMerged(pull)
      else expect(await isMerged(pull)).toBe(false)
    }
  })

  it('has one outcome when the pull request is closed at the same moment', async () => {
    const { path, pull, head } = await proposal()
    await ask(users.carol, 'POST', `${pull}/merge`, SOON)
    const closing = report(users.carol, path, head, 'success').then(() =>
      rest(users.carol, 'PATCH', pull, { state: 'closed' }),
    )
    const [{ status }] = await Promise.all([closing, finishScheduledMerges(server.app)])
    const { state, merged } = await ask(users.bob, 'GET', pull)
    expect([state, merged]).toEqual(['closed', status === 412])
    const files = await ask(users.bob, 'GET', `${path}/contents`)
    expect(files.some(({ name }: { name: string }) => name === 'beds.txt')).toBe(merged)
  })

  it('survives a restart, and notices what happened meanwhile', async () => {
    const data = await mkdtemp(join(tmpdir(), 'branchline-'))
    const first = await startTestServer({ data })
    const people = await createTestUsers(first.url)
    const send = restAt(first.url)
    const at = '/repos/bob/restart'
    await send(people.bob, 'POST', '/user/repos', { name: 'restart', auto_init: true })
    await send(people.bob, 'POST', `${at}/branch_protections`, {
      rule_name: 'main',
      enable_status_check: true,
    })
    const file = { content: 'cm9zZXM=', branch: 'main', new_branch: 'beds' }
    const { body } = await send(people.bob, 'POST', `${at}/contents/beds.txt`, file)
    await send(people.bob, 'POST', `${at}/pulls`, { title: 'Beds', head: 'beds', base: 'main' })
    expect((await send(people.bob, 'POST', `${at}/pulls/1/merge`, SOON)).status).toBe(201)
    await finishScheduledMerges(first.app)
    // As if the server had been killed between the status and the look at the merge.
    const status = { state: 'success', context: 'ci' }
    await send(people.bob, 'POST', `${at}/statuses/${body.commit.sha}`, status)
    await first.app.db
      .updateTable('auto_merges')
      .set({ due_time: Number.MAX_SAFE_INTEGER })
      .execute()
    await first.stop()
    const second = await startTestServer({ data })
    const merged = async () =>
      (await restAt(second.url)(people.bob, 'GET', `${at}/pulls/1/merge`)).status
    // The worker makes all scheduled merges due when it starts, which may be after the server.
    await expect.poll(merged).toBe(204)
    await second.stop()
    await rm(data, { recursive: true })
  })
})

describe('the mergeability of a pull request', () => {
  const mergeabilityOf = async (who: Actor, pull: string) => {
    await server.app.background.settled()
    const { mergeable } = await ask(who, 'GET', pull)
    await server.app.background.settled()
    return [mergeable, (await ask(who, 'GET', pull)).mergeable]
  }

  const failedChecks = () =>
    server.logged.filter(({ msg }) => msg === 'a mergeability check failed').length

  it('is known after creation, and again after head or base has moved', async () => {
    const { path, pull, number } = await proposal(undefined)
    // The list starts no check.
    await expect
      .poll(() => ask(users.bob, 'GET', `${path}/pulls`))
      .toMatchObject([{ number, mergeable: true }])
    await write(users.bob, path, 'beds.txt', 'thistles\n', { branch: 'main' })
    expect(await mergeabilityOf(users.bob, pull)).toEqual([false, false])
    await ask(users.bob, 'DELETE', `${path}/contents/beds.txt`, {
      branch: 'main',
      sha: (await ask(users.bob, 'GET', `${path}/contents/beds.txt`)).sha,
    })
    // The first answer is from before: reading starts the check.
    expect((await mergeabilityOf(users.bob, pull))[1]).toBe(true)
  })

  it('is determined later if it could not be determined before', async () => {
    const { pull, head } = await proposal(undefined)
    const { id } = await rowOf(head)
    await server.app.background.settled()
    await server.app.db
      .updateTable('issues')
      .set({ mergeability: 'ERROR' })
      .where('id', '=', id)
      .execute()
    expect(await mergeabilityOf(users.carol, pull)).toEqual([false, true])
  })

  it('is not checked repeatedly while the check fails', async () => {
    const { pull, head } = await proposal(undefined)
    const { id } = await rowOf(head)
    await server.app.background.settled()
    const lost = '1'.repeat(40)
    const columns = { head_commit: lost, head_ref_commit: lost }
    await server.app.db.updateTable('issues').set(columns).where('id', '=', id).execute()
    const before = failedChecks()
    expect(await mergeabilityOf(users.carol, pull)).toEqual([false, false])
    expect(failedChecks() - before).toBe(1)
  })

  it('is checked without delaying repositories of other owners', async () => {
    const { pull, path } = await proposal(undefined)
    await write(users.bob, path, 'base.txt', 'moved\n', { branch: 'main' })
    await ask(users.carol, 'POST', '/user/repos', { name: 'mine', auto_init: true })
    await write(users.carol, '/repos/carol/mine', 'beds.txt', 'roses\n', {
      branch: 'main',
      new_branch: 'beds',
    })
    const { id: bobId } = await ask(users.bob, 'GET', '/user')
    const release = await new Promise<() => void>((resolve) => {
      withCheckLock(server.app, bobId, () => new Promise<void>((done) => resolve(done)))
    })
    expect((await ask(users.bob, 'GET', pull)).mergeable).toBe(false)
    const made = await ask(users.carol, 'POST', '/repos/carol/mine/pulls', {
      title: 'Beds',
      head: 'beds',
      base: 'main',
    })
    const isMergeable = async () =>
      (await ask(users.carol, 'GET', `/repos/carol/mine/pulls/${made.number}`)).mergeable
    await expect.poll(isMergeable).toBe(true)
    release()
    expect((await mergeabilityOf(users.bob, pull))[1]).toBe(true)
  })

  it('is not given without a common history and for work in progress', async () => {
    const { pull } = await proposal(undefined)
    await ask(users.carol, 'PATCH', pull, { title: 'wip: Beds' })
    expect((await mergeabilityOf(users.carol, pull))[1]).toBe(false)
    await ask(users.carol, 'PATCH', pull, { title: 'Beds' })
    expect((await mergeabilityOf(users.carol, pull))[1]).toBe(true)
  })
})
