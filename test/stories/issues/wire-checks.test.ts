import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

/** bob owns the repositories, eve has no role. */
beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

const fresh = async (name: string): Promise<string> =>
  (await forge.repository(users.bob, name)).path

const open = (path: string, fields: object, who: Actor = users.bob) =>
  forge.ask(who, 'POST', `${path}/issues`, fields)

const titles = async (path: string, query: string): Promise<string[]> =>
  (await forge.ask(users.eve, 'GET', `${path}/issues?${query}`)).map(
    ({ title }: { title: string }) => title,
  )

describe('an edit of an issue', () => {
  it('is made as a whole or not at all', async () => {
    const path = await fresh('whole')
    await open(path, { title: 'old', body: 'old' })
    for (const wrong of [{ assignees: ['nobody'] }, { milestone: 999 }, { state: 'weird' }]) {
      const fields = { title: 'new', body: 'new', ...wrong }
      const { status } = await forge.rest(users.bob, 'PATCH', `${path}/issues/1`, fields)
      expect([404, 412, 422], JSON.stringify(wrong)).toContain(status)
    }
    expect(await forge.ask(users.eve, 'GET', `${path}/issues/1`)).toMatchObject({
      title: 'old',
      body: 'old',
      content_version: 0,
    })
    expect(await forge.ask(users.eve, 'GET', `${path}/issues/1/timeline`)).toEqual([])
  })

  it('leaves assignees alone that are null, and removes those that are none', async () => {
    const path = await fresh('assigned')
    await open(path, { title: 'one', assignees: ['bob'] })
    const edit = (assignees: string[] | null) =>
      forge.ask(users.bob, 'PATCH', `${path}/issues/1`, { assignees })
    expect((await edit(null)).assignees).toMatchObject([{ login: 'bob' }])
    expect(await edit([])).toMatchObject({ assignee: null, assignees: [] })
  })
})

describe('lists of issues', () => {
  it('have those with one of the labels or milestones, and nothing for unknown ones', async () => {
    const path = await fresh('filtered')
    for (const name of ['a', 'b'])
      await forge.ask(users.bob, 'POST', `${path}/labels`, { name, color: '00aabb' })
    const { id } = await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'v1' })
    await open(path, { title: 'one', labels: ['a'], milestone: id })
    await open(path, { title: 'two', labels: ['b'] })
    await open(path, { title: 'three' })
    expect(await titles(path, 'labels=a,b')).toEqual(['two', 'one'])
    expect(await titles(path, 'labels=a,unknown')).toEqual(['one'])
    expect(await titles(path, 'milestones=v1')).toEqual(['one'])
    expect(await titles(path, `milestones=${id}`)).toEqual(['one'])
    for (const query of ['labels=unknown', 'milestones=zzz']) {
      const { body, headers } = await forge.rest(users.eve, 'GET', `${path}/issues?${query}`)
      expect([body, headers.get('x-total-count')]).toEqual([[], '0'])
    }
  })

  it('have their order by a word, and the latest first for other words', async () => {
    const path = await fresh('sorted')
    await open(path, { title: 'due', due_date: '2030-01-01T00:00:00Z' })
    await open(path, { title: 'said' })
    await open(path, { title: 'last' })
    await forge.ask(users.eve, 'POST', `${path}/issues/2/comments`, { body: 'Me too' })
    expect(await titles(path, 'sort=mostcomment')).toEqual(['said', 'last', 'due'])
    expect(await titles(path, 'sort=oldest')).toEqual(['due', 'said', 'last'])
    expect(await titles(path, 'sort=nearduedate')).toEqual(['due', 'last', 'said'])
    expect(await titles(path, 'sort=zzz&state=zzz&type=x')).toEqual(['last', 'said', 'due'])
  })

  it('include the ends of a period of changes', async () => {
    const path = await fresh('period')
    const { updated_at: at } = await open(path, { title: 'one' })
    expect(await titles(path, `since=${at}&before=${at}`)).toEqual(['one'])
    expect((await forge.rest(users.eve, 'GET', `${path}/issues?since=yesterday`)).status).toBe(422)
  })
})

describe('the address of an issue', () => {
  it('answers HEAD without a body, is a number, and follows a new name of the repository', async () => {
    const path = await fresh('addressed')
    await open(path, { title: 'one' })
    const statusOf = async (number: string) =>
      (await forge.rest(users.eve, 'GET', `${path}/issues/${number}`)).status
    expect([await statusOf('1'), await statusOf('abc'), await statusOf('0')]).toEqual([
      200, 404, 404,
    ])
    const head = await fetch(`${server.url}/api/v1${path}/issues/1`, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    await forge.ask(users.bob, 'PATCH', path, { name: 'renamed' })
    const moved = await fetch(`${server.url}/api/v1${path}/issues?state=all&limit=1`, {
      redirect: 'manual',
    })
    expect([moved.status, moved.headers.get('location')]).toEqual([
      301,
      '/api/v1/repos/bob/renamed/issues?state=all&limit=1',
    ])
  })
})

describe('a comment on an issue', () => {
  it('needs a text, and has the addresses of the issue', async () => {
    const path = await fresh('commented')
    await open(path, { title: 'one' })
    const comments = `${path}/issues/1/comments`
    for (const body of ['', ' \n '])
      expect(await forge.rest(users.eve, 'POST', comments, { body })).toMatchObject({
        status: 422,
        body: { message: '[Body]: Required' },
      })
    const said = await forge.ask(users.eve, 'POST', comments, { body: 'Yes' })
    const page = `${server.url}/bob/commented/issues/1`
    expect(said).toMatchObject({
      issue_url: page,
      pull_request_url: '',
      html_url: `${page}#issuecomment-${said.id}`,
    })
    const old = `${path}/issues/1/comments/${said.id}`
    expect((await forge.ask(users.eve, 'PATCH', old, { body: 'No' })).body).toBe('No')
    const other = await fresh('other')
    await open(other, { title: 'one' })
    for (const method of ['PATCH', 'DELETE'] as const) {
      const elsewhere = `${other}/issues/1/comments/${said.id}`
      expect((await forge.rest(users.bob, method, elsewhere, { body: 'x' })).status).toBe(404)
    }
    expect((await forge.rest(users.eve, 'DELETE', old)).status).toBe(204)
  })
})
