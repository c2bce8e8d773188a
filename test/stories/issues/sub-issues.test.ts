import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

/** bob owns the repositories, carol may write to some of them, eve has no role. */
beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

/** Makes a repository of bob's with some issues, where carol may write. */
async function fresh(name: string, issues: number, fields: object = {}): Promise<string> {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  for (let n = 1; n <= issues; n += 1)
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: `issue ${n}` })
  return path
}

const add = (who: Actor, path: string, parent: number, part: object) =>
  forge.rest(who, 'POST', `${path}/issues/${parent}/sub_issues`, part)

const get = (who: Actor, path: string) => forge.ask(who, 'GET', path)

async function partsOf(path: string, number: number, who: Actor = users.eve): Promise<number[]> {
  const parts = await get(who, `${path}/issues/${number}/sub_issues`)
  return parts.map((part: { number: number }) => part.number)
}

describe('sub-issues', () => {
  it('have an order and a parent, and are counted', async () => {
    const path = await fresh('plan', 4)
    expect(await get(users.eve, `${path}/issues/1`)).not.toHaveProperty('sub_issues')
    const { status, body } = await add(users.carol, path, 1, { index: 2 })
    expect(status).toBe(201)
    expect(body).toMatchObject({ number: 1, sub_issues: { total: 1, closed: 0 } })
    expect((await add(users.carol, path, 1, { index: 2 })).status).toBe(201)
    await add(users.carol, path, 1, { index: 3, owner: 'bob', repo: 'plan' })
    await add(users.carol, path, 1, { index: 4 })
    expect(await partsOf(path, 1)).toEqual([2, 3, 4])
    const move = (position: number | string, index: number) =>
      forge.rest(users.carol, 'PATCH', `${path}/issues/1/sub_issues/${position}`, { index })
    expect((await move(1, 4)).status).toBe(204)
    expect(await partsOf(path, 1)).toEqual([4, 2, 3])
    expect((await move(0, 4)).status).toBe(422)
    expect((await move(1, 1)).status).toBe(404)

    await forge.ask(users.bob, 'PATCH', `${path}/issues/2`, { state: 'closed' })
    await forge.ask(users.bob, 'DELETE', `${path}/issues/4`)
    const [parent] = await get(users.eve, `${path}/issues?q=issue+1`)
    expect(parent.sub_issues).toEqual({ total: 2, closed: 1 })
    expect((await get(users.eve, `${path}/issues/3`)).parent).toMatchObject({
      number: 1,
      repository: { full_name: 'bob/plan' },
    })
    expect((await get(users.eve, `${path}/issues/3/parent`)).number).toBe(1)
    const orphan = await forge.rest(users.eve, 'GET', `${path}/issues/1/parent`)
    expect(orphan.status).toBe(404)
    // A parent closes with open parts.
    const closed = await forge.rest(users.bob, 'PATCH', `${path}/issues/1`, { state: 'closed' })
    expect(closed.status).toBe(201)

    const remove = () =>
      forge.rest(users.carol, 'DELETE', `${path}/issues/1/sub_issues`, { index: 3 })
    expect((await remove()).body.sub_issues).toEqual({ total: 1, closed: 1 })
    expect((await remove()).status).toBe(404)
    const entries = await get(users.eve, `${path}/issues/3/timeline`)
    expect(
      entries.map(({ type, ref_issue }: { type: string; ref_issue: { number: number } }) => [
        type,
        ref_issue.number,
      ]),
    ).toEqual([
      ['parent_added', 1],
      ['parent_removed', 1],
    ])
  })

  it('are hidden from those who may not read them', async () => {
    const path = await fresh('open', 1)
    await fresh('secret', 1, { private: true })
    const part = { index: 1, owner: 'bob', repo: 'secret' }
    expect((await add(users.bob, path, 1, part)).body.sub_issues.total).toBe(1)
    expect(await get(users.eve, `${path}/issues/1`)).not.toHaveProperty('sub_issues')
    expect(await partsOf(path, 1)).toEqual([])
    expect(await partsOf(path, 1, users.carol)).toEqual([1])
    const timeline = await get(users.eve, `${path}/issues/1/timeline`)
    expect(timeline).toEqual([])
    const back = { index: 1, owner: 'bob', repo: 'open' }
    const hidden = await fresh('deep', 1, { private: true })
    expect((await add(users.bob, hidden, 1, back)).status).toBe(201)
    expect(await get(users.eve, `${path}/issues/1`)).not.toHaveProperty('parent')
    expect((await forge.rest(users.eve, 'GET', `${path}/issues/1/parent`)).status).toBe(404)
  })
})

describe('a refused sub-issue', () => {
  it('would be a part of itself, of two parents or of another owner', async () => {
    const path = await fresh('rules', 4)
    await add(users.bob, path, 1, { index: 2 })
    const statusOf = async (...args: Parameters<typeof add>) => (await add(...args)).status
    expect(await statusOf(users.bob, path, 1, { index: 1 })).toBe(422)
    expect(await statusOf(users.bob, path, 2, { index: 1 })).toBe(422)
    expect(await statusOf(users.bob, path, 3, { index: 2 })).toBe(422)
    expect(await statusOf(users.bob, path, 1, { index: 9 })).toBe(404)
    expect(await statusOf(users.bob, path, 9, { index: 1 })).toBe(404)
    expect(await statusOf(users.eve, path, 1, { index: 3 })).toBe(403)
    const { path: carols } = await forge.repository(users.carol, 'hers')
    await forge.ask(users.carol, 'POST', `${carols}/issues`, { title: 'hers' })
    const hers = { index: 1, owner: 'carol', repo: 'hers' }
    expect(await statusOf(users.bob, path, 1, hers)).toBe(403)
    expect(await statusOf(users.carol, path, 1, hers)).toBe(422)
    expect(await partsOf(path, 1)).toEqual([2])
  })

  it('would be on a ninth level', async () => {
    const path = await fresh('levels', 10)
    for (let n = 1; n <= 8; n += 1)
      expect((await add(users.bob, path, n, { index: n + 1 })).status).toBe(201)
    const refused = await add(users.bob, path, 9, { index: 10 })
    expect(refused.status).toBe(422)
    const above = await add(users.bob, path, 10, { index: 1 })
    expect(above.status).toBe(422)
  })
})
