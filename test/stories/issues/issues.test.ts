import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { createToken, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

/**
 * bob owns the repositories, carol may write to them, eve has no role. `PUB` is public, `PRIV` is
 * private.
 */
const PUB = '/repos/bob/pub'
const PRIV = '/repos/bob/priv'

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  await forge.repository(users.bob, 'pub')
  await forge.repository(users.bob, 'priv', { private: true })
  for (const path of [PUB, PRIV])
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
})
afterAll(() => server.stop())

/** Makes a public repository of bob's, which carol may write to. */
async function fresh(name: string, fields: object = {}): Promise<string> {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  return path
}

const titlesOf = (issues: { title: string }[]) => issues.map(({ title }) => title)

describe('an issue', () => {
  it('is opened by every reader, in the form that clients expect', async () => {
    const path = await fresh('form')
    const { status, body } = await forge.rest(users.eve, 'POST', `${path}/issues`, {
      title: ' a ',
      body: 'text',
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.any(Number),
      url: `${server.url}/api/v1${path}/issues/1`,
      html_url: `${server.url}/bob/form/issues/1`,
      number: 1,
      user: expect.objectContaining({ login: 'eve' }),
      original_author: '',
      original_author_id: 0,
      title: 'a',
      body: 'text',
      ref: '',
      assets: [],
      labels: [],
      milestone: null,
      assignee: null,
      assignees: [],
      state: 'open',
      is_locked: false,
      comments: 0,
      created_at: expect.any(String),
      updated_at: body.created_at,
      closed_at: null,
      due_date: null,
      time_estimate: 0,
      pull_request: null,
      repository: expect.objectContaining({ name: 'form', owner: 'bob', full_name: 'bob/form' }),
      pin_order: 0,
      content_version: 0,
    })
    expect(await forge.ask(users.eve, 'GET', `${path}/issues/1`)).toEqual(body)
    expect(await forge.ask(undefined, 'GET', `${path}/issues/1`)).toMatchObject({ title: 'a' })
    expect((await forge.ask(users.bob, 'GET', path)).open_issues_count).toBe(1)
  })

  it('shares its number with pull requests', async () => {
    const path = await fresh('numbers')
    const open = (title: string) => forge.ask(users.bob, 'POST', `${path}/issues`, { title })
    const first = await open('first')
    await forge.change(users.bob, path, 'change')
    const pull = await forge.ask(users.bob, 'POST', `${path}/pulls`, {
      title: 'second',
      base: 'main',
      head: 'change',
    })
    const third = await open('third')
    expect([first.number, pull.number, third.number]).toEqual([1, 2, 3])
    expect(new Set([first.id, pull.id, third.id]).size).toBe(3)
    expect((await forge.rest(users.bob, 'GET', `${path}/pulls/1`)).status).toBe(404)
    expect((await forge.ask(users.bob, 'GET', `${path}/issues/2`)).pull_request.draft).toBe(false)
    expect(await forge.ask(users.bob, 'GET', path)).toMatchObject({
      open_issues_count: 2,
      open_pr_counter: 1,
    })
  })

  it('gets a number without a gap, however many are opened at once', async () => {
    const path = await fresh('race')
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        forge.rest(users.bob, 'POST', `${path}/issues`, { title: `number ${i}` }),
      ),
    )
    expect(made.map(({ status }) => status)).toEqual(Array(20).fill(201))
    const numbers = made.map(({ body }) => body.number).sort((a, b) => a - b)
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
  })

  it.each([{}, { title: '  \n ' }])('needs a title: %j', async (draft) => {
    const refused = await forge.rest(users.bob, 'POST', `${PUB}/issues`, draft)
    expect(refused).toMatchObject({ status: 422, body: { message: '[Title]: Required' } })
  })

  it('cuts a title to 255 characters, and refuses a description above 65,536', async () => {
    const title = 'é'.repeat(300)
    const made = await forge.ask(users.bob, 'POST', `${PUB}/issues`, { title })
    expect(made.title).toBe(`${'é'.repeat(254)}…`)
    const body = 'x'.repeat(65_537)
    expect(
      (await forge.rest(users.bob, 'POST', `${PUB}/issues`, { title: 'a', body })).status,
    ).toBe(422)
  })

  it('is opened by nobody who cannot read the repository', async () => {
    const draft = { title: 'a' }
    expect((await forge.rest(undefined, 'POST', `${PUB}/issues`, draft)).status).toBe(401)
    const hidden = await forge.rest(users.eve, 'POST', `${PRIV}/issues`, draft)
    const missing = await forge.rest(users.eve, 'POST', '/repos/bob/nowhere/issues', draft)
    expect(hidden.status).toBe(404)
    expect(hidden.body.message).toBe(missing.body.message)
  })

  it('has labels, milestone, assignees and a due date if a writer opens it', async () => {
    const path = await fresh('planned')
    const label = await forge.ask(users.bob, 'POST', `${path}/labels`, {
      name: 'bug',
      color: 'abc',
    })
    const milestone = await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'v1' })
    const draft = {
      title: 'planned',
      labels: [label.id, 4711],
      milestone: milestone.id,
      assignees: ['carol'],
      assignee: 'bob',
      due_date: '2026-05-31T10:00:00+02:00',
      ref: 'main',
    }
    const planned = await forge.ask(users.carol, 'POST', `${path}/issues`, draft)
    expect(planned).toMatchObject({
      labels: [{ name: 'bug' }],
      milestone: { title: 'v1' },
      due_date: '2026-05-31T21:59:59Z',
      ref: 'main',
    })
    expect(planned.assignees.map(({ login }: { login: string }) => login).sort()).toEqual([
      'bob',
      'carol',
    ])
    const plain = await forge.ask(users.eve, 'POST', `${path}/issues`, { ...draft, title: 'plain' })
    expect(plain).toMatchObject({ labels: [], milestone: null, assignees: [], due_date: null })
    expect(await forge.ask(users.bob, 'GET', `${path}/milestones/${milestone.id}`)).toMatchObject({
      open_issues: 1,
    })
  })

  it('can be opened closed', async () => {
    const made = await forge.ask(users.eve, 'POST', `${PUB}/issues`, {
      title: 'done',
      closed: true,
    })
    expect(made).toMatchObject({ state: 'closed', closed_at: expect.any(String) })
  })

  it('is not made with an assignee that does not exist, and takes no number then', async () => {
    const path = await fresh('unknown-assignee')
    const refused = await forge.rest(users.carol, 'POST', `${path}/issues`, {
      title: 'a',
      assignees: ['nobody'],
    })
    expect(refused.status).toBe(422)
    expect(refused.body.message).toContain('nobody')
    expect((await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'b' })).number).toBe(1)
  })

  it('is changed by its author and by writers only', async () => {
    const path = await fresh('edits')
    await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'a', body: 'one' })
    const edit = (who: PullTestUsers['bob'], body: object) =>
      forge.rest(who, 'PATCH', `${path}/issues/1`, body)
    expect((await edit(users.eve, { body: 'two' })).body).toMatchObject({
      body: 'two',
      content_version: 1,
    })
    expect((await edit(users.ada, { title: 'by the administrator' })).status).toBe(201)
    const { body: carols } = await edit(users.carol, { body: 'three', title: '' })
    expect(carols).toMatchObject({
      body: 'three',
      content_version: 2,
      title: 'by the administrator',
    })
    expect((await edit(users.eve, { state: 'closed' })).body.state).toBe('closed')
    const conflict = await edit(users.eve, { body: 'four', title: 'lost', content_version: 1 })
    expect(conflict).toMatchObject({ status: 409 })
    expect((await forge.ask(users.bob, 'GET', `${path}/issues/1`)).body).toBe('three')
    const other = await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'of bob' })
    const denied = await forge.rest(users.eve, 'PATCH', `${path}/issues/${other.number}`, {
      title: 'x',
    })
    expect(denied.status).toBe(403)
    expect(denied.body.message).not.toBe('')
  })

  it('loses its milestone and its due date by 0 and unset_due_date, with entries', async () => {
    const path = await fresh('milestones')
    const { id } = await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'v1' })
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'a' })
    const edit = (body: object) => forge.ask(users.carol, 'PATCH', `${path}/issues/1`, body)
    expect((await edit({ milestone: id })).milestone.id).toBe(id)
    expect((await edit({ milestone: 0 })).milestone).toBeNull()
    expect((await edit({ due_date: '2026-05-31T10:00:00+02:00' })).due_date).toBe(
      '2026-05-31T21:59:59Z',
    )
    expect((await edit({ unset_due_date: true })).due_date).toBeNull()
    const timeline = await forge.ask(users.bob, 'GET', `${path}/issues/1/timeline`)
    // Entries of one second come by type.
    expect(timeline.map(({ type }: { type: string }) => type).sort()).toEqual([
      'added_deadline',
      'milestone',
      'milestone',
      'removed_deadline',
    ])
    expect(
      (await forge.rest(users.bob, 'PATCH', `${path}/issues/1`, { milestone: 4711 })).status,
    ).toBe(404)
  })

  it('is closed and opened again, with an entry for each change', async () => {
    const path = await fresh('states')
    await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'a' })
    const edit = (body: object) => forge.rest(users.eve, 'PATCH', `${path}/issues/1`, body)
    expect((await edit({ state: 'open' })).status).toBe(201)
    expect((await edit({ state: 'closed' })).body.closed_at).not.toBeNull()
    expect((await edit({ state: 'open' })).body.closed_at).toBeNull()
    expect(await edit({ state: 'weird' })).toMatchObject({ status: 412 })
    const timeline = await forge.ask(users.bob, 'GET', `${path}/issues/1/timeline`)
    expect(timeline.map(({ type }: { type: string }) => type).sort()).toEqual(['close', 'reopen'])
  })

  it('is deleted by administrators of the repository, and its number is not used again', async () => {
    const path = await fresh('deletion')
    await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'a' })
    await forge.ask(users.eve, 'POST', `${path}/issues/1/comments`, { body: 'b' })
    expect((await forge.rest(users.eve, 'DELETE', `${path}/issues/1`)).status).toBe(403)
    expect((await forge.rest(users.carol, 'DELETE', `${path}/issues/1`)).status).toBe(403)
    expect((await forge.rest(users.bob, 'DELETE', `${path}/issues/1`)).status).toBe(204)
    expect((await forge.rest(users.bob, 'GET', `${path}/issues/1`)).status).toBe(404)
    expect((await forge.ask(users.bob, 'GET', path)).open_issues_count).toBe(0)
    expect((await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'b' })).number).toBe(2)
    await forge.change(users.bob, path, 'change')
    const pull = { title: 'p', base: 'main', head: 'change' }
    const { number } = await forge.ask(users.bob, 'POST', `${path}/pulls`, pull)
    expect((await forge.rest(users.bob, 'DELETE', `${path}/issues/${number}`)).status).toBe(403)
    expect((await forge.rest(users.bob, 'GET', `${path}/pulls/${number}`)).status).toBe(200)
  })

  it('is not changed in an archived repository', async () => {
    const path = await fresh('archive')
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'a' })
    await forge.ask(users.bob, 'PATCH', path, { archived: true })
    for (const [method, rest, body] of [
      ['POST', '', { title: 'b' }],
      ['PATCH', '/1', { title: 'b' }],
      ['DELETE', '/1', undefined],
      ['POST', '/1/comments', { body: 'b' }],
      ['POST', '/1/labels', { labels: ['x'] }],
      ['PUT', '/1/lock', {}],
      ['POST', '/1/pin', undefined],
      ['POST', '/1/deadline', { due_date: null }],
      ['POST', '/1/reactions', { content: 'heart' }],
      ['POST', '/1/assignees', { assignees: ['carol'] }],
    ] as const)
      expect(
        (await forge.rest(users.bob, method, `${path}/issues${rest}`, body)).status,
        `${method} ${rest}`,
      ).toBe(423)
    expect((await forge.rest(undefined, 'GET', `${path}/issues/1`)).status).toBe(200)
  })
})

describe('a repository without issues', () => {
  it('has no issues, but pull requests, until they are switched on again', async () => {
    const path = await fresh('off')
    await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'an issue' })
    const { id } = await forge.ask(users.eve, 'POST', `${path}/issues/1/comments`, { body: 'one' })
    await forge.change(users.bob, path, 'change')
    await forge.ask(users.bob, 'POST', `${path}/pulls`, {
      title: 'a pull',
      base: 'main',
      head: 'change',
    })
    expect((await forge.ask(users.bob, 'PATCH', path, { has_issues: false })).has_issues).toBe(
      false,
    )
    expect((await forge.rest(users.eve, 'POST', `${path}/issues`, { title: 'b' })).status).toBe(403)
    expect(titlesOf(await forge.ask(users.eve, 'GET', `${path}/issues`))).toEqual(['a pull'])
    expect((await forge.rest(users.eve, 'GET', `${path}/issues?type=issues`)).status).toBe(404)
    expect((await forge.rest(users.eve, 'GET', `${path}/issues/1`)).status).toBe(404)
    await forge.ask(users.eve, 'POST', `${path}/issues/2/comments`, { body: 'two' })
    const comment = () => forge.rest(users.eve, 'GET', `${path}/issues/comments/${id}`)
    const comments = async () => {
      const { body, headers } = await forge.rest(users.eve, 'GET', `${path}/issues/comments`)
      return [body.map((one: { body: string }) => one.body), headers.get('x-total-count')]
    }
    expect([(await comment()).status, await comments()]).toEqual([404, [['two'], '1']])
    await forge.ask(users.bob, 'PATCH', path, { has_issues: true })
    expect([(await comment()).status, await comments()]).toEqual([200, [['one', 'two'], '2']])
    expect((await forge.ask(users.eve, 'GET', `${path}/issues/1`)).title).toBe('an issue')
  })
})

describe('the list of issues', () => {
  it('has both kinds, or one of them', async () => {
    const path = await fresh('kinds')
    await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'old issue' })
    await forge.change(users.bob, path, 'change')
    await forge.ask(users.bob, 'POST', `${path}/pulls`, {
      title: 'pull',
      base: 'main',
      head: 'change',
    })
    await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'new issue' })
    await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'closed', closed: true })
    const list = async (query: string) => {
      const { status, body, headers } = await forge.rest(undefined, 'GET', `${path}/issues${query}`)
      expect(status).toBe(200)
      expect(headers.get('x-total-count')).toBe(String(body.length))
      return titlesOf(body)
    }
    expect(await list('')).toEqual(['new issue', 'pull', 'old issue'])
    expect(await list('?type=issues')).toEqual(['new issue', 'old issue'])
    expect(await list('?type=pulls')).toEqual(['pull'])
    expect(await list('?type=')).toEqual(['new issue', 'pull', 'old issue'])
    expect(await list('?type=x')).toEqual(['new issue', 'pull', 'old issue'])
    expect(await list('?state=closed')).toEqual(['closed'])
    expect(await list('?state=all&type=issues')).toEqual(['closed', 'new issue', 'old issue'])
    expect(await list('?state=zzz')).toEqual(['new issue', 'pull', 'old issue'])
    expect(await list('?created_by=eve')).toEqual(['new issue', 'old issue'])
    expect(await list('?sort=oldest')).toEqual(['old issue', 'pull', 'new issue'])
    const second = await forge.rest(undefined, 'GET', `${path}/issues?limit=1&page=2`)
    expect(titlesOf(second.body)).toEqual(['pull'])
    expect(second.headers.get('x-total-count')).toBe('3')
    expect((await forge.rest(undefined, 'GET', `${path}/issues?created_by=nobody`)).status).toBe(
      404,
    )
    expect((await forge.rest(undefined, 'GET', `${path}/issues?since=yesterday`)).status).toBe(422)
  })

  it('is searched over all repositories that the caller may read', async () => {
    await forge.ask(users.bob, 'POST', `${PRIV}/issues`, { title: 'a quixotic secret' })
    await forge.ask(users.bob, 'POST', `${PUB}/issues`, { title: 'a quixotic plan' })
    const find = async (who: PullTestUsers['bob'] | undefined, query: string) =>
      titlesOf((await forge.rest(who, 'GET', `/repos/issues/search?${query}`)).body)
    expect(await find(users.bob, 'q=quixotic')).toEqual(['a quixotic plan', 'a quixotic secret'])
    expect(await find(users.eve, 'q=quixotic')).toEqual(['a quixotic plan'])
    expect(await find(undefined, 'q=quixotic&type=pulls')).toEqual([])
    expect(await find(users.bob, 'q=quixotic&created=true&type=issues')).toHaveLength(2)
    expect(await find(undefined, 'q=quixotic&created=true')).toEqual([])
    expect((await forge.rest(users.bob, 'GET', '/repos/issues/search?owner=nobody')).status).toBe(
      400,
    )
  })

  it('finds whom a text mentions outside of code, and a conversation by its number', async () => {
    const path = await fresh('found')
    for (const title of ['one', 'two', 'three'])
      await forge.ask(users.bob, 'POST', `${path}/issues`, { title })
    await forge.ask(users.bob, 'POST', `${path}/issues/1/comments`, { body: 'Look, @eve.' })
    await forge.ask(users.bob, 'POST', `${path}/issues/2/comments`, { body: 'Not `@eve`' })
    const found = async (query: string) =>
      titlesOf(await forge.ask(users.eve, 'GET', `${path}/issues?${query}`))
    expect(await found('mentioned_by=eve')).toEqual(['one'])
    expect(await found('mentioned_by=carol')).toEqual([])
    expect([await found('q=3'), await found('q=%233')]).toEqual([['three'], ['three']])
  })

  it('needs the scope of issues', async () => {
    const reads = {
      authorization: `Bearer ${await createToken(server.url, users.bob, ['read:issue'])}`,
    }
    const code = {
      authorization: `Bearer ${await createToken(server.url, users.bob, ['write:repository'])}`,
    }
    expect((await forge.rest(reads, 'GET', `${PUB}/issues`)).status).toBe(200)
    expect((await forge.rest(reads, 'POST', `${PUB}/issues`, { title: 'a' })).status).toBe(403)
    expect((await forge.rest(code, 'GET', `${PUB}/issues`)).status).toBe(403)
  })
})

describe('the conversation of an issue', () => {
  it('has comments, reactions, a lock and subscribers as that of a pull request', async () => {
    const path = await fresh('talk')
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'a' })
    const said = await forge.ask(users.eve, 'POST', `${path}/issues/1/comments`, { body: 'Hello' })
    expect(said).toMatchObject({
      html_url: `${server.url}/bob/talk/issues/1#issuecomment-${said.id}`,
      issue_url: `${server.url}/bob/talk/issues/1`,
      pull_request_url: '',
    })
    const comment = `${path}/issues/comments/${said.id}`
    expect((await forge.rest(users.eve, 'PATCH', comment, { body: 'Hi' })).status).toBe(200)
    expect((await forge.ask(users.bob, 'GET', `${path}/issues/1`)).comments).toBe(1)
    expect(await forge.ask(undefined, 'GET', `${path}/issues/comments`)).toHaveLength(1)
    expect(
      (await forge.rest(users.eve, 'POST', `${path}/issues/1/reactions`, { content: 'heart' }))
        .status,
    ).toBe(201)
    expect(
      (await forge.rest(users.eve, 'POST', `${path}/issues/1/reactions`, { content: 'heart' }))
        .status,
    ).toBe(200)
    expect((await forge.rest(users.eve, 'PUT', `${path}/issues/1/subscriptions/eve`)).status).toBe(
      200,
    )
    expect(
      (await forge.rest(users.carol, 'PUT', `${path}/issues/1/lock`, { lock_reason: 'my words' }))
        .status,
    ).toBe(204)
    expect(
      (await forge.rest(users.eve, 'POST', `${path}/issues/1/comments`, { body: 'x' })).status,
    ).toBe(403)
    expect(
      (await forge.rest(users.bob, 'POST', `${path}/issues/1/comments`, { body: 'x' })).status,
    ).toBe(201)
    expect((await forge.ask(users.eve, 'GET', `${path}/issues/1`)).is_locked).toBe(true)
    expect((await forge.rest(users.bob, 'DELETE', comment)).status).toBe(204)
    const timeline = await forge.ask(users.eve, 'GET', `${path}/issues/1/timeline`)
    const byType = Object.fromEntries(
      timeline.map((entry: { type: string }) => [entry.type, entry]),
    )
    expect(byType).toMatchObject({
      lock: { body: 'my words', pull_request_url: '' },
      comment: { body: 'x', issue_url: `${server.url}/bob/talk/issues/1` },
    })
  })

  it('has labels of which one scope excludes the others', async () => {
    const path = await fresh('scopes')
    for (const name of ['p/1', 'p/2'])
      await forge.ask(users.bob, 'POST', `${path}/labels`, { name, color: 'abc', exclusive: true })
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'a' })
    const label = (method: string, body?: object) =>
      forge.rest(users.carol, method, `${path}/issues/1/labels`, body)
    expect((await label('POST', { labels: ['p/1'] })).body).toMatchObject([{ name: 'p/1' }])
    expect((await label('POST', { labels: ['p/2'] })).body).toMatchObject([{ name: 'p/2' }])
    expect(
      (await forge.rest(users.eve, 'POST', `${path}/issues/1/labels`, { labels: ['p/1'] })).status,
    ).toBe(403)
    expect(titlesOf(await forge.ask(users.eve, 'GET', `${path}/issues?labels=p/2`))).toEqual(['a'])
    expect((await label('DELETE')).status).toBe(204)
  })

  it('loses a label by its number or its name', async () => {
    const path = await fresh('named-labels')
    await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'a' })
    const ids: number[] = []
    for (const name of ['bug', 'p/1', '99999']) {
      const label = await forge.ask(users.bob, 'POST', `${path}/labels`, { name, color: 'ff0000' })
      ids.push(label.id)
    }
    const labels = ['bug', 'p/1', '99999']
    await forge.ask(users.bob, 'PUT', `${path}/issues/1/labels`, { labels })
    const remove = async (label: string | number, who = users.carol) =>
      (await forge.rest(who, 'DELETE', `${path}/issues/1/labels/${label}`)).status
    expect(await remove('bug', users.eve)).toBe(403)
    expect(await remove('unknown')).toBe(404)
    expect(await remove(99998)).toBe(404)
    for (const label of [String(ids[0]), 'p/1', 'p%2F1', '99999'])
      expect(await remove(label), label).toBe(204)
    expect(await forge.ask(users.bob, 'GET', `${path}/issues/1/labels`)).toEqual([])
  })

  it('is not found by a label of a former owner of the repository', async () => {
    await forge.ask(users.bob, 'POST', '/orgs', { username: 'former' })
    await forge.ask(users.bob, 'POST', '/orgs/former/labels', { name: 'theirs', color: 'abc' })
    await forge.ask(users.bob, 'POST', '/orgs/former/repos', { name: 'handed' })
    const [before, after] = ['/repos/former/handed', '/repos/bob/handed']
    await forge.ask(users.bob, 'POST', `${before}/issues`, { title: 'a' })
    await forge.ask(users.bob, 'POST', `${before}/issues/1/labels`, { labels: ['theirs'] })
    const found = async (path: string) =>
      titlesOf(
        await forge.ask(users.bob, 'GET', `${path}${path.includes('?') ? '&' : '?'}labels=theirs`),
      )
    expect(await found(`${before}/issues`)).toEqual(['a'])
    expect(await found('/repos/issues/search?owner=former')).toEqual(['a'])
    await forge.ask(users.bob, 'POST', `${before}/transfer`, { new_owner: 'bob' })
    expect(await found(`${after}/issues`)).toEqual([])
    expect(await found('/repos/issues/search?owner=bob')).toEqual([])
  })

  it('has assignees and a due date of their own', async () => {
    const path = await fresh('assigned')
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'a' })
    const assign = (who: PullTestUsers['bob'], method: string, assignees: string[]) =>
      forge.rest(who, method, `${path}/issues/1/assignees`, { assignees })
    for (let i = 0; i < 2; i += 1)
      expect((await assign(users.bob, 'POST', ['carol'])).body.assignees).toMatchObject([
        { login: 'carol' },
      ])
    expect((await assign(users.bob, 'POST', ['bob'])).body.assignees).toHaveLength(2)
    expect((await assign(users.bob, 'DELETE', ['carol'])).body.assignees).toMatchObject([
      { login: 'bob' },
    ])
    expect((await assign(users.eve, 'POST', ['eve'])).status).toBe(403)
    expect((await assign(users.bob, 'POST', ['nobody'])).status).toBe(422)
    expect((await forge.rest(undefined, 'GET', `${path}/issues/1/assignees/eve`)).status).toBe(204)
    const hidden = await forge.ask(users.bob, 'POST', `${PRIV}/issues`, { title: 'hidden' })
    const there = `${PRIV}/issues/${hidden.number}/assignees/eve`
    expect((await forge.rest(users.bob, 'GET', there)).status).toBe(404)
    const deadline = (who: PullTestUsers['bob'], due_date: string | null) =>
      forge.rest(who, 'POST', `${path}/issues/1/deadline`, { due_date })
    expect(await deadline(users.carol, '2026-05-31T10:00:00+02:00')).toMatchObject({
      status: 201,
      body: { due_date: '2026-05-31T21:59:59Z' },
    })
    expect(await deadline(users.carol, null)).toMatchObject({
      status: 201,
      body: { due_date: null },
    })
    expect(await deadline(users.eve, null)).toMatchObject({
      status: 403,
      body: { message: 'Not repo writer' },
    })
  })

  it('waits for nothing while its repository has dependencies switched off', async () => {
    const path = await fresh('free')
    for (const title of ['one', 'two'])
      await forge.ask(users.bob, 'POST', `${path}/issues`, { title })
    const dependencies = `${path}/issues/1/dependencies`
    await forge.ask(users.carol, 'POST', dependencies, { index: 2 })
    const close = () => forge.rest(users.carol, 'PATCH', `${path}/issues/1`, { state: 'closed' })
    expect((await close()).status).toBe(412)
    const off = { internal_tracker: { enable_issue_dependencies: false } }
    expect((await forge.ask(users.bob, 'PATCH', path, off)).internal_tracker).toEqual({
      enable_time_tracker: false,
      allow_only_contributors_to_track_time: true,
      enable_issue_dependencies: false,
    })
    expect((await forge.rest(users.carol, 'GET', dependencies)).status).toBe(404)
    expect((await forge.rest(users.carol, 'POST', dependencies, { index: 2 })).status).toBe(404)
    expect((await close()).status).toBe(201)
    await forge.ask(users.bob, 'PATCH', path, { internal_tracker: {} })
    expect((await forge.rest(users.carol, 'GET', dependencies)).status).toBe(404)
    const on = { internal_tracker: { enable_issue_dependencies: true } }
    await forge.ask(users.bob, 'PATCH', path, on)
    expect(titlesOf(await forge.ask(users.carol, 'GET', dependencies))).toEqual(['two'])
  })

  it('waits for others: it is not closed before them', async () => {
    const path = await fresh('waiting')
    for (const title of ['one', 'two', 'three'])
      await forge.ask(users.bob, 'POST', `${path}/issues`, { title })
    const depend = (number: number, method: string, index: number) =>
      forge.rest(users.bob, method, `${path}/issues/${number}/dependencies`, { index })
    expect((await depend(1, 'POST', 2)).status).toBe(201)
    expect((await depend(1, 'POST', 2)).status).toBe(201)
    expect(titlesOf(await forge.ask(users.bob, 'GET', `${path}/issues/1/dependencies`))).toEqual([
      'two',
    ])
    expect(titlesOf(await forge.ask(users.bob, 'GET', `${path}/issues/2/blocks`))).toEqual(['one'])
    const close = (number: number) =>
      forge.rest(users.bob, 'PATCH', `${path}/issues/${number}`, { state: 'closed' })
    expect((await close(1)).status).toBe(412)
    expect((await close(2)).status).toBe(201)
    expect((await close(1)).status).toBe(201)
    expect((await depend(2, 'POST', 3)).status).toBe(201)
    expect((await depend(3, 'POST', 1)).status).toBe(422)
    expect((await depend(1, 'POST', 1)).status).toBe(422)
    expect((await depend(3, 'DELETE', 1)).status).toBe(404)
    const block = (method: string, index: number) =>
      forge.rest(users.bob, method, `${path}/issues/3/blocks`, { index })
    expect((await block('DELETE', 2)).status).toBe(200)
    expect((await block('POST', 1)).status).toBe(201)
    expect(titlesOf(await forge.ask(users.bob, 'GET', `${path}/issues/1/dependencies`))).toEqual([
      'three',
      'two',
    ])
  })
})
