import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, createToken, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

/** bob owns the repositories, carol may write to them, eve has no role. */
beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

interface Edit {
  id: number
  body: string
}

/** Makes a repository of bob's with an issue and a comment of somebody; returns both paths. */
async function commented(name: string, who: Actor, fields: object = {}) {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'issue' })
  const { id } = await forge.ask(who, 'POST', `${path}/issues/1/comments`, { body: 'text 0' })
  return { path, comment: `${path}/issues/comments/${id}` }
}

const edit = (who: Actor, comment: string, body: string) =>
  forge.ask(who, 'PATCH', comment, { body })

const textsOf = (edits: Edit[]) => edits.map(({ body }) => body)

describe('the former texts of a comment', () => {
  it('are kept with who replaced them and when, for every reader', async () => {
    const { comment } = await commented('kept', users.eve)
    const list = (who?: Actor) => forge.ask(who, 'GET', `${comment}/edits`)
    expect(await list(users.eve)).toEqual([])
    await edit(users.eve, comment, 'text 1')
    await edit(users.eve, comment, 'text 1')
    await edit(users.carol, comment, 'text 2')
    const expected = [
      { body: 'text 0', user: { login: 'eve' } },
      { body: 'text 1', user: { login: 'carol' } },
    ]
    for (const reader of [users.bob, undefined]) expect(await list(reader)).toMatchObject(expected)
    const [first] = await list()
    expect(Object.keys(first)).toEqual(['id', 'user', 'body', 'created_at'])
  })

  it('are those of the latest twenty edits', async () => {
    const { comment } = await commented('latest', users.eve)
    for (let n = 1; n <= 22; n += 1) await edit(users.eve, comment, `text ${n}`)
    const texts = textsOf(await forge.ask(users.eve, 'GET', `${comment}/edits`))
    expect([texts.length, texts[0], texts.at(-1)]).toEqual([20, 'text 2', 'text 21'])
  })

  it('are removed by the author and by writers', async () => {
    const { path, comment } = await commented('removed', users.eve)
    for (const n of [1, 2, 3]) await edit(users.eve, comment, `text ${n}`)
    const edits: Edit[] = await forge.ask(users.eve, 'GET', `${comment}/edits`)
    const remove = async (who: Actor | undefined, id: number | string = edits[0]?.id ?? 0) =>
      (await forge.rest(who, 'DELETE', `${comment}/edits/${id}`)).status
    expect(await remove(undefined)).toBe(401)
    const token = await createToken(server.url, users.eve, ['read:issue'])
    expect(await remove({ ...users.eve, authorization: `Bearer ${token}` })).toBe(403)
    const other = await commented('other', users.eve)
    await edit(users.eve, other.comment, 'text 1')
    const [foreign]: Edit[] = await forge.ask(users.eve, 'GET', `${other.comment}/edits`)
    expect(await remove(users.eve, foreign?.id)).toBe(404)
    expect(await remove(users.eve, 'x')).toBe(404)
    expect(await remove(users.eve)).toBe(204)
    expect(await remove(users.eve)).toBe(404)
    expect(await remove(users.carol, edits[1]?.id)).toBe(204)
    expect(textsOf(await forge.ask(users.eve, 'GET', `${comment}/edits`))).toEqual(['text 2'])
    // The present text stays.
    expect((await forge.ask(users.eve, 'GET', comment)).body).toBe('text 3')
    await forge.ask(users.bob, 'PATCH', path, { archived: true })
    expect(await remove(users.carol, edits[2]?.id)).toBe(423)
  })

  it('are not removed by others, not shown to those who may not read, and gone with the comment', async () => {
    const { path, comment } = await commented('hidden', users.bob, { private: true })
    await edit(users.carol, comment, 'text 1')
    const [first]: Edit[] = await forge.ask(users.bob, 'GET', `${comment}/edits`)
    for (const [method, place] of [
      ['GET', ''],
      ['DELETE', `/${first?.id}`],
    ] as const)
      expect((await forge.rest(users.eve, method, `${comment}/edits${place}`)).status).toBe(404)
    await forge.ask(users.bob, 'PATCH', path, { private: false })
    const denied = await forge.rest(users.eve, 'DELETE', `${comment}/edits/${first?.id}`)
    expect(denied.status).toBe(403)
    await forge.ask(users.bob, 'DELETE', comment)
    expect((await forge.rest(users.bob, 'GET', `${comment}/edits`)).status).toBe(404)
    const rows = await server.app.db
      .selectFrom('issue_comment_edits')
      .select('id')
      .where('id', '=', first?.id ?? 0)
      .execute()
    expect(rows).toEqual([])
  })
})
