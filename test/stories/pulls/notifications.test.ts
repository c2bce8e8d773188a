import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NotificationService } from '#gen/branchline/v1/notification_service_pb.ts'
import { sendHttp1, sendHttp2 } from '../../support/http-request.ts'
import { settleNotices } from '../../support/notices.ts'
import { createPullTestUsers, type PullTestUsers, refusalOf } from '../../support/pull-forge.ts'
import { reviewForge } from '../../support/review-forge.ts'
import {
  type Actor,
  createToken,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterAll(() => server.stop())

interface Thread {
  id: number
  unread: boolean
  pinned: boolean
  reason: string
  updated_at: string
  subject: Record<string, string>
  repository: { full_name: string; name: string }
}

/** The threads of somebody about a repository of bob, once everybody has been told. */
async function threadsOf(who: Actor, name: string, query = ''): Promise<Thread[]> {
  await settleNotices(server.app)
  return forge.ask(who, 'GET', `/repos/bob/${name}/notifications${query}`)
}

/** The reason of the unread thread of somebody about a repository, which becomes read. */
async function reasonFor(who: Actor, name: string): Promise<string | undefined> {
  const [thread] = await threadsOf(who, name)
  await forge.ask(who, 'PUT', `/repos/bob/${name}/notifications`)
  return thread?.reason
}

/** Makes the threads of everybody about a repository read. */
async function read(name: string) {
  await settleNotices(server.app)
  for (const who of [users.ada, users.bob, users.carol, users.eve])
    await forge.ask(who, 'PUT', `/repos/bob/${name}/notifications`)
}

describe('a thread', () => {
  it('has the form that clients of Gitea know', async () => {
    const { path, pull } = await forge.pull('form')
    const [thread] = await threadsOf(users.bob, 'form')
    expect(thread).toEqual({
      id: expect.any(Number),
      repository: await forge.ask(users.bob, 'GET', path),
      subject: {
        title: 'A change',
        url: `${server.url}/api/v1${path}/issues/1`,
        latest_comment_url: '',
        html_url: `${server.url}/bob/form/pulls/1`,
        latest_comment_html_url: '',
        type: 'Pull',
        state: 'open',
      },
      unread: true,
      pinned: false,
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
      url: `${server.url}/api/v1/notifications/threads/${thread?.id}`,
      reason: 'subscribed',
    })
    const comment = await forge.ask(users.carol, 'POST', `${path}/issues/1/comments`, {
      body: 'More to come.',
    })
    const [again] = await threadsOf(users.bob, 'form')
    expect(again).toMatchObject({
      id: thread?.id,
      subject: {
        latest_comment_url: `${server.url}/api/v1${path}/issues/comments/${comment.id}`,
        latest_comment_html_url: comment.html_url,
      },
    })
    await forge.ask(users.carol, 'DELETE', `${path}/issues/comments/${comment.id}`)
    expect((await threadsOf(users.bob, 'form'))[0]?.subject.latest_comment_url).toBe('')
    await forge.ask(users.carol, 'PATCH', pull, { state: 'closed' })
    expect((await threadsOf(users.bob, 'form'))[0]?.subject.state).toBe('closed')
  })

  it('tells of what others do, and never of own changes', async () => {
    const { path, pull, head } = await forge.pull('changes')
    await read('changes')
    const say = (who: Actor, body: string) =>
      forge.ask(who, 'POST', `${path}/issues/1/comments`, { body })

    await say(users.carol, 'I did this.')
    expect([
      await reasonFor(users.carol, 'changes'),
      await reasonFor(users.bob, 'changes'),
      await reasonFor(users.eve, 'changes'),
    ]).toEqual([undefined, 'subscribed', undefined])

    // Who says something takes part.
    await say(users.eve, 'I see.')
    await read('changes')
    await say(users.bob, 'And I.')
    expect([
      await reasonFor(users.carol, 'changes'),
      await reasonFor(users.bob, 'changes'),
      await reasonFor(users.eve, 'changes'),
    ]).toEqual(['participating', undefined, 'participating'])

    await forge.review(users.bob, { reviews: `${pull}/reviews` } as never, 'COMMENT')
    expect(await reasonFor(users.carol, 'changes')).toBe('participating')
    await forge.ask(users.bob, 'PATCH', pull, { title: 'Another title' })
    expect(await reasonFor(users.carol, 'changes')).toBeUndefined()
    await forge.ask(users.bob, 'PATCH', pull, { state: 'closed' })
    expect(await reasonFor(users.carol, 'changes')).toBe('participating')
    await forge.ask(users.bob, 'PATCH', pull, { state: 'open' })
    expect(await reasonFor(users.carol, 'changes')).toBe('participating')
    await forge.ask(users.carol, 'POST', `${path}/contents/more.txt`, {
      content: Buffer.from('more\n').toString('base64'),
      branch: 'topic',
    })
    expect(await reasonFor(users.eve, 'changes')).toBe('participating')
    expect(head).toMatch(/^[0-9a-f]{40}$/)
    await forge.ask(users.bob, 'POST', `${pull}/merge`, { Do: 'merge' })
    const [merged] = await threadsOf(users.carol, 'changes')
    expect(merged).toMatchObject({ unread: true, subject: { state: 'merged' } })
  })

  it('tells whom a change names, and why', async () => {
    const { path, pull, requested } = await forge.pull(
      'named',
      {},
      { body: 'For @EVE and @nobody.' },
    )
    expect(await reasonFor(users.eve, 'named')).toBe('mention')
    await forge.ask(users.carol, 'POST', requested, { reviewers: ['ada'] })
    expect(await reasonFor(users.ada, 'named')).toBe('review_requested')
    await read('named')
    await forge.ask(users.bob, 'PATCH', pull, { assignees: ['carol', 'eve'] })
    expect(await reasonFor(users.eve, 'named')).toBe('assign')
    await forge.ask(users.bob, 'PATCH', pull, { assignees: ['carol', 'eve'], title: 'As before' })
    expect(await reasonFor(users.eve, 'named')).toBeUndefined()

    // Only new mentions count, and text in code is none.
    const comment = await forge.ask(users.bob, 'POST', `${path}/issues/1/comments`, {
      body: 'See `@eve`.',
    })
    await read('named')
    const edit = (body: string) =>
      forge.ask(users.bob, 'PATCH', `${path}/issues/comments/${comment.id}`, { body })
    await edit('See @eve.')
    expect(await reasonFor(users.eve, 'named')).toBe('mention')
    await edit('See @eve again.')
    expect(await reasonFor(users.eve, 'named')).toBeUndefined()
  })

  it('keeps the strongest reason until it is read', async () => {
    const { path } = await forge.pull('strong')
    await forge.ask(users.carol, 'POST', `${path}/issues/1/comments`, { body: '@bob, look.' })
    await forge.ask(users.carol, 'POST', `${path}/issues/1/comments`, { body: 'Or not.' })
    expect(await reasonFor(users.bob, 'strong')).toBe('mention')
    await forge.ask(users.carol, 'POST', `${path}/issues/1/comments`, { body: 'Well.' })
    expect(await reasonFor(users.bob, 'strong')).toBe('subscribed')
  })
})

describe('who is told', () => {
  it('is up to the user', async () => {
    const { path } = await forge.pull('choice')
    await forge.ask(users.eve, 'PUT', `${path}/issues/1/subscriptions/eve`)
    await forge.ask(users.bob, 'DELETE', `${path}/issues/1/subscriptions/bob`)
    await forge.ask(users.ada, 'PUT', `${path}/subscription`, { ignored: true })
    await read('choice')
    const say = (body: string) =>
      forge.ask(users.carol, 'POST', `${path}/issues/1/comments`, { body })
    await say('Hello.')
    expect([await reasonFor(users.eve, 'choice'), await reasonFor(users.bob, 'choice')]).toEqual([
      'participating',
      undefined,
    ])
    // A mention reaches who has left the pull request, and nobody who ignores the repository.
    await say('@bob @ada')
    expect([await reasonFor(users.bob, 'choice'), await reasonFor(users.ada, 'choice')]).toEqual([
      'mention',
      undefined,
    ])
  })

  it('does not include watchers while work is in progress, nor whom a user blocks', async () => {
    const { path } = await forge.pull('draft', {}, { title: 'WIP: not yet' })
    expect(await reasonFor(users.bob, 'draft')).toBeUndefined()
    await forge.ask(users.eve, 'PUT', `${path}/issues/1/subscriptions/eve`)
    await forge.ask(users.eve, 'PUT', '/user/blocks/carol')
    await forge.ask(users.carol, 'POST', `${path}/issues/1/comments`, { body: '@eve' })
    expect(await reasonFor(users.eve, 'draft')).toBeUndefined()
    await forge.ask(users.eve, 'DELETE', '/user/blocks/carol')
  })

  it('ends at once when access ends, and no old thread is shown', async () => {
    const { path } = await forge.pull('secret', { private: true })
    await forge.ask(users.bob, 'POST', `${path}/issues/1/comments`, { body: 'For us.' })
    const [thread] = await threadsOf(users.carol, 'secret')
    const token = await createToken(server.url, users.carol, ['all', 'public-only'])
    const outside = { authorization: `token ${token}` }
    const isListed = async (who: Pick<Actor, 'authorization'>) => {
      await settleNotices(server.app)
      const all: Thread[] = await forge.ask(who, 'GET', '/notifications?all=true&limit=50')
      return all.some(({ repository }) => repository.name === 'secret')
    }
    expect([await isListed(users.carol), await isListed(outside)]).toEqual([true, false])
    await forge.ask(users.bob, 'DELETE', `${path}/collaborators/carol`)
    expect(await isListed(users.carol)).toBe(false)
    const one = `/notifications/threads/${thread?.id}`
    for (const method of ['GET', 'PATCH'])
      expect((await forge.rest(users.carol, method, one)).status).toBe(404)
    const count = (await forge.ask(users.carol, 'GET', '/notifications/new')).new
    // Neither as participant nor by a mention.
    await forge.ask(users.bob, 'POST', `${path}/issues/1/comments`, { body: '@carol, still here?' })
    await settleNotices(server.app)
    expect((await forge.ask(users.carol, 'GET', '/notifications/new')).new).toBe(count)
    // Nothing was kept for later.
    await forge.ask(users.carol, 'PUT', '/notifications?all=true')
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    const [back] = await threadsOf(users.carol, 'secret', '?all=true')
    expect(back?.updated_at).toBe(thread?.updated_at)
  })
})

describe('the list', () => {
  it('is filtered, paged and counted', async () => {
    const { path } = await forge.pull('first')
    const second = await forge.pull('second')
    await settleNotices(server.app)
    const list = async (query: string) => {
      const { body, headers, status } = await forge.rest(users.bob, 'GET', `/notifications${query}`)
      expect(status, JSON.stringify(body)).toBe(200)
      return {
        names: body.map(({ repository }: Thread) => repository.name),
        total: headers.get('x-total-count'),
      }
    }
    await forge.ask(users.bob, 'PUT', '/notifications')
    for (const { path: changed } of [{ path }, second])
      await forge.ask(users.carol, 'POST', `${changed}/issues/1/comments`, { body: 'Hm.' })
    await settleNotices(server.app)
    expect(await list('')).toEqual({ names: ['second', 'first'], total: '2' })
    expect(await list('?limit=1&page=2')).toEqual({ names: ['first'], total: '2' })
    expect(await list('?subject-type=issue')).toEqual({ names: [], total: '0' })
    expect((await list('?subject-type=issue&subject-type=pull')).total).toBe('2')
    expect(await list('?since=2999-01-01T00:00:00Z')).toEqual({ names: [], total: '0' })
    expect(await list('?before=2001-01-01T00:00:00Z')).toEqual({ names: [], total: '0' })
    expect((await list('?status-types=unread&status-types=read&limit=50')).total).not.toBe('2')
    expect((await forge.ask(users.bob, 'GET', '/notifications/new')).new).toBe(2)
    const refused = await forge.rest(users.bob, 'GET', '/notifications?status-types=lost')
    expect(refused.status).toBe(422)
  })

  it('is marked as read, unread and pinned', async () => {
    await forge.pull('marked')
    const [thread] = await threadsOf(users.bob, 'marked')
    const one = `/notifications/threads/${thread?.id}`
    // As compatible systems do, and against RFC 9110, a 205 has content over HTTP/1.1.
    const change = async (path: string, method: string, send = sendHttp1) => {
      const headers = { authorization: users.bob.authorization }
      const { status, body } = await send(`${server.url}/api/v1${path}`, { method, headers })
      return { status, body: body && JSON.parse(body) }
    }
    expect(await change(`${one}?to-status=pinned`, 'PATCH')).toMatchObject({
      status: 205,
      body: { unread: false, pinned: true },
    })
    expect(await change(`${one}?to-status=pinned`, 'PATCH', sendHttp2)).toEqual({
      status: 205,
      body: '',
    })
    expect(await forge.ask(users.bob, 'GET', one)).toMatchObject({ pinned: true })
    const all = '/repos/bob/marked/notifications'
    expect(await change(all, 'PUT')).toEqual({ status: 205, body: [] })
    expect(await threadsOf(users.bob, 'marked')).toHaveLength(1)
    await forge.ask(users.bob, 'PATCH', one)
    expect(await threadsOf(users.bob, 'marked')).toHaveLength(0)
    expect(await change(`${all}?all=true&to-status=unread`, 'PUT')).toMatchObject({
      body: [{ id: thread?.id, unread: true }],
    })
    const early = '/notifications?last_read_at=2001-01-01T00:00:00Z'
    expect((await change(early, 'PUT')).body).toEqual([])
    expect((await forge.rest(users.bob, 'PATCH', `${one}?to-status=lost`)).status).toBe(422)
  })

  it('is of the caller only, with a token for notifications', async () => {
    await forge.pull('alone')
    const [thread] = await threadsOf(users.bob, 'alone')
    const one = `/notifications/threads/${thread?.id}`
    for (const who of [users.carol, users.ada])
      expect((await forge.rest(who, 'GET', one)).status).toBe(404)
    expect((await forge.rest(undefined, 'GET', '/notifications')).status).toBe(401)
    const withScope = async (scope: string) => ({
      authorization: `token ${await createToken(server.url, users.bob, [scope])}`,
    })
    const reader = await withScope('read:notification')
    expect((await forge.rest(reader, 'GET', one)).status).toBe(200)
    expect((await forge.rest(reader, 'PATCH', one)).status).toBe(403)
    expect((await forge.rest(await withScope('write:repository'), 'GET', one)).status).toBe(403)
  })

  it('is there over gRPC too', async () => {
    await forge.pull('remote')
    await settleNotices(server.app)
    const bob = createClient(
      NotificationService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    const { threads, total } = await bob.listRepositoryNotificationThreads({
      owner: 'bob',
      repo: 'remote',
    })
    expect([threads.map(({ subject }) => subject?.title), total]).toEqual([['A change'], 1n])
    expect(await bob.markNotificationThread({ id: threads[0]?.id ?? 0n })).toMatchObject({
      unread: false,
    })
    expect(await refusalOf(bob.getNotificationThread({ id: 999_999n }))).toMatchObject({
      reason: 'NOTIFICATION_THREAD_NOT_FOUND',
    })
  })
})
