import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

/** bob owns the repositories, eve has no role. */
beforeAll(async () => {
  server = await startTestServer({ webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

const fresh = async (name: string, fields: object = {}): Promise<string> =>
  (await forge.repository(users.bob, name, fields)).path

async function exported(path: string, query = '', who: Actor = users.bob) {
  const answer = await fetch(`${server.url}/api/v1${path}/issue_export${query}`, {
    headers: { authorization: who.authorization },
  })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
  const text = await answer.text()
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

const bring = (path: string, request: object, who: Actor = users.bob) =>
  forge.rest(who, 'POST', `${path}/issue_import`, request)

const ISSUE = {
  kind: 'issue',
  number: 5,
  title: 'A bug',
  body: 'Since @bob changed it, see #1.',
  user: { login: 'mole', name: 'The Mole' },
  state: 'closed',
  created_at: '2020-01-02T03:04:05Z',
  updated_at: '2021-01-02T03:04:05Z',
  closed_at: '2021-01-01T00:00:00Z',
  is_locked: true,
  comments: [
    {
      author: { login: 'rat', name: '' },
      body: 'fixed',
      created_at: '2020-02-02T03:04:05Z',
      updated_at: '2020-02-02T03:04:05Z',
      reactions: [{ user: { login: 'rat' }, content: '+1', created_at: '2020-02-03T00:00:00Z' }],
    },
  ],
}

describe('an import', () => {
  it('keeps numbers, times and authors, and happens once', async () => {
    const path = await fresh('brought')
    const request = {
      records: [{ ...ISSUE, number: 9, state: 'open', is_locked: false }, ISSUE],
      users: { rat: 'eve' },
      request_id: 'first',
    }
    const { status, body } = await bring(path, request)
    expect(status).toBe(202)
    expect(await forge.ask(users.bob, 'GET', `${path}/issue_import/${body.id}`)).toMatchObject({
      id: body.id,
      state: 'done',
      total: 2,
      done: 2,
    })
    expect((await bring(path, request)).body.id).toBe(body.id)
    expect((await bring(path, { ...request, records: [ISSUE] })).status).toBe(422)

    const issues = await forge.ask(users.eve, 'GET', `${path}/issues?state=all&sort=oldest`)
    expect(issues.map(({ number }: { number: number }) => number)).toEqual([5, 9])
    expect(issues[0]).toMatchObject({
      user: { id: -1, login: 'Ghost' },
      original_author: 'mole',
      state: 'closed',
      is_locked: true,
      comments: 1,
      created_at: '2020-01-02T03:04:05Z',
      updated_at: '2021-01-02T03:04:05Z',
      closed_at: '2021-01-01T00:00:00Z',
    })
    const [comment] = await forge.ask(users.eve, 'GET', `${path}/issues/5/comments`)
    expect(comment).toMatchObject({ user: { login: 'eve' }, created_at: '2020-02-02T03:04:05Z' })
    for (const who of [users.bob, users.eve])
      expect(await forge.ask(who, 'GET', '/notifications?all=true')).toEqual([])
    const next = await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'next' })
    expect(next.number).toBe(10)
  })

  it('is refused as a whole', async () => {
    const path = await fresh('refusing')
    const statusOf = async (...args: Parameters<typeof bring>) => (await bring(...args)).status
    expect(await statusOf(path, { records: [ISSUE] }, users.eve)).toBe(403)
    expect(await statusOf(path, { records: [] })).toBe(422)
    expect(await statusOf(path, { records: [{ kind: 'pull' }] })).toBe(422)
    expect(await statusOf(path, { records: [ISSUE], users: { mole: 'nobody' } })).toBe(422)
    expect(await statusOf(path, { records: [{ ...ISSUE, created_at: 'then' }] })).toBe(422)
    expect(await statusOf(path, { records: [ISSUE, ISSUE] })).toBe(409)
    expect((await bring(path, { records: [ISSUE], validate_only: true })).status).toBe(202)
    expect(await forge.ask(users.bob, 'GET', `${path}/issues?state=all`)).toEqual([])
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'one' })
    expect(await statusOf(path, { records: [{ ...ISSUE, number: 1 }] })).toBe(409)
    const elsewhere = { records: [{ ...ISSUE, number: 1 }], preserve_numbers: false }
    expect(await statusOf(path, elsewhere)).toBe(202)
    expect((await forge.ask(users.bob, 'GET', `${path}/issues/2`)).title).toBe('A bug')
  })
})

describe('imported files', () => {
  it('come from other servers and uploads, and those that cannot be read are named', async () => {
    const path = await fresh('files')
    const hidden = await fresh('hidden-files', { private: true })
    await forge.ask(users.bob, 'POST', `${hidden}/issues`, { title: 'Plan' })
    const secret = await upload(`${hidden}/issues/1/assets`, 'secret.txt', 'Secret.')
    const own = await upload(`${path}/issue_uploads`, 'own.txt', 'Own.')
    const remote = createServer((request, response) => {
      if (request.url === '/old') response.writeHead(302, { location: '/new' }).end()
      else response.writeHead(request.url === '/new' ? 200 : 404).end('Moved here.')
    }).listen(0, '127.0.0.1')
    await once(remote, 'listening')
    const at = `http://127.0.0.1:${(remote.address() as AddressInfo).port}`
    const file = (name: string, url: string) => ({ name, size: 1, url })
    const attachments = [
      file('secret.txt', secret),
      file('moved.txt', `${at}/old`),
      file('gone.txt', `${at}/gone`),
      file('own.txt', own),
    ]
    const records = [{ ...ISSUE, attachments }]
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'admin' })
    const { body } = await bring(path, { records, validate_only: true }, users.carol)
    expect(body.id).toBe(0)
    const done = await bring(path, { records }, users.carol)
    remote.close()
    expect(await forge.ask(users.bob, 'GET', `${path}/issue_import/${done.body.id}`)).toMatchObject(
      {
        state: 'done',
        problems: [
          'secret.txt: this server has no such file',
          'gone.txt: the other server answers 404',
          'own.txt: this server has no such file',
        ],
      },
    )
    const { assets } = await forge.ask(users.bob, 'GET', `${path}/issues/5`)
    expect(assets).toMatchObject([{ name: 'moved.txt', size: 11 }])
    expect(await (await fetch(assets[0].browser_download_url)).text()).toBe('Moved here.')
    const malformed = [{ ...ISSUE, number: 6, attachments: [file('x.txt', 'file:///etc/passwd')] }]
    expect((await bring(path, { records: malformed })).status).toBe(422)
    const mine = [{ ...ISSUE, number: 7, attachments: [file('own.txt', own)] }]
    expect((await bring(path, { records: mine })).status).toBe(202)
    expect((await forge.ask(users.bob, 'GET', `${path}/issues/7`)).assets).toMatchObject([
      { name: 'own.txt', size: 4 },
    ])
  })

  it('leave out what a later request brings, and say so', async () => {
    const path = await fresh('later')
    const plain = { ...ISSUE, comments: [] }
    const waiting = { ...plain, dependencies: [{ number: 6 }] }
    const first = await bring(path, { records: [waiting] })
    expect(
      (await forge.ask(users.bob, 'GET', `${path}/issue_import/${first.body.id}`)).problems,
    ).toEqual(['issue 5: #6 is not here'])
    await bring(path, { records: [{ ...plain, number: 6, blocks: [{ number: 5 }] }] })
    expect(await forge.ask(users.bob, 'GET', `${path}/issues/5/dependencies`)).toMatchObject([
      { number: 6 },
    ])
    expect(
      (await forge.ask(users.bob, 'GET', `${path}/issue_import/${first.body.id}`)).problems,
    ).toEqual([])
    const circular = [{ ...plain, number: 7, dependencies: [{ number: 7 }] }]
    const { body } = await bring(path, { records: circular })
    expect((await forge.ask(users.bob, 'GET', `${path}/issue_import/${body.id}`)).problems).toEqual(
      ['issue 7: a dependency that would be circular'],
    )
  })

  it('complete what an earlier request has about the issues of a later one, once', async () => {
    const path = await fresh('completed')
    const comment = (body: string) => ({
      author: { login: 'rat' },
      body,
      created_at: '2020-02-02T03:04:05Z',
    })
    const actor = { login: 'mole' }
    const created_at = '2020-03-01T00:00:00Z'
    const early = {
      ...ISSUE,
      number: 1,
      body: 'closes #2',
      comments: [comment('and bob/completed#3'), comment('not #2 any more')],
      children: [{ number: 3 }],
      duplicate_of: { number: 2 },
      timeline: [
        { type: 'add_dependency', actor, created_at, dependent_issue: { number: 2 } },
        { type: 'transferred', actor, created_at, ref_issue: { number: 9 } },
      ],
    }
    const plain = { ...ISSUE, body: '', comments: [] }
    const first = { records: [early], users: { rat: 'eve' }, request_id: 'first' }
    const { body } = await bring(path, first)
    const problems = async () =>
      (await forge.ask(users.bob, 'GET', `${path}/issue_import/${body.id}`)).problems
    expect(await problems()).toEqual([2, 9, 3].map((number) => `issue 1: #${number} is not here`))
    // Whoever edits a text decides what it names.
    const comments = await forge.ask(users.bob, 'GET', `${path}/issues/1/comments`)
    const edited = comments.find((one: { body: string }) => one.body.startsWith('not'))
    await forge.ask(users.bob, 'PATCH', `${path}/issues/comments/${edited.id}`, { body: 'no' })
    const later = {
      records: [
        { ...plain, number: 2 },
        { ...plain, number: 3 },
      ],
      request_id: 'later',
    }
    for (const request of [later, first, later]) await bring(path, request)
    expect(await problems()).toEqual(['issue 1: #9 is not here'])
    const timelineOf = async (number: number) =>
      (await forge.ask(users.eve, 'GET', `${path}/issues/${number}/timeline`)).filter(
        ({ type }: { type: string }) => type !== 'comment',
      )
    expect(await timelineOf(1)).toMatchObject([
      { type: 'add_dependency', created_at, dependent_issue: { number: 2 } },
    ])
    expect(await timelineOf(2)).toMatchObject([
      { type: 'issue_ref', user: { login: 'Ghost' }, created_at: '2020-01-02T03:04:05Z' },
    ])
    expect(await timelineOf(3)).toMatchObject([
      { type: 'comment_ref', user: { login: 'eve' }, created_at: '2020-02-02T03:04:05Z' },
    ])
    expect(await forge.ask(users.eve, 'GET', `${path}/issues/1`)).toMatchObject({
      duplicate_of: { number: 2 },
    })
    expect(await forge.ask(users.eve, 'GET', `${path}/issues/2`)).toMatchObject({
      updated_at: '2021-01-02T03:04:05Z',
    })
    expect(await forge.ask(users.eve, 'GET', `${path}/issues/1/sub_issues`)).toMatchObject([
      { number: 3 },
    ])
  })
})

describe('imported issues', () => {
  it('take lower numbers that are free, also those of deleted issues', async () => {
    const path = await fresh('lower')
    const target = await fresh('target')
    for (const title of ['one', 'two', 'three'])
      await forge.ask(users.bob, 'POST', `${path}/issues`, { title })
    await forge.ask(users.bob, 'DELETE', `${path}/issues/1`)
    const [owner, repo] = target.split('/').slice(-2)
    await forge.ask(users.bob, 'POST', `${path}/issues/2:transfer`, { owner, repo })
    const statusOf = async (number: number) =>
      (await bring(path, { records: [{ ...ISSUE, number }] })).status
    expect(await statusOf(2)).toBe(409)
    expect(await statusOf(3)).toBe(409)
    expect(await statusOf(1)).toBe(202)
    expect(await statusOf(1)).toBe(409)
    expect((await forge.ask(users.eve, 'GET', `${path}/issues/1`)).title).toBe('A bug')
    const next = await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'next' })
    expect(next.number).toBe(4)
  })

  it('belong to the accounts with the addresses of their authors', async () => {
    const path = await fresh('addressed')
    const eve = { login: 'ratty', name: '', email: 'Eve@example.org' }
    const records = [
      { ...ISSUE, user: eve, assignees: [eve], reactions: [{ user: eve, content: 'heart' }] },
      { ...ISSUE, number: 6, user: { login: 'mole', email: 'mole@example.org' } },
      { ...ISSUE, number: 7, user: { ...eve, login: 'mapped' } },
    ]
    expect((await bring(path, { records, users: { mapped: 'carol' } })).status).toBe(202)
    const posterOf = async (number: number) =>
      (await forge.ask(users.bob, 'GET', `${path}/issues/${number}`)).user.login
    expect(await posterOf(5)).toBe('eve')
    expect(await posterOf(6)).toBe('Ghost')
    expect(await posterOf(7)).toBe('carol')
    const [reaction] = await forge.ask(users.bob, 'GET', `${path}/issues/5/reactions`)
    expect(reaction.user.login).toBe('eve')
  })

  it('refer to others, also to later ones, with the writers and times of their texts', async () => {
    const path = await fresh('referring')
    const comment = {
      author: { login: 'rat' },
      body: 'and #2',
      created_at: '2020-02-02T03:04:05Z',
    }
    const records = [
      { ...ISSUE, number: 1, body: 'closes #2', comments: [comment] },
      { ...ISSUE, number: 2, state: 'open', is_locked: false, body: 'not #2', comments: [] },
    ]
    const request = { records, users: { rat: 'eve' }, request_id: 'referring' }
    for (let time = 0; time < 2; time += 1) expect((await bring(path, request)).status).toBe(202)
    const entries = await forge.ask(users.eve, 'GET', `${path}/issues/2/timeline`)
    expect(entries).toMatchObject([
      { type: 'issue_ref', user: { login: 'Ghost' }, created_at: '2020-01-02T03:04:05Z' },
      { type: 'comment_ref', user: { login: 'eve' }, created_at: '2020-02-02T03:04:05Z' },
    ])
    expect(await forge.ask(users.eve, 'GET', `${path}/issues/2`)).toMatchObject({
      state: 'open',
      updated_at: '2021-01-02T03:04:05Z',
    })
  })

  it('are found by the words of their texts', async () => {
    const path = await fresh('searched')
    const comment = { author: { login: 'rat' }, body: 'a weasel', created_at: ISSUE.created_at }
    await bring(path, { records: [{ ...ISSUE, body: 'in the stoat', comments: [comment] }] })
    for (const word of ['bug', 'stoat', 'weasel']) {
      const list = `${path}/issues?state=all&q=${word}`
      expect(await forge.ask(users.eve, 'GET', list), word).toMatchObject([{ number: 5 }])
    }
  })
})

describe('an export', () => {
  it('is the same after an import elsewhere', async () => {
    const path = await fresh('source')
    await forge.ask(users.bob, 'POST', `${path}/labels`, { name: 'bug', color: '#ff0000' })
    const milestone = await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'one' })
    await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'first' })
    await forge.ask(users.bob, 'POST', `${path}/issues`, {
      title: 'second',
      labels: ['bug'],
      milestone: milestone.id,
      assignees: ['eve'],
      due_date: '2030-01-01T00:00:00Z',
    })
    await forge.ask(users.eve, 'POST', `${path}/issues/2/comments`, { body: 'me too' })
    await forge.ask(users.bob, 'POST', `${path}/issues/2/reactions`, { content: 'heart' })
    await forge.ask(users.bob, 'PATCH', `${path}/issues/2`, { title: 'renamed', state: 'closed' })
    await forge.ask(users.bob, 'PUT', `${path}/issues/2/lock`, { lock_reason: 'spam' })

    const records = await exported(path)
    expect(records.map(({ kind }) => kind)).toEqual(['label', 'milestone', 'issue', 'issue'])
    expect(records[3]).toMatchObject({
      number: 2,
      user: { login: 'bob' },
      labels: [{ name: 'bug', color: 'ff0000' }],
      comments: [{ author: { login: 'eve' }, body: 'me too' }],
      reactions: [{ user: { login: 'bob' }, content: 'heart' }],
    })
    expect(JSON.stringify(records)).not.toMatch(/"(id|url)":/)
    expect((await exported(path, '?after_number=1')).map(({ number }) => number)).toEqual([2])

    const copy = await fresh('copy')
    const named = { bob: 'bob', eve: 'eve' }
    expect((await bring(copy, { records, users: named })).status).toBe(202)
    expect(await exported(copy)).toEqual(records)
    const strangers = await fresh('strangers')
    const plain = records.map((record) =>
      record.kind === 'issue'
        ? {
            ...record,
            reactions: [],
            assignees: [],
            timeline: [record.timeline].flat().filter(isPlain),
          }
        : record,
    )
    expect((await bring(strangers, { records: plain })).status).toBe(202)
    expect(await exported(strangers)).toEqual(plain)
    expect((await forge.ask(users.bob, 'GET', `${strangers}/issues/1`)).original_author).toBe('eve')
  })

  it('tells administrators where the files of issues are', async () => {
    const path = await fresh('filed')
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'See the log' })
    const url = await upload(`${path}/issues/1/assets`, 'log.txt', 'It broke.')
    const filesFor = async (who: Actor) =>
      (await exported(path, '?after_number=0', who)).find(({ kind }) => kind === 'issue')
        .attachments
    expect(await filesFor(users.bob)).toEqual([{ name: 'log.txt', size: 9, url }])
    expect(await filesFor(users.eve)).toEqual([])
  })

  it('brings files and what issues have to do with each other along', async () => {
    const path = await fresh('connected')
    for (const title of ['one', 'two', 'three', 'four', 'five'])
      await forge.ask(users.bob, 'POST', `${path}/issues`, { title })
    const url = await upload(`${path}/issues/1/assets`, 'log.txt', 'It broke.')
    await forge.ask(users.bob, 'PATCH', `${path}/issues/1`, { body: `See [it](${url}).` })
    const { id } = await forge.ask(users.bob, 'POST', `${path}/issues/1/comments`, { body: 'Mine' })
    await upload(`${path}/issues/comments/${id}/assets`, 'mine.txt', 'Mine.')
    await forge.ask(users.bob, 'POST', `${path}/issues/1/dependencies`, { index: 2 })
    for (const index of [4, 3])
      await forge.ask(users.bob, 'POST', `${path}/issues/2/sub_issues`, { index })
    for (const pinned of [3, 1]) await forge.ask(users.bob, 'POST', `${path}/issues/${pinned}/pin`)
    await forge.ask(users.bob, 'PATCH', `${path}/issues/5`, { duplicate_of: 1 })
    const elsewhere = await fresh('elsewhere')
    await forge.ask(users.bob, 'POST', `${elsewhere}/issues`, { title: 'Other' })
    const other = { index: 1, owner: 'bob', repo: elsewhere.split('/').at(-1) }
    await forge.ask(users.bob, 'POST', `${path}/issues/3/dependencies`, other)

    const records = await exported(path)
    expect(records.slice(0, 5)).toMatchObject([
      {
        dependencies: [{ number: 2 }],
        pin_order: 2,
        attachments: [{ name: 'log.txt', size: 9 }],
        comments: [{ attachments: [{ name: 'mine.txt' }] }],
      },
      { blocks: [{ number: 1 }], children: [{ number: 4 }, { number: 3 }] },
      { parent: { number: 2 }, dependencies: [{ repository: { owner: 'bob' } }], pin_order: 1 },
      { parent: { number: 2 } },
      { duplicate_of: { number: 1 }, state_reason: 'duplicate' },
    ])
    const copy = await fresh('connected-copy')
    const request = { records, users: { bob: 'bob' }, request_id: 'connected' }
    const { status, body } = await bring(copy, request)
    expect([status, (await bring(copy, request)).body]).toEqual([202, body])
    expect(await forge.ask(users.bob, 'GET', `${copy}/issue_import/${body.id}`)).toMatchObject({
      state: 'done',
      files: 2,
      files_done: 2,
      problems: [],
    })
    const again = await exported(copy)
    expect(withoutLinks(again)).toEqual(withoutLinks(records))
    const [file] = again[0].attachments
    expect(file.url).not.toBe(url)
    expect(again[0].body).toContain(new URL(file.url).pathname)
    const headers = { authorization: users.bob.authorization }
    expect(await (await fetch(file.url, { headers })).text()).toBe('It broke.')
    const closed = await forge.rest(users.bob, 'PATCH', `${copy}/issues/1`, { state: 'closed' })
    expect(closed.status).toBe(412)
  })

  it('brings the references of commits along, where the commits are', async () => {
    const path = await fresh('committed')
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'one' })
    const { commit } = await forge.ask(users.bob, 'POST', `${path}/contents/a.txt`, {
      content: '',
      message: 'See #1',
    })
    const timeline = () => forge.ask(users.bob, 'GET', `${path}/issues/1/timeline`)
    await expect.poll(timeline).toMatchObject([{ type: 'commit_ref', ref_commit_sha: commit.sha }])
    const [before] = await timeline()
    const [record] = await exported(path)
    expect(record.timeline).toMatchObject([
      { type: 'commit_ref', actor: { login: 'bob' }, ref_commit_sha: commit.sha },
    ])
    const lost = { ...record.timeline[0], ref_commit_sha: 'f'.repeat(40) }
    const records = [{ ...record, timeline: [...record.timeline, lost, ...record.timeline] }]
    await forge.ask(users.bob, 'DELETE', `${path}/issues/1`)
    const { body } = await bring(path, { records, users: { bob: 'bob' } })
    expect((await forge.ask(users.bob, 'GET', `${path}/issue_import/${body.id}`)).problems).toEqual(
      [`issue 1: commit ${lost.ref_commit_sha} is not here`],
    )
    expect(await timeline()).toMatchObject([
      {
        type: 'commit_ref',
        user: { login: 'bob' },
        created_at: before.created_at,
        ref_commit_sha: commit.sha,
      },
    ])
    await forge.ask(users.bob, 'PATCH', path, { private: true })
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'read' })
    expect((await exported(path, '', users.carol))[0].timeline).toHaveLength(1)
  })

  it('leaves issues out that the reader may not read', async () => {
    const path = await fresh('open')
    const hidden = await fresh('hidden', { private: true })
    for (const at of [path, hidden])
      await forge.ask(users.bob, 'POST', `${at}/issues`, { title: 'Plan' })
    const other = { index: 1, owner: 'bob', repo: hidden.split('/').at(-1) }
    await forge.ask(users.bob, 'POST', `${path}/issues/1/dependencies`, other)
    expect(JSON.stringify(await exported(path))).toContain('hidden')
    const seen = await exported(path, '', users.eve)
    expect(seen).toMatchObject([{ timeline: [] }])
    expect(JSON.stringify(seen)).not.toContain('hidden')
  })

  it('is for readers of issues', async () => {
    const path = await fresh('private', { private: true })
    const answer = await forge.rest(users.eve, 'GET', `${path}/issue_export`)
    expect(answer.status).toBe(404)
  })
})

/** Stores a file and returns its address. */
async function upload(path: string, name: string, text: string): Promise<string> {
  const form = new FormData()
  form.set('attachment', new Blob([text]), name)
  const stored = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: users.bob.authorization },
    body: form,
  })
  expect(stored.status).toBe(201)
  return ((await stored.json()) as { browser_download_url: string }).browser_download_url
}

const withoutLinks = (records: readonly object[]) =>
  JSON.parse(
    JSON.stringify(records).replaceAll(/(?:http:[^\s"]+)?\/attachments\/[\w-]+/g, '(link)'),
  )

const isPlain = ({ type }: { type: string }) => type !== 'assignees'
