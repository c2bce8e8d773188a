import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { type Received, type Receiver, startReceiver } from '../../support/receiver.ts'
import { type Actor, createToken, PASSWORD, signIn } from '../../support/server.ts'

let forge: Forge
const receivers: Receiver[] = []
/** Deletes the webhooks that a test has added, since the next test causes events too. */
const removals: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  forge = await startForge({ webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
  await forge.ask(forge.users.ada, 'POST', '/orgs', { username: 'acme' })
})
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove()
  for (const receiver of receivers.splice(0)) await receiver.stop()
})
afterAll(() => forge.stop())

/** Adds a webhook, and returns its receiver and its path. */
async function hook(
  who: Actor,
  hooks: string,
  { config, ...fields }: { config?: object; [field: string]: unknown } = {},
) {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const { id } = await forge.ask(who, 'POST', hooks, {
    type: 'gitea',
    active: true,
    events: ['repository', 'create', 'push'],
    ...fields,
    config: { url: receiver.url, content_type: 'json', ...config },
  })
  const path = `${hooks}/${id}`
  removals.push(() => forge.rest(who, 'DELETE', path))
  return { receiver, path, next: async () => told(await receiver.next()) }
}

/** The event of a request, and what it is about. */
function told({ headers, body }: Received) {
  const payload = JSON.parse(body)
  return { event: headers['x-gitea-event'], payload, about: payload.repository?.full_name }
}

const create = (who: Actor, path: string, name: string, fields: object = {}) =>
  forge.ask(who, 'POST', path, { name, ...fields })

describe('the webhooks of an organisation', () => {
  it('hear of each of its repositories, from the first day to the last, and of no other', async () => {
    const { ada, bob } = forge.users
    const { next } = await hook(ada, '/orgs/acme/hooks')
    await create(bob, '/user/repos', 'elsewhere', { auto_init: true })
    await create(ada, '/orgs/acme/repos', 'engine', { auto_init: true, private: true })
    const created = await next()
    expect(created).toMatchObject({
      event: 'repository',
      about: 'acme/engine',
      payload: {
        action: 'created',
        organization: { login: 'acme' },
        sender: { login: 'ada' },
        repository: { private: true, html_url: expect.stringContaining('/acme/engine') },
      },
    })
    expect([await next(), await next()]).toMatchObject([
      { event: 'create', about: 'acme/engine' },
      { event: 'push', about: 'acme/engine', payload: { total_commits: 1 } },
    ])
    await forge.rest(ada, 'DELETE', '/repos/acme/engine')
    expect(await next()).toMatchObject({
      event: 'repository',
      payload: {
        action: 'deleted',
        repository: { id: created.payload.repository.id, full_name: 'acme/engine', private: true },
        organization: { login: 'acme' },
        sender: { login: 'ada' },
      },
    })
  })

  it('are for its owners', async () => {
    const { ada, bob } = forge.users
    const { path } = await hook(ada, '/orgs/acme/hooks')
    for (const [verb, place] of [
      ['GET', '/orgs/acme/hooks'],
      ['GET', path],
      ['PATCH', path],
      ['DELETE', path],
      ['GET', `${path}/deliveries`],
    ] as const)
      expect((await forge.rest(bob, verb, place)).status).toBe(403)
    // A webhook of one place is not at another one.
    const { path: own } = await hook(ada, '/user/hooks')
    const id = own.slice('/user/hooks/'.length)
    expect((await forge.rest(ada, 'GET', `/orgs/acme/hooks/${id}`)).status).toBe(404)
    expect((await forge.rest(ada, 'GET', `/admin/hooks/${id}`)).status).toBe(404)
  })

  it('send nothing for an owner who has left', async () => {
    const { ada, bob, carol } = forge.users
    await forge.ask(carol, 'POST', '/orgs', { username: 'guild' })
    const [{ id: owners }] = await forge.ask(carol, 'GET', '/orgs/guild/teams')
    await forge.rest(carol, 'PUT', `/teams/${owners}/members/bob`)
    const { receiver, path } = await hook(bob, '/orgs/guild/hooks')
    await forge.rest(carol, 'DELETE', `/teams/${owners}/members/bob`)
    // Bob still administers the repository. The webhook is not his any more.
    await create(carol, '/orgs/guild/repos', 'engine')
    await forge.rest(carol, 'PUT', '/repos/guild/engine/collaborators/bob', { permission: 'admin' })
    await expect
      .poll(() => forge.ask(carol, 'GET', `${path}/deliveries`))
      .toMatchObject([
        {
          event: 'repository',
          state: 'FAILED',
          error: 'the account of the webhook may no longer administer the repository',
        },
      ])
    expect(receiver.received).toEqual([])
    expect((await forge.rest(ada, 'DELETE', path)).status).toBe(204)
  })
})

describe('the webhooks of a user', () => {
  it('hear of forks and imports into the account', async () => {
    const { ada, bob, carol } = forge.users
    await create(bob, '/user/repos', 'garden', { auto_init: true })
    const { next } = await hook(carol, '/user/hooks', { events: ['repository', 'fork'] })
    const parent = await hook(bob, '/user/hooks', { events: ['fork'] })
    await forge.ask(carol, 'POST', '/repos/bob/garden/forks', {})
    expect(await next()).toMatchObject({ event: 'repository', about: 'carol/garden' })
    expect(await parent.next()).toMatchObject({
      event: 'fork',
      about: 'carol/garden',
      payload: { forkee: { full_name: 'bob/garden' } },
    })
    expect(await forge.ask(ada, 'GET', '/user/hooks')).toEqual([])
  })

  it('hear nothing of a repository whose creation fails', async () => {
    const { bob } = forge.users
    const { db, git } = forge.server.app
    const { next } = await hook(bob, '/user/hooks', { events: ['repository'] })
    const { id } = await forge.ask(bob, 'POST', '/user/repos', { name: 'last' })
    await next()
    const latest = async () => {
      const { max } = db.fn
      const query = db.selectFrom('webhook_messages').select(max('id').as('id'))
      return Number((await query.executeTakeFirstOrThrow()).id)
    }
    const before = await latest()
    // The number of the next repository. Its folder exists, which no repository of the server does.
    await mkdir(join(repositoryPath(git, id + 1), 'objects'), { recursive: true })
    const fields = { name: 'next', auto_init: true }
    expect((await forge.rest(bob, 'POST', '/user/repos', fields)).status).toBe(500)
    expect((await forge.rest(bob, 'GET', '/repos/bob/next')).status).toBe(404)
    await forge.ask(bob, 'POST', '/user/repos', { name: 'next' })
    expect((await next()).about).toBe('bob/next')
    // The failed creation had no message, not even one that was deleted since.
    expect(await latest()).toBe(before + 1)
  })

  it('hear once of a repository that the server completes after a crash', async () => {
    const { bob } = forge.users
    const { db } = forge.server.app
    const { next } = await hook(bob, '/user/hooks', { events: ['repository', 'create'] })
    const { id } = await forge.ask(bob, 'POST', '/user/repos', { name: 'whole', auto_init: true })
    const first = ['repository', 'create']
    expect([(await next()).event, (await next()).event]).toEqual(first)
    const { id: creator } = await forge.ask(bob, 'GET', '/user')
    // As if the process had been killed after the first commit.
    await db.deleteFrom('branches').where('repository_id', '=', id).execute()
    await db
      .insertInto('pending_ref_updates')
      .values({ repository_id: id, pusher_id: creator })
      .execute()
    for (let i = 0; i < 2; i++) await forge.ask(bob, 'GET', '/repos/bob/whole/branches')
    const told = [await next(), await next()]
    expect(told.map(({ event }) => event)).toEqual(first)
    expect(told[0]?.payload).toMatchObject({ action: 'created', sender: { login: 'bob' } })
    await create(bob, '/user/repos', 'later')
    expect(await next()).toMatchObject({ event: 'repository', about: 'bob/later' })
  })

  it.each([
    ['/user/hooks', ['write:user']],
    ['/orgs/acme/hooks', ['write:organization']],
    ['/admin/hooks', ['write:admin']],
    ['/admin/hooks', ['all', 'public-only']],
  ])(
    'at %s cannot be added by a token for %s, which reads no private code',
    async (path, scopes) => {
      const { ada } = forge.users
      const token = await createToken(forge.server.url, ada, scopes)
      const { receiver } = await hook(ada, '/user/hooks')
      const answer = await forge.rest({ authorization: `Bearer ${token}` }, 'POST', path, {
        type: 'gitea',
        config: { url: receiver.url, content_type: 'json' },
      })
      expect(answer.status).toBe(403)
    },
  )
})

describe('the webhooks of the instance', () => {
  it('hear of every repository, also of those that go with their owner', async () => {
    const { ada } = forge.users
    await forge.ask(ada, 'POST', '/admin/users', {
      username: 'erin',
      email: 'erin@example.org',
      password: PASSWORD,
    })
    const erin = await signIn(forge.server.url, 'erin')
    const { next } = await hook(ada, '/admin/hooks', { events: ['repository'] })
    await create(erin, '/user/repos', 'plans')
    expect(await next()).toMatchObject({ about: 'erin/plans', payload: { action: 'created' } })
    expect((await forge.rest(ada, 'DELETE', '/admin/users/erin?purge=true')).status).toBe(204)
    expect(await next()).toMatchObject({ about: 'erin/plans', payload: { action: 'deleted' } })
  })

  it('are for administrators, and send nothing for somebody who is none any more', async () => {
    const { ada, bob, carol } = forge.users
    expect((await forge.rest(bob, 'GET', '/admin/hooks')).status).toBe(403)
    const role = (to: string) =>
      forge.ask(ada, 'PATCH', '/users/carol?updateMask=role', { name: 'users/carol', role: to })
    await role('ADMIN')
    const { receiver, path } = await hook(carol, '/admin/hooks', { events: ['repository'] })
    await role('USER')
    // Carol may know of her own repository, but not by a webhook of the instance.
    await create(carol, '/user/repos', 'own')
    await expect
      .poll(() => forge.ask(ada, 'GET', `${path}/deliveries`))
      .toMatchObject([{ state: 'FAILED', attempt_count: 0 }])
    expect(receiver.received).toEqual([])
    await forge.ask(ada, 'DELETE', path)
  })
})

describe('a webhook to a chat', () => {
  const TEXT = 'Tulips <!channel> & *roses*'

  /** Adds a webhook to a new repository, makes a commit, and returns the message. */
  async function messageOf(type: string, config: object = {}) {
    const { bob } = forge.users
    const name = `chat-${type}`
    await create(bob, '/user/repos', name, { auto_init: true })
    const { receiver } = await hook(bob, `/repos/bob/${name}/hooks`, {
      type,
      events: ['push'],
      config,
    })
    await forge.ask(bob, 'POST', `/repos/bob/${name}/contents/a.txt`, {
      content: 'YQ==',
      message: TEXT,
      branch: 'main',
    })
    return JSON.parse((await receiver.next()).body)
  }

  it('of Slack names its channel, and its text is no markup', async () => {
    const message = await messageOf('slack', { channel: '#garden', username: 'forge' })
    expect(message).toMatchObject({
      channel: '#garden',
      username: 'forge',
      text: expect.stringMatching(
        /^<http:[^|]+\/bob\/chat-slack\/compare\/[^|]+\|\[bob\/chat-slack\] bob pushed 1 commit to main>$/,
      ),
      attachments: [
        { text: expect.stringMatching(/^\w{10} Tulips &lt;!channel&gt; &amp; \*roses\* - bob$/) },
      ],
    })
  })

  it('of Discord mentions nobody', async () => {
    const message = await messageOf('discord', { username: 'forge' })
    expect(message).toMatchObject({
      username: 'forge',
      allowed_mentions: { parse: [] },
      embeds: [
        {
          title: '[bob/chat-discord] bob pushed 1 commit to main',
          description: expect.stringContaining('Tulips \\<!channel\\> & \\*roses\\*'),
          author: { name: 'bob' },
        },
      ],
    })
  })

  it('of Teams is a card with a link', async () => {
    expect(await messageOf('msteams')).toMatchObject({
      '@type': 'MessageCard',
      title: '[bob/chat-msteams] bob pushed 1 commit to main',
      sections: [{ text: expect.stringContaining(TEXT) }],
      potentialAction: [{ targets: [{ uri: expect.stringContaining('/compare/') }] }],
    })
  })

  it.each([
    ['Slack without a channel', { type: 'slack' }, '[Config.channel]'],
    ['a picture that is none', { type: 'discord', icon_url: 'javascript:1' }, '[Config.iconUrl]'],
    ['a long name', { type: 'slack', channel: '#x', username: 'x'.repeat(256) }, 'config.username'],
  ])('is refused with %s', async (_, { type, ...config }, field) => {
    const { status, body } = await forge.rest(forge.users.bob, 'POST', '/user/hooks', {
      type,
      config: { url: 'http://127.0.0.1/', content_type: 'json', ...config },
    })
    expect(status).toBe(422)
    expect(JSON.stringify(body)).toContain(field)
  })
})
