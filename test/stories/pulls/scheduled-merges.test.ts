import { createClient } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { RepositoryEvent_Type } from '#gen/branchline/v1/repository_event_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { finishScheduledMerges } from '../../../src/forge/pulls/merging/scheduled-merge-worker.ts'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { tokenOf } from '../../support/callers.ts'
import { openGitClient, remoteOf } from '../../support/git-client.ts'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { startReceiver } from '../../support/receiver.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import {
  type Actor,
  PASSWORD,
  signIn,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'
import { type Watcher, watchRepository } from '../../support/watch.ts'

let now = Date.parse('2030-05-01T12:00:00Z')
let server: TestServer
let testUsers: PullTestUsers
let forge: ReturnType<typeof reviewForge>
const watchers: Watcher[] = []

beforeAll(async () => {
  server = await startTestServer({
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    clock: { now: () => now },
  })
  testUsers = await createPullTestUsers(server.url)
  forge = reviewForge(server, testUsers)
})
afterEach(() => {
  for (const watcher of watchers.splice(0)) watcher.leave()
})
afterAll(() => server.stop())

const SOON = { Do: 'squash', merge_when_checks_succeed: true }

/** A pull request of carol's whose base wants a status, and which does not have it. */
async function waiting(name: string): Promise<ReviewedPull> {
  const pull = await forge.pull(name)
  const rule = {
    rule_name: 'main',
    enable_push: true,
    enable_status_check: true,
    status_check_contexts: ['ci'],
  }
  await forge.ask(testUsers.bob, 'POST', `${pull.path}/branch_protections`, rule)
  return pull
}

const order = async (who: Pick<Actor, 'authorization'>, { pull }: ReviewedPull) =>
  expect((await forge.rest(who, 'POST', `${pull}/merge`, SOON)).status).toBe(201)

const succeed = ({ path, head }: ReviewedPull) =>
  forge.ask(testUsers.bob, 'POST', `${path}/statuses/${head}`, { state: 'success', context: 'ci' })

/**
 * What is told of orders for merges, and by whom each, until the repository gets another
 * description.
 */
async function watch({ name, path }: ReviewedPull) {
  const watcher = watchRepository(server.url, 'gRPC', undefined, { owner: 'bob', repo: name })
  watchers.push(watcher as unknown as Watcher)
  await watcher.next()
  return async () => {
    await forge.ask(testUsers.bob, 'PATCH', path, { description: String(Math.random()) })
    const told: string[] = []
    for (;;) {
      const { event } = await watcher.next()
      if (event?.type === RepositoryEvent_Type.REPOSITORY_EDITED) return told
      // A check ends at any time.
      if (event?.type === RepositoryEvent_Type.MERGEABILITY_CHECKED) continue
      if (event) told.push(`${RepositoryEvent_Type[event.type]} ${event.actor?.login ?? 'nobody'}`)
    }
  }
}

const isMerged = async ({ pull }: ReviewedPull) => {
  await finishScheduledMerges(server.app)
  return (await forge.rest(testUsers.bob, 'GET', `${pull}/merge`)).status === 204
}

const shown = async ({ pull }: ReviewedPull) =>
  (await forge.ask(testUsers.bob, 'GET', pull)).auto_merge

describe('a merge that is scheduled for later', () => {
  it('is visible in the pull request, over REST and gRPC, until it is cancelled', async () => {
    const pull = await waiting('seen')
    expect(await shown(pull)).toBeNull()
    await order(testUsers.carol, pull)
    const { auto_merge } = await forge.ask(undefined as never, 'GET', pull.pull)
    expect(auto_merge).toEqual({
      user: expect.objectContaining({ login: 'carol' }),
      style: 'squash',
      created_at: '2030-05-01T12:00:00Z',
    })
    expect(
      (await forge.ask(testUsers.bob, 'GET', `${pull.path}/pulls`))[0].auto_merge.user.login,
    ).toBe('carol')
    const { autoMerge } = await forge
      .grpcAs(testUsers.bob)
      .getPullRequest({ owner: 'bob', repo: 'seen', index: 1n })
    expect(autoMerge).toMatchObject({
      user: { login: 'carol' },
      style: 'squash',
      createdAt: { seconds: 1903867200n },
    })
    await forge.ask(testUsers.bob, 'DELETE', `${pull.pull}/merge`)
    expect(await shown(pull)).toBeNull()
  })

  it('has the default style if the caller gave none', async () => {
    const pull = await waiting('plain')
    expect(
      (
        await forge.rest(testUsers.bob, 'POST', `${pull.pull}/merge`, {
          merge_when_checks_succeed: true,
        })
      ).status,
    ).toBe(201)
    expect((await shown(pull)).style).toBe('merge')
  })

  it('is part of the event stream, as is its end', async () => {
    const pull = await waiting('streamed')
    await forge.change(testUsers.bob, pull.path, 'other')
    const events = await watch(pull)
    await order(testUsers.carol, pull)
    await forge.ask(testUsers.bob, 'DELETE', `${pull.pull}/merge`)
    expect(await events()).toEqual([
      'PULL_REQUEST_AUTO_MERGE_SCHEDULED carol',
      'PULL_REQUEST_AUTO_MERGE_CANCELLED bob',
    ])
    await order(testUsers.carol, pull)
    const { auto_merge } = await forge.ask(testUsers.bob, 'PATCH', pull.pull, { base: 'other' })
    expect(auto_merge).toBeNull()
    expect((await events()).toSorted()).toEqual([
      'PULL_REQUEST_AUTO_MERGE_CANCELLED bob',
      'PULL_REQUEST_AUTO_MERGE_SCHEDULED carol',
      'PULL_REQUEST_RETARGETED bob',
    ])
    await forge.ask(testUsers.bob, 'PATCH', pull.pull, { base: 'main' })
    await order(testUsers.carol, pull)
    await events()
    await forge.ask(testUsers.bob, 'PATCH', pull.pull, { state: 'closed' })
    expect((await events()).toSorted()).toEqual([
      'PULL_REQUEST_AUTO_MERGE_CANCELLED bob',
      'PULL_REQUEST_CLOSED bob',
    ])
  })

  it('is cancelled with an event when its base is deleted', async () => {
    const pull = await waiting('base-gone')
    await forge.change(testUsers.bob, pull.path, 'next')
    await forge.ask(testUsers.carol, 'PATCH', pull.pull, { base: 'next' })
    const rule = { rule_name: 'n*', enable_push: true, enable_status_check: true }
    const { rule_name } = await forge.ask(
      testUsers.bob,
      'POST',
      `${pull.path}/branch_protections`,
      rule,
    )
    await order(testUsers.carol, pull)
    await forge.ask(testUsers.carol, 'PATCH', pull.pull, { title: 'WIP: a change' })
    await forge.ask(
      testUsers.bob,
      'DELETE',
      `${pull.path}/branch_protections/${encodeURIComponent(rule_name)}`,
    )
    const events = await watch(pull)
    const client = await openGitClient()
    await client.git('.', 'init', '-q', 'pushing')
    await client.git(
      'pushing',
      'push',
      '-q',
      remoteOf(server.url, 'bob/base-gone', 'bob', PASSWORD),
      ':next',
    )
    await client.remove()
    expect(await events()).toContain('PULL_REQUEST_AUTO_MERGE_CANCELLED bob')
    expect(await shown(pull)).toBeNull()
  })

  it('is sent to webhooks, as is its end', async () => {
    const receiver = await startReceiver()
    const users = createClient(
      UserService,
      transportTo(server.url, 'gRPC', testUsers.bob.authorization),
    )
    const { name } = await users.createUserWebhook({
      parent: 'users/bob',
      webhook: { url: receiver.url },
    })
    const pull = await waiting('hooked')
    await order(testUsers.carol, pull)
    const next = async (type: string) => {
      for (;;) {
        const message = JSON.parse((await receiver.next()).body)
        if (message.type === type) return message
      }
    }
    expect(await next('pull_request.auto_merge_scheduled')).toMatchObject({
      sender: { login: 'carol' },
      pull_request: { auto_merge: { user: { login: 'carol' }, style: 'squash' } },
    })
    await forge.ask(testUsers.bob, 'PATCH', pull.pull, { state: 'closed' })
    expect(await next('pull_request.auto_merge_cancelled')).toMatchObject({
      sender: { login: 'bob' },
      pull_request: { auto_merge: null },
    })
    await users.deleteUserWebhook({ name })
    await receiver.stop()
  })
})

describe('a scheduled merge without a valid user', () => {
  it.each([
    [
      'whose token was deleted',
      (_: ReviewedPull, token: Actor) => forge.ask(token, 'DELETE', '/token'),
    ],
    [
      'whose account was archived',
      () =>
        forge.ask(testUsers.ada, 'PATCH', '/admin/users/carol', {
          prohibit_login: true,
          source_id: 0,
          login_name: 'carol',
        }),
    ],
    [
      'of who may not merge any more',
      ({ path }: ReviewedPull) => forge.ask(testUsers.bob, 'DELETE', `${path}/collaborators/carol`),
    ],
  ])('is cancelled: one %s', async (what, end) => {
    const pull = await waiting(`end-${what.length}`)
    const token = await tokenOf(server.url, testUsers.carol, ['write:repository', 'write:user'])
    await order(token, pull)
    await finishScheduledMerges(server.app)
    expect((await shown(pull)).user.login).toBe('carol')
    const events = await watch(pull)
    await end(pull, token)
    await finishScheduledMerges(server.app)
    await expect.poll(() => shown(pull)).toBeNull()
    expect(await events()).toContain('PULL_REQUEST_AUTO_MERGE_CANCELLED nobody')
    if (what.includes('archived')) {
      const again = { prohibit_login: false, source_id: 0, login_name: 'carol' }
      await forge.ask(testUsers.ada, 'PATCH', '/admin/users/carol', again)
      testUsers = { ...testUsers, carol: await signIn(server.url, 'carol') }
      forge = reviewForge(server, testUsers)
    }
    await succeed(pull)
    expect(await isMerged(pull)).toBe(false)
  })

  it('stays when another token is deleted, and when no token scheduled it', async () => {
    const [one, other] = [await waiting('stays-1'), await waiting('stays-2')]
    const [token, gone] = [
      await tokenOf(server.url, testUsers.bob, ['write:repository']),
      await tokenOf(server.url, testUsers.bob, ['write:repository', 'write:user']),
    ]
    await order(token, one)
    await order(testUsers.bob, other)
    await forge.ask(gone, 'DELETE', '/token')
    await succeed(one)
    await succeed(other)
    for (const pull of [one, other]) await expect.poll(() => isMerged(pull)).toBe(true)
  })

  it('is cancelled when its token expires, without another event', async () => {
    const pull = await waiting('expiry')
    const users = createClient(
      UserService,
      transportTo(server.url, 'gRPC', testUsers.bob.authorization),
    )
    const request = { parent: 'users/bob', scopes: ['write:repository'], expiresInDays: 1 }
    const { token } = await users.createPersonalAccessToken(request)
    await order({ authorization: `token ${token}` }, pull)
    await finishScheduledMerges(server.app)
    const due = await server.app.db.selectFrom('auto_merges').select('due_time').execute()
    now += 24 * 60 * 60 * 1000
    testUsers = { ...testUsers, bob: await signIn(server.url, 'bob') }
    expect(Math.max(...due.map(({ due_time }) => due_time))).toBeLessThanOrEqual(now)
    await succeed(pull)
    expect(await isMerged(pull)).toBe(false)
    expect(await shown(pull)).toBeNull()
  })
})
