import { createClient } from '@connectrpc/connect'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { recordPullChange } from '../../../src/forge/pulls/heads/pull-changes.ts'
import { findPullRequestById } from '../../../src/forge/pulls/heads/pull-requests.rows.ts'
import { changeWatched } from '../../../src/forge/repositories/activity/repository-events.ts'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { serveProcess, withFolder } from '../../support/process.ts'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { restAt } from '../../support/rest.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import {
  type Actor,
  createTestUsers,
  PASSWORD,
  signIn,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>
const hooks: Hook[] = []

/** A webhook of somebody, and who it tells. */
interface Hook {
  /** Resource name. */
  readonly name: string
  readonly receiver: Receiver
  /** Whether it takes what it is sent. */
  takes: boolean
  /** What it is sent next, signed as it has to be. */
  // biome-ignore lint/suspicious/noExplicitAny: a test fails when a field is missing
  next(): Promise<any>
  /** Types of all that is sent until nothing more is due. */
  types(): Promise<string[]>
  /** Types and states of all deliveries that there are, oldest first. */
  deliveries(): Promise<{ name: string; eventType: string; requestBody: string }[]>
  remove(): Promise<void>
}

beforeAll(async () => {
  server = await startTestServer({
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    settings: { webhookRetryScheduleMs: [24 * 60 * 60 * 1000] },
  })
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterEach(async () => {
  for (const hook of hooks.splice(0)) await hook.remove()
})
afterAll(() => server.stop())

async function hookOf({ username, authorization }: Actor): Promise<Hook> {
  const users = createClient(UserService, transportTo(server.url, 'gRPC', authorization))
  const receiver = await startReceiver((response) =>
    response.writeHead(hook.takes ? 204 : 500).end(),
  )
  const { name } = await users.createUserWebhook({
    parent: `users/${username}`,
    webhook: { url: receiver.url },
  })
  const { signingSecret } = await users.getUserWebhookSigningSecret({ name })
  const hook: Hook = {
    name,
    receiver,
    takes: true,
    async next() {
      const { body, headers } = await receiver.next()
      return new Webhook(signingSecret).verify(body, headers as Record<string, string>)
    },
    async types() {
      await users.testUserWebhook({ name })
      const types: string[] = []
      for (;;) {
        const { type } = await hook.next()
        if (type === 'test') return types
        types.push(type)
      }
    },
    async deliveries() {
      return (await users.listUserWebhookDeliveries({ parent: name })).deliveries.toReversed()
    },
    async remove() {
      await users.deleteUserWebhook({ name })
      await receiver.stop()
    },
  }
  hooks.push(hook)
  return hook
}

const redeliver = ({ authorization }: Actor, name: string) =>
  createClient(
    UserService,
    transportTo(server.url, 'gRPC', authorization),
  ).redeliverUserWebhookDelivery({ name })

/** The pull request as the list shows it to somebody. */
const listed = async (who: Actor, { path }: ReviewedPull) =>
  (await forge.ask(who, 'GET', `${path}/pulls?state=all`))[0]

/** The server measures repositories some time after a push. */
function withoutSizes(pull: object): object {
  return JSON.parse(
    JSON.stringify(pull, (key, value) =>
      ['size', 'owned_size'].includes(key) ? undefined : value,
    ),
  )
}

describe('a webhook about pull requests', () => {
  it('receives those that concern its account, as the account sees them', async () => {
    const [ofOwner, ofPoster, ofStranger] = [
      await hookOf(users.bob),
      await hookOf(users.carol),
      await hookOf(users.eve),
    ]
    const pull = await forge.pull('told')
    const message = await ofOwner.next()
    expect(message).toEqual({
      type: 'pull_request.opened',
      timestamp: expect.stringMatching(/^20\d\d-.*\.\d{3}Z$/),
      number: 1,
      base: 'main',
      head_sha: pull.head,
      sender: expect.objectContaining({ login: 'carol', id: expect.any(Number) }),
      pull_request: expect.objectContaining({
        number: 1,
        title: 'A change',
        state: 'open',
        merged: false,
      }),
    })
    // It is spelt as REST spells it, whatever a check has found out in between.
    const { mergeable: _, mergeability: __, ...shown } = await listed(users.bob, pull)
    expect(withoutSizes(message.pull_request)).toMatchObject(withoutSizes(shown))
    expect(Object.keys(message.pull_request)).toEqual(Object.keys(await listed(users.bob, pull)))
    expect((await ofPoster.next()).pull_request.user.email).toBe('carol@example.org')
    expect(message.pull_request.user.email).not.toBe('carol@example.org')
    expect(await ofStranger.types()).toEqual([])
  })

  it('receives each event in order, and none twice', async () => {
    const hook = await hookOf(users.carol)
    const pull = await forge.pull('life')
    const { path } = pull
    await forge.change(users.bob, path, 'other')
    const comments = `${path}/issues/1/comments`
    await forge.ask(users.carol, 'PATCH', pull.pull, { title: 'Another change' })
    await forge.ask(users.bob, 'POST', pull.requested, { reviewers: ['eve'] })
    const { id } = await forge.ask(users.eve, 'POST', comments, { body: 'Hm.' })
    await forge.ask(users.eve, 'PATCH', `${path}/issues/comments/${id}`, { body: 'Fine.' })
    await forge.ask(users.eve, 'DELETE', `${path}/issues/comments/${id}`)
    await forge.review(users.eve, pull, 'PENDING')
    await forge.review(users.bob, pull, 'APPROVED')
    await forge.ask(users.carol, 'PATCH', pull.pull, { base: 'other' })
    await forge.change(users.carol, path, 'topic', 'main', 'more.txt')
    await forge.ask(users.carol, 'PATCH', pull.pull, { state: 'closed' })
    await forge.ask(users.carol, 'PATCH', pull.pull, { state: 'open' })
    await expect
      .poll(async () => (await forge.ask(users.bob, 'GET', pull.pull)).mergeable)
      .toBe(true)
    await forge.ask(users.bob, 'POST', `${pull.pull}/merge`, { Do: 'merge' })
    expect(await hook.types()).toEqual(
      [
        'opened',
        'edited',
        'review_requested',
        'commented',
        'commented',
        'commented',
        'reviewed',
        'retargeted',
        'synchronized',
        'closed',
        'reopened',
        'merged',
      ].map((type) => `pull_request.${type}`),
    )
    const bodies = hook.receiver.received.map(({ body }) => JSON.parse(body))
    expect(bodies.find(({ type }) => type === 'pull_request.retargeted')).toMatchObject({
      base: 'other',
    })
    expect(bodies.find(({ type }) => type === 'pull_request.merged')).toMatchObject({
      sender: { login: 'bob' },
      pull_request: { merged: true, merged_by: { login: 'bob' } },
    })
  })

  it('receives each event once, whatever the account has to do with the pull request', async () => {
    const pull = await forge.pull('parts')
    const [first, second] = [await hookOf(users.bob), await hookOf(users.bob)]
    const reviewer = await hookOf(users.eve)
    await forge.ask(users.bob, 'PATCH', pull.pull, { assignees: ['bob', 'carol'] })
    for (const hook of [first, second]) expect(await hook.types()).toEqual(['pull_request.edited'])
    await forge.ask(users.bob, 'POST', pull.requested, { reviewers: ['eve'] })
    expect(await reviewer.types()).toEqual(['pull_request.review_requested'])
    await forge.ask(users.bob, 'PATCH', pull.pull, { assignees: ['eve'] })
    expect(await reviewer.types()).toEqual(['pull_request.edited'])
  })

  it('of an organisation does not exist, and members receive events for themselves', async () => {
    await forge.ask(users.bob, 'POST', '/orgs', { username: 'acme' })
    await forge.ask(users.bob, 'POST', '/orgs/acme/repos', { name: 'engine', auto_init: true })
    const hook = await hookOf(users.bob)
    await forge.change(users.bob, '/repos/acme/engine', 'topic')
    const carol = await forge.ask(users.carol, 'POST', '/repos/acme/engine/forks', {})
    await forge.change(users.carol, `/repos/${carol.full_name}`, 'mine')
    const draft = { head: 'carol:mine', base: 'main', title: 'Theirs' }
    await forge.ask(users.carol, 'POST', '/repos/acme/engine/pulls', draft)
    await forge.ask(users.bob, 'POST', '/repos/acme/engine/pulls', {
      ...draft,
      head: 'topic',
      title: 'Mine',
    })
    expect((await hook.next()).pull_request.title).toBe('Mine')
    expect(await hook.types()).toEqual([])
  })

  it('receives nothing that its account may no longer read', async () => {
    const pull = await forge.pull('hidden', { private: true })
    const hook = await hookOf(users.carol)
    hook.takes = false
    await forge.ask(users.bob, 'PATCH', pull.pull, { title: 'Before' })
    expect((await hook.next()).pull_request.title).toBe('Before')
    await forge.ask(users.bob, 'DELETE', `${pull.path}/collaborators/carol`)
    // She is not told of what comes, and what is repeated goes.
    await forge.ask(users.bob, 'PATCH', pull.pull, { title: 'After' })
    hook.takes = true
    const [delivery, ...others] = await hook.deliveries()
    expect(others).toEqual([])
    await redeliver(users.carol, delivery?.name ?? '')
    expect(await hook.types()).toEqual([])
    expect((await hook.deliveries()).map(({ eventType }) => eventType)).toEqual(['test'])
  })

  it('receives the pull request as it is at that time, without deleted content', async () => {
    const pull = await forge.pull('corrected')
    const hook = await hookOf(users.bob)
    hook.takes = false
    await forge.ask(users.carol, 'PATCH', pull.pull, { body: 'My password is hunter2.' })
    expect((await hook.next()).pull_request.body).toContain('hunter2')
    const [delivery] = await hook.deliveries()
    expect(delivery?.requestBody).not.toContain('hunter2')
    await forge.ask(users.carol, 'PATCH', pull.pull, { body: 'Nothing.' })
    expect((await hook.next()).pull_request.body).toBe('Nothing.')
    hook.takes = true
    await redeliver(users.bob, delivery?.name ?? '')
    expect(await hook.next()).toMatchObject({
      type: 'pull_request.edited',
      pull_request: { body: 'Nothing.' },
    })
  })

  it('receives nothing about a fork that its account may not read', async () => {
    const { path } = await forge.repository(users.bob, 'upstream')
    const fork = await forge.fork(users.carol, path)
    await forge.change(users.carol, fork.path, 'secret-plan')
    await forge.ask(users.carol, 'PATCH', fork.path, { private: true })
    const [ofOwner, ofPoster] = [await hookOf(users.bob), await hookOf(users.carol)]
    const draft = { head: 'carol:secret-plan', base: 'main', title: 'A change' }
    await forge.ask(users.carol, 'POST', `${path}/pulls`, draft)
    expect((await ofOwner.next()).pull_request.head).toMatchObject({ repo: null, repo_id: -1 })
    expect((await ofPoster.next()).pull_request.head).toMatchObject({ repo: { private: true } })
  })

  it('receives changes by deleted accounts', async () => {
    const pull = await forge.pull('gone')
    const mallory = {
      username: 'mallory',
      email: 'm@example.org',
      password: PASSWORD,
      must_change_password: false,
    }
    await forge.ask(users.ada, 'POST', '/admin/users', mallory)
    const hook = await hookOf(users.bob)
    hook.takes = false
    const comment = { body: 'Goodbye.' }
    await forge.ask(
      await signIn(server.url, 'mallory'),
      'POST',
      `${pull.path}/issues/1/comments`,
      comment,
    )
    expect((await hook.next()).sender.login).toBe('mallory')
    await forge.ask(users.ada, 'DELETE', '/admin/users/mallory')
    hook.takes = true
    const [delivery] = await hook.deliveries()
    await redeliver(users.bob, delivery?.name ?? '')
    expect((await hook.next()).sender).toMatchObject({ id: -1, login: 'Ghost' })
  })

  it('receives nothing more about a deleted pull request, and nothing about a failed change', async () => {
    const pull = await forge.pull('deleted')
    const hook = await hookOf(users.bob)
    const { id } = await forge.ask(users.bob, 'GET', pull.pull)
    const { app } = server
    const failed = changeWatched(app, async (tx) => {
      const row = await findPullRequestById(tx, id)
      if (row) await recordPullChange(app, tx, undefined, row, 'PULL_REQUEST_EDITED')
      throw new Error('no change')
    })
    await expect(failed).rejects.toThrow('no change')
    expect(await hook.deliveries()).toEqual([])
    hook.takes = false
    await forge.ask(users.carol, 'PATCH', pull.pull, { title: 'Soon gone' })
    await hook.next()
    await forge.ask(users.bob, 'DELETE', pull.path)
    hook.takes = true
    const [delivery] = await hook.deliveries()
    await redeliver(users.bob, delivery?.name ?? '')
    expect(await hook.types()).toEqual([])
    expect(await app.db.selectFrom('issue_messages').selectAll().execute()).toEqual([])
  })
})

describe('a server that was killed', () => {
  it('delivers acknowledged events after its next start, in their present state', async () => {
    await withFolder(async (data) => {
      const target = await startReceiver(() => {})
      const killed = await serveProcess(data, ['--webhook-allowed-hosts', '127.0.0.1'])
      const { ada } = await createTestUsers(killed.url)
      const before = restAt(killed.url)
      const made = [
        await before(ada, 'POST', '/user/repos', { name: 'lives', auto_init: true }),
        await before(ada, 'POST', '/repos/ada/lives/contents/a.txt', {
          content: '',
          branch: 'main',
          new_branch: 'a',
        }),
        await before(ada, 'POST', '/repos/ada/lives/pulls', {
          head: 'a',
          base: 'main',
          title: 'One',
        }),
        await before(ada, 'POST', '/users/ada/webhooks', { url: target.url }),
        await before(ada, 'POST', '/repos/ada/lives/issues/1/comments', { body: 'Said.' }),
      ]
      expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 200, 201])
      // It is under way, without an answer.
      const { headers } = await target.next()
      await before(ada, 'PATCH', '/repos/ada/lives/pulls/1', { title: 'Two' })
      killed.child.kill('SIGKILL')
      await killed.exited
      const next = await startTestServer({
        data,
        webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
      })
      const again = await target.next()
      expect(again.headers['webhook-id']).toBe(headers['webhook-id'])
      expect(JSON.parse(again.body)).toMatchObject({
        type: 'pull_request.commented',
        pull_request: { title: 'Two' },
      })
      await next.stop()
      await target.stop()
    })
  })
})
