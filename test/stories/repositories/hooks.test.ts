import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { finishMeasuring } from '../../../src/forge/repositories/refs/repository-size.ts'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { freePort } from '../../support/free-port.ts'
import { remoteOf } from '../../support/git-client.ts'
import { importHistory } from '../../support/histories.ts'
import { serveProcess, withFolder } from '../../support/process.ts'
import { type Received, type Receiver, startReceiver } from '../../support/receiver.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, createToken, PASSWORD, startTestServer } from '../../support/server.ts'

const ZEROS = '0'.repeat(40)

/** A secret that Standard Webhooks and compatible systems use alike: without a prefix, as text. */
const SECRET = 'correct horse battery staple'

let forge: Forge
const receivers: Receiver[] = []

beforeAll(async () => {
  forge = await startForge({
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    settings: { webhookRetryScheduleMs: [24 * 60 * 60 * 1000] },
  })
})
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.stop()
})
afterAll(() => forge.stop())

async function receiver(...how: Parameters<typeof startReceiver>): Promise<Receiver> {
  const started = await startReceiver(...how)
  receivers.push(started)
  return started
}

/** Makes a repository of bob, whose default branch is main. */
async function repository(name: string, fields: object = {}): Promise<string> {
  await forge.ask(forge.users.bob, 'POST', '/user/repos', { name, auto_init: true, ...fields })
  return `/repos/bob/${name}`
}

/** Adds a webhook to a repository. */
async function hook(path: string, url: string, fields: object = {}): Promise<{ id: number }> {
  return forge.ask(forge.users.bob, 'POST', `${path}/hooks`, {
    type: 'gitea',
    config: { url, content_type: 'json', secret: SECRET },
    active: true,
    ...fields,
  })
}

/** Adds a file by a commit. */
async function commit(path: string, file: string, fields: object = {}): Promise<string> {
  const content = Buffer.from(file).toString('base64')
  const draft = { content, message: `Add ${file}`, branch: 'main', ...fields }
  const { commit } = await forge.ask(forge.users.bob, 'POST', `${path}/contents/${file}`, draft)
  return commit.sha
}

/** A request, with its event and its payload. */
const told = ({ headers, body }: Received) => ({
  event: headers['x-gitea-event'],
  payload: JSON.parse(body),
})

/** The deliveries of a webhook, oldest first. */
const deliveries = async (path: string, id: number) =>
  (await forge.ask(forge.users.bob, 'GET', `${path}/hooks/${id}/deliveries`)).toReversed()

/** Waits until a webhook has a number of deliveries that ended or failed once. */
async function attempted(path: string, id: number, count: number) {
  await expect
    .poll(async () =>
      (await deliveries(path, id)).filter(
        ({ attempt_count, state }: { attempt_count: number; state: string }) =>
          attempt_count > 0 || state !== 'PENDING',
      ),
    )
    .toHaveLength(count)
  return deliveries(path, id)
}

describe('the webhooks of a repository', () => {
  it('have the JSON of compatible systems, without their secrets', async () => {
    const path = await repository('settings')
    const { url } = await receiver()
    const added = await forge.rest(forge.users.bob, 'POST', `${path}/hooks`, {
      type: 'gitea',
      config: { url, content_type: 'form', secret: SECRET, http_method: 'post' },
      events: ['push', 'pull_request', 'push'],
      branch_filter: 'release/*',
      authorization_header: 'Bearer hunter2',
    })
    expect(added.status).toBe(201)
    expect(added.body).toEqual({
      id: expect.any(Number),
      type: 'gitea',
      branch_filter: 'release/*',
      config: { url, content_type: 'form' },
      events: ['push', 'pull_request'],
      authorization_header: '',
      active: false,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    const one = `${path}/hooks/${added.body.id}`
    expect(await forge.ask(forge.users.bob, 'GET', one)).toEqual(added.body)
    const list = await forge.rest(forge.users.bob, 'GET', `${path}/hooks`)
    expect([list.body, list.headers.get('x-total-count')]).toEqual([[added.body], '1'])
    const edited = await forge.ask(forge.users.bob, 'PATCH', one, {
      config: { content_type: 'json' },
      events: ['create'],
      active: true,
    })
    expect(edited).toMatchObject({
      config: { url, content_type: 'json' },
      events: ['create'],
      branch_filter: 'release/*',
      active: true,
    })
    expect((await forge.rest(forge.users.bob, 'DELETE', one)).status).toBe(204)
    expect((await forge.rest(forge.users.bob, 'GET', one)).status).toBe(404)
    const rows = await forge.server.app.db.selectFrom('user_webhooks').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain('hunter2')
    // The list of Git hooks is beside the webhooks, not one of them.
    expect((await forge.rest(forge.users.bob, 'GET', `${path}/hooks/git`)).status).toBe(403)
  })

  it.each([
    ['an unknown type', { type: 'carrier-pigeon' }],
    ['no type', { type: '' }],
    ['an unknown content type', { config: { url: 'http://127.0.0.1/', content_type: 'xml' } }],
    ['no URL', { config: { content_type: 'json' } }],
    ['no configuration', { config: undefined }],
    ['a URL of another scheme', { config: { url: 'file:///etc/passwd', content_type: 'json' } }],
    ['a private address', { config: { url: 'http://10.0.0.1/', content_type: 'json' } }],
    ['an unknown event', { events: ['push', 'pushes'] }],
    ['a broken glob', { branch_filter: 'release/[' }],
    ['a header of two lines', { authorization_header: 'Bearer x\r\nHost: y' }],
    ['a long secret', { config: { url: 'http://127.0.0.1/', secret: 'x'.repeat(256) } }],
  ])('are refused with %s', async (_, fields) => {
    const name = 'refusals'
    const { status } = await forge.rest(forge.users.bob, 'GET', `/repos/bob/${name}`)
    const path = status === 200 ? `/repos/bob/${name}` : await repository(name)
    const draft = {
      type: 'gitea',
      config: { url: 'http://127.0.0.1/', content_type: 'json' },
      ...fields,
    }
    const refused = await forge.rest(forge.users.bob, 'POST', `${path}/hooks`, draft)
    expect(refused.status).toBe(422)
    expect(await forge.ask(forge.users.bob, 'GET', `${path}/hooks`)).toEqual([])
  })

  it('are for administrators of the repository only', async () => {
    const path = await repository('mine', { private: true })
    const { url } = await receiver()
    const { id } = await hook(path, url)
    const { carol } = forge.users
    const answers = async () =>
      Promise.all([
        forge.rest(carol, 'GET', `${path}/hooks`),
        forge.rest(carol, 'GET', `${path}/hooks/${id}`),
        forge.rest(carol, 'PATCH', `${path}/hooks/${id}`, { active: false }),
        forge.rest(carol, 'POST', `${path}/hooks/${id}/tests`),
        forge.rest(carol, 'GET', `${path}/hooks/${id}/deliveries`),
        forge.rest(carol, 'DELETE', `${path}/hooks/${id}`),
      ])
    expect(new Set((await answers()).map(({ status }) => status))).toEqual(new Set([404]))
    await forge.ask(forge.users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    expect(new Set((await answers()).map(({ status }) => status))).toEqual(new Set([403]))
    // A webhook of one repository is not found in another one.
    const other = await repository('other')
    expect((await forge.rest(forge.users.bob, 'GET', `${other}/hooks/${id}`)).status).toBe(404)
  })

  it('cannot be set by a token for public data, because they would outlive it', async () => {
    const path = await repository('public')
    const { url } = await receiver()
    const token = await createToken(forge.server.url, forge.users.bob, [
      'write:repository',
      'public-only',
    ])
    const who = { authorization: `token ${token}` }
    const draft = { type: 'gitea', config: { url, content_type: 'json' } }
    expect((await forge.rest(who, 'POST', `${path}/hooks`, draft)).status).toBe(403)
  })

  it('are no webhooks of the account, and are at most 50', async () => {
    const path = await repository('many')
    const { url } = await receiver()
    for (let count = 0; count < 50; count += 1) await hook(path, url, { active: false })
    const more = await forge.rest(forge.users.bob, 'POST', `${path}/hooks`, {
      type: 'gitea',
      config: { url, content_type: 'json' },
    })
    expect(more.status).toBe(422)
    const own = await forge.ask(forge.users.bob, 'GET', '/users/bob/webhooks')
    expect(own.webhooks ?? []).toEqual([])
  })

  it('go with their repository', async () => {
    const path = await repository('gone')
    const { url } = await receiver((response) => response.writeHead(500).end())
    const { id } = await hook(path, url)
    await commit(path, 'a.txt')
    await attempted(path, id, 1)
    await forge.ask(forge.users.bob, 'DELETE', path)
    const { db } = forge.server.app
    const left = await db.selectFrom('user_webhooks').select('id').where('id', '=', id).execute()
    expect(left).toEqual([])
    expect(
      await db
        .selectFrom('webhook_messages')
        .select('id')
        .where('event_type', '=', 'push')
        .execute(),
    ).toEqual([])
  })
})

describe('a push', () => {
  it('is told with its commits, signed for each kind of receiver', async () => {
    const path = await repository('told')
    const target = await receiver()
    await hook(path, target.url, { authorization_header: 'Bearer hunter2' })
    const before = (await forge.ask(forge.users.bob, 'GET', `${path}/branches/main`)).commit.id
    const after = await commit(path, 'src/a.txt')
    const { headers, body } = await target.next()
    const id = headers['x-gitea-delivery']
    const signature = createHmac('sha256', SECRET).update(body).digest('hex')
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Bearer hunter2',
      'x-gitea-event': 'push',
      'x-gitea-event-type': 'push',
      'x-gitea-signature': signature,
      'x-forgejo-event': 'push',
      'x-forgejo-delivery': id,
      'x-forgejo-signature': signature,
      'x-github-event': 'push',
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${signature}`,
      'webhook-id': id,
    })
    const verifier = new Webhook(Buffer.from(SECRET).toString('base64'))
    const payload = verifier.verify(body, headers as Record<string, string>)
    const person = { name: 'bob', email: expect.stringContaining('@'), username: 'bob' }
    const listed = {
      id: after,
      message: 'Add src/a.txt\n',
      url: `${forge.server.url}/bob/told/commit/${after}`,
      author: person,
      committer: person,
      verification: null,
      timestamp: expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      added: ['src/a.txt'],
      removed: [],
      modified: [],
    }
    expect(payload).toEqual({
      ref: 'refs/heads/main',
      before,
      after,
      compare_url: `${forge.server.url}/bob/told/compare/${before}...${after}`,
      commits: [listed],
      total_commits: 1,
      head_commit: listed,
      repository: expect.objectContaining({ full_name: 'bob/told', id: expect.any(Number) }),
      pusher: expect.objectContaining({ login: 'bob' }),
      sender: expect.objectContaining({ login: 'bob' }),
    })
  })

  it('is told as a form, without signatures where there is no secret', async () => {
    const path = await repository('forms')
    const target = await receiver()
    await hook(path, target.url, { config: { url: target.url, content_type: 'form' } })
    await commit(path, 'a.txt')
    const { headers, body } = await target.next()
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(JSON.parse(new URLSearchParams(body).get('payload') ?? '').ref).toBe('refs/heads/main')
    expect(headers['x-gitea-signature']).toBe('')
    expect(headers['webhook-signature']).toBeUndefined()
    expect(headers['x-hub-signature-256']).toBeUndefined()
  })

  it('that creates and deletes branches and tags is told of each, in order', async () => {
    const path = await repository('refs')
    const target = await receiver()
    const { id } = await hook(path, target.url, { events: ['push', 'create', 'delete'] })
    const made = await commit(path, 'a.txt', { new_branch: 'topic' })
    await forge.ask(forge.users.bob, 'POST', `${path}/tags`, {
      tag_name: 'v1',
      target: 'topic',
      message: 'One',
    })
    await forge.ask(forge.users.bob, 'DELETE', `${path}/branches/topic`)
    await forge.ask(forge.users.bob, 'DELETE', `${path}/tags/v1`)
    await attempted(path, id, 6)
    const all = target.received.map(told)
    expect(all.map(({ event, payload }) => [event, payload.ref, payload.ref_type])).toEqual([
      ['create', 'topic', 'branch'],
      ['push', 'refs/heads/topic', undefined],
      ['create', 'v1', 'tag'],
      ['push', 'refs/tags/v1', undefined],
      ['delete', 'topic', 'branch'],
      ['delete', 'v1', 'tag'],
    ])
    // A new branch brings what the default branch does not have; a tag names its commit.
    expect(all[0]?.payload.sha).toBe(made)
    expect(all[1]?.payload).toMatchObject({ before: ZEROS, after: made, total_commits: 1 })
    expect(all[2]?.payload.sha).toBe(made)
    expect(all[3]?.payload.head_commit.id).toBe(made)
  })

  it('without new commits is told with the head of the branch', async () => {
    const path = await repository('moved')
    const old = (await forge.ask(forge.users.bob, 'GET', `${path}/branches/main`)).commit.id
    const made = await commit(path, 'a.txt')
    const target = await receiver()
    await hook(path, target.url)
    const branch = { new_branch_name: 'again', old_ref_name: 'main' }
    await forge.ask(forge.users.bob, 'POST', `${path}/branches`, branch)
    await target.next()
    const remote = remoteOf(forge.server.url, 'bob/moved', 'bob', PASSWORD)
    await forge.client.git('.', 'clone', '-q', remote, 'moved')
    await forge.client.git('moved', 'push', '-q', 'origin', `+${old}:main`)
    await target.next()
    expect(target.received.map((one) => told(one).payload)).toMatchObject([
      {
        ref: 'refs/heads/again',
        commits: [],
        total_commits: 0,
        head_commit: {
          id: made,
          message: 'Add a.txt\n',
          author: { name: 'bob' },
          added: ['a.txt'],
        },
      },
      { ref: 'refs/heads/main', after: old, commits: [], head_commit: { id: old } },
    ])
  })

  it('is told for the branches that the filter matches, and for the events that are named', async () => {
    const path = await repository('filtered')
    const target = await receiver()
    const { id } = await hook(path, target.url, { branch_filter: '{main,release/*}' })
    await commit(path, 'a.txt', { new_branch: 'topic' })
    await commit(path, 'b.txt', { new_branch: 'release/1' })
    await commit(path, 'c.txt')
    await forge.ask(forge.users.bob, 'DELETE', `${path}/branches/topic`)
    await attempted(path, id, 2)
    expect(target.received.map((one) => told(one).payload.ref)).toEqual([
      'refs/heads/release/1',
      'refs/heads/main',
    ])
  })

  it('of many commits with many files has a bounded payload', async () => {
    const path = await repository('large')
    const target = await receiver()
    await hook(path, target.url)
    const { client, server } = forge
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'bob/large', 'bob', PASSWORD),
      'large',
    )
    const file = (number: number) => `${'directory/'.repeat(20)}${number}`
    importHistory(
      join(client.home, 'large'),
      Array.from({ length: 200 }, (_, number) => ({
        message: 'A very long message. '.repeat(1_000),
        files: Object.fromEntries(
          Array.from({ length: number > 150 ? 50 : 1 }, (_, part) => [file(number + part), 'x']),
        ),
        parents: number === 0 ? ['refs/remotes/origin/main'] : [],
      })),
    )
    await client.git('large', 'push', '-q', 'origin', 'main')
    const { body } = await target.next()
    const { commits, total_commits } = JSON.parse(body)
    expect([commits.length, total_commits]).toEqual([30, 200])
    expect(body.length).toBeLessThan(1024 ** 2)
  })
})

describe('a test of a webhook', () => {
  it('tells a push of the head of the branch, whatever events the webhook receives', async () => {
    const path = await repository('tried')
    const target = await receiver()
    const { id } = await hook(path, target.url, { events: ['delete'] })
    const { commit: head } = await forge.ask(forge.users.bob, 'GET', `${path}/branches/main`)
    const tests = `${path}/hooks/${id}/tests`
    expect((await forge.rest(forge.users.bob, 'POST', tests)).status).toBe(204)
    const { event, payload } = told(await target.next())
    expect(event).toBe('push')
    expect(payload).toMatchObject({
      ref: 'refs/heads/main',
      after: head.id,
      total_commits: 1,
      head_commit: { id: head.id },
    })
    const missing = await forge.rest(forge.users.bob, 'POST', `${tests}?ref=nowhere`)
    expect(missing.status).toBe(404)
    await forge.ask(forge.users.bob, 'PATCH', `${path}/hooks/${id}`, { active: false })
    expect((await forge.rest(forge.users.bob, 'POST', tests)).status).toBe(400)
  })

  it('works in an empty repository', async () => {
    const path = await repository('empty', { auto_init: false })
    const target = await receiver()
    const { id } = await hook(path, target.url)
    await forge.ask(forge.users.bob, 'POST', `${path}/hooks/${id}/tests`)
    expect(told(await target.next()).payload).toMatchObject({ after: ZEROS, commits: [] })
  })
})

describe('a receiver', () => {
  it('that answers 500 is asked again with the same id, and administrators see what it said', async () => {
    const path = await repository('broken')
    let isBroken = true
    const target = await receiver((response) =>
      isBroken ? response.writeHead(500).end('a stack trace') : response.writeHead(204).end(),
    )
    const { id } = await hook(path, target.url)
    await commit(path, 'a.txt')
    const [delivery] = await attempted(path, id, 1)
    expect(delivery).toMatchObject({
      id: target.received[0]?.headers['x-gitea-delivery'],
      event: 'push',
      state: 'PENDING',
      attempt_count: 1,
      response_status: 500,
      error: 'status 500',
      response_body: 'a stack trace',
      duration_ms: expect.any(Number),
      request_url: target.url,
      next_attempt_at: expect.any(String),
    })
    const one = `${path}/hooks/${id}/deliveries/${delivery.id}`
    // The body is that of the next attempt, about the repository as it is by then.
    await forge.ask(forge.users.bob, 'PATCH', path, { description: 'changed meanwhile' })
    await finishMeasuring(forge.server.app)
    const { request_body } = await forge.ask(forge.users.bob, 'GET', one)
    isBroken = false
    expect((await forge.rest(forge.users.bob, 'POST', `${one}/attempts`)).status).toBe(202)
    await expect.poll(() => target.received.length).toBe(2)
    expect(target.received[1]?.headers['webhook-id']).toBe(delivery.id)
    expect(JSON.parse(request_body).repository.description).toBe('changed meanwhile')
    expect(JSON.parse(target.received[1]?.body ?? '')).toEqual(JSON.parse(request_body))
    await expect
      .poll(async () => (await forge.ask(forge.users.bob, 'GET', one)).state)
      .toBe('DELIVERED')
  })

  it('that is down gets what it missed, in order', async () => {
    const path = await repository('down')
    const target = await startReceiver(undefined, await freePort())
    await target.stop()
    const { id } = await hook(path, target.url)
    const commits = [await commit(path, 'a.txt'), await commit(path, 'b.txt')]
    const missed = await attempted(path, id, 2)
    expect(missed.map(({ error }: { error: string }) => error)).toEqual([
      'the connection failed',
      'the connection failed',
    ])
    const back = await receiver(undefined, target.port)
    for (const delivery of missed) {
      const attempts = `${path}/hooks/${id}/deliveries/${delivery.id}/attempts`
      await forge.ask(forge.users.bob, 'POST', attempts)
    }
    const [first, second] = [await back.next(), await back.next()]
    expect([first, second].map((one) => told(one).payload.after)).toEqual(commits)
  })

  it('that redirects to a private address is not followed', async () => {
    const path = await repository('redirected')
    const secret = await receiver()
    const target = await receiver((response) =>
      response.writeHead(307, { location: secret.url }).end(),
    )
    const { id } = await hook(path, target.url)
    await commit(path, 'a.txt')
    const [delivery] = await attempted(path, id, 1)
    expect(delivery).toMatchObject({ response_status: 307, error: 'status 307' })
    expect(secret.received).toEqual([])
  })

  it('that is gone switches its webhook off, and what waits is abandoned', async () => {
    const path = await repository('ended')
    const target = await receiver((response) => response.writeHead(410).end())
    const { id } = await hook(path, target.url)
    await commit(path, 'a.txt')
    await attempted(path, id, 1)
    expect((await forge.ask(forge.users.bob, 'GET', `${path}/hooks/${id}`)).active).toBe(false)
    await commit(path, 'b.txt')
    expect(await deliveries(path, id)).toHaveLength(1)
  })

  it('gets nothing for an account that no longer administers the repository', async () => {
    const path = await repository('left', { private: true })
    const { bob, carol } = forge.users
    await forge.ask(bob, 'PUT', `${path}/collaborators/carol`, { permission: 'admin' })
    const target = await receiver()
    const config = { url: target.url, content_type: 'json' }
    const { id } = await forge.ask(carol, 'POST', `${path}/hooks`, {
      type: 'gitea',
      config,
      active: true,
    })
    await commit(path, 'a.txt')
    await target.next()
    await forge.ask(bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    await commit(path, 'b.txt')
    const [, refused] = await attempted(path, id, 2)
    expect(refused).toMatchObject({
      state: 'FAILED',
      attempt_count: 0,
      error: 'the account of the webhook may no longer administer the repository',
    })
    expect(target.received).toHaveLength(1)
    // Bob takes the webhook over by an edit, and can send again what was refused.
    await forge.ask(bob, 'PATCH', `${path}/hooks/${id}`, {})
    await forge.ask(bob, 'POST', `${path}/hooks/${id}/deliveries/${refused.id}/attempts`)
    expect(told(await target.next()).payload.commits[0].added).toEqual(['b.txt'])
  })
})

describe('a server that was killed', () => {
  it('delivers an acknowledged push after its next start, under the same id', async () => {
    await withFolder(async (data) => {
      const target = await startReceiver(() => {})
      const killed = await serveProcess(data, ['--webhook-allowed-hosts', '127.0.0.1'])
      const { ada } = await createTestUsers(killed.url)
      const before = restAt(killed.url)
      const file = (content: string) => ({ content, branch: 'main' })
      const made = [
        await before(ada, 'POST', '/user/repos', { name: 'lives', auto_init: true }),
        await before(ada, 'POST', '/repos/ada/lives/hooks', {
          type: 'gitea',
          config: { url: target.url, content_type: 'json' },
          active: true,
        }),
        await before(ada, 'POST', '/repos/ada/lives/contents/a.txt', file('YQ==')),
      ]
      expect(made.map(({ status }) => status)).toEqual([201, 201, 201])
      // The first delivery is under way, without an answer. The second one waits behind it.
      const first = await target.next()
      expect(
        (await before(ada, 'POST', '/repos/ada/lives/contents/b.txt', file('Yg=='))).status,
      ).toBe(201)
      killed.child.kill('SIGKILL')
      await killed.exited
      const next = await startTestServer({
        data,
        webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
      })
      const again = await target.next()
      expect(again.headers['webhook-id']).toBe(first.headers['webhook-id'])
      expect(JSON.parse(again.body).after).toBe(JSON.parse(first.body).after)
      await next.stop()
      await target.stop()
    })
  })
})
