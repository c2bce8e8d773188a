import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

/** Makes a repository of bob's in which carol writes, with two issues. */
async function fresh(name: string, fields: object = {}): Promise<string> {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  for (const title of ['first', 'second'])
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title })
  return path
}

describe('saved views', () => {
  it('of a repository are kept by writers and read by readers', async () => {
    const path = `${await fresh('shared')}/issue_views`
    const made = await forge.rest(users.carol, 'POST', path, { name: ' Open ', query: 'is:open' })
    expect(made.status).toBe(201)
    const { id } = made.body
    expect(made.body).toMatchObject({
      name: 'Open',
      query: 'is:open',
      position: 1,
      is_shared: true,
      creator: { login: 'carol' },
    })
    expect(Object.keys(made.body).sort()).toEqual([
      'created_at',
      'creator',
      'id',
      'is_shared',
      'name',
      'position',
      'query',
      'updated_at',
    ])
    expect(await forge.ask(users.carol, 'GET', `${path}/${id}`)).toEqual(made.body)
    expect(await forge.ask(users.eve, 'GET', `${path}/${id}`)).toMatchObject({ id, name: 'Open' })
    expect(await forge.ask(users.carol, 'GET', path)).toEqual([made.body])
    const edited = await forge.rest(users.carol, 'PATCH', `${path}/${id}`, { query: 'is:closed' })
    expect(edited).toMatchObject({ status: 200, body: { name: 'Open', query: 'is:closed' } })
    const status = async (...call: Parameters<typeof forge.rest>) =>
      (await forge.rest(...call)).status
    expect(await status(users.eve, 'POST', path, { name: 'x', query: '' })).toBe(403)
    expect(await status(users.eve, 'PATCH', `${path}/${id}`, { name: 'x' })).toBe(403)
    expect(await status(users.eve, 'DELETE', `${path}/${id}`)).toBe(403)
    expect(await status(undefined, 'POST', path, { name: 'x', query: '' })).toBe(401)
    expect(await status(undefined, 'GET', path)).toBe(200)
    expect(await status(users.carol, 'DELETE', `${path}/${id}`)).toBe(204)
    expect(await status(users.carol, 'GET', `${path}/${id}`)).toBe(404)
    expect(await status(users.carol, 'DELETE', `${path}/${id}`)).toBe(404)
  })

  it('of a hidden repository are hidden', async () => {
    const path = await fresh('secret', { private: true })
    const { id } = await forge.ask(users.bob, 'POST', `${path}/issue_views`, {
      name: 'x',
      query: 'is:open',
    })
    for (const place of ['issue_views', `issue_views/${id}`])
      expect((await forge.rest(users.eve, 'GET', `${path}/${place}`)).status).toBe(404)
    const search = (who: typeof users.eve) =>
      forge.rest(who, 'GET', `/repos/issues/search?view=${id}`)
    expect((await search(users.bob)).status).toBe(200)
    expect((await search(users.eve)).status).toBe(404)
  })

  it('have an order without gaps', async () => {
    const path = '/user/issue_views'
    const create = async (name: string, fields: object = {}) =>
      (await forge.ask(users.eve, 'POST', path, { name, query: '', ...fields })).id
    const names = async () =>
      (await forge.ask(users.eve, 'GET', path)).map(
        ({ name, position }: { name: string; position: number }) => `${name}${position}`,
      )
    const a = await create('a')
    await create('b')
    await create('c', { position: 1 })
    expect(await names()).toEqual(['c1', 'a2', 'b3'])
    expect(await forge.ask(users.eve, 'PATCH', `${path}/${a}`, { position: 99 })).toMatchObject({
      position: 3,
    })
    expect(await names()).toEqual(['c1', 'b2', 'a3'])
    expect((await forge.rest(users.eve, 'PATCH', `${path}/${a}`, { position: 0 })).status).toBe(422)
    await forge.rest(users.eve, 'DELETE', `${path}/${a}`)
    await create('d')
    expect(await names()).toEqual(['c1', 'b2', 'd3'])
  })

  it('of an account are for the account alone', async () => {
    const made = await forge.rest(users.bob, 'POST', '/user/issue_views', {
      name: 'Mine',
      query: 'author:@me',
    })
    expect(made).toMatchObject({ status: 201, body: { is_shared: false, position: 1 } })
    const one = `/user/issue_views/${made.body.id}`
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect((await forge.rest(users.eve, method, one)).status).toBe(404)
    expect((await forge.rest(undefined, 'GET', '/user/issue_views')).status).toBe(401)
    const path = await fresh('used')
    const list = (who: typeof users.eve | undefined) =>
      forge.rest(who, 'GET', `${path}/issues?view=${made.body.id}`)
    expect((await list(users.bob)).body).toHaveLength(2)
    expect((await list(users.eve)).status).toBe(404)
    expect((await list(undefined)).status).toBe(404)
  })

  it('stand for their query in lists', async () => {
    const path = await fresh('lists')
    await forge.ask(users.bob, 'PATCH', `${path}/issues/2`, { state: 'closed' })
    const { id } = await forge.ask(users.bob, 'POST', `${path}/issue_views`, {
      name: 'Closed',
      query: 'is:closed',
    })
    const numbers = async (place: string) =>
      (await forge.ask(users.eve, 'GET', place)).map(({ number }: { number: number }) => number)
    expect(await numbers(`${path}/issues?view=${id}`)).toEqual([2])
    expect(await numbers(`${path}/issues?view=${id}&query=first`)).toEqual([])
    expect(await numbers(`${path}/issues?view=${id}&state=open`)).toEqual([])
    expect(await numbers(`/repos/issues/search?view=${id}&query=repo:bob/lists`)).toEqual([2])
    const other = await fresh('elsewhere')
    for (const view of [id, 999_999])
      expect((await forge.rest(users.bob, 'GET', `${other}/issues?view=${view}`)).status).toBe(404)
  })

  it('are checked when they are stored', async () => {
    const path = '/user/issue_views'
    const send = (body: object) => forge.rest(users.carol, 'POST', path, body)
    expect((await send({ query: 'is:open' })).body.message).toBe('[Name]: Required')
    expect((await send({ name: '  ', query: '' })).status).toBe(422)
    expect((await send({ name: 'x'.repeat(256), query: '' })).status).toBe(422)
    expect((await send({ name: 'x', query: 'foo:bar' })).status).toBe(422)
    const { id } = (await send({ name: 'x', query: '' })).body
    expect((await forge.rest(users.carol, 'PATCH', `${path}/${id}`, { query: '"' })).status).toBe(
      422,
    )
    for (let n = 2; n <= 100; n += 1) expect((await send({ name: `v${n}` })).status).toBe(201)
    expect((await send({ name: 'one more' })).status).toBe(422)
  })

  it('are changed by nobody while the repository is archived', async () => {
    const path = await fresh('archived')
    const { id } = await forge.ask(users.bob, 'POST', `${path}/issue_views`, { name: 'x' })
    await forge.ask(users.bob, 'PATCH', path, { archived: true })
    const views = `${path}/issue_views`
    expect((await forge.rest(users.bob, 'POST', views, { name: 'y' })).status).toBe(423)
    expect((await forge.rest(users.bob, 'DELETE', `${views}/${id}`)).status).toBe(423)
    expect((await forge.rest(users.bob, 'GET', views)).body).toHaveLength(1)
  })
})
