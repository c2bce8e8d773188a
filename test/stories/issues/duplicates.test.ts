import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

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

/** Makes a repository of bob's with some issues of eve's. */
async function fresh(name: string, issues: number, fields: object = {}): Promise<string> {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  const poster = 'private' in fields ? users.bob : users.eve
  for (let n = 1; n <= issues; n += 1)
    await forge.ask(poster, 'POST', `${path}/issues`, { title: `issue ${n}` })
  return path
}

const edit = (who: Actor, path: string, number: number, fields: object) =>
  forge.rest(who, 'PATCH', `${path}/issues/${number}`, fields)

const get = (who: Actor, path: string, number: number) =>
  forge.ask(who, 'GET', `${path}/issues/${number}`)

/** The entries of a timeline, without comments: type, text and the other conversation. */
async function timeline(path: string, number: number, who: Actor = users.bob): Promise<string[]> {
  const { body, headers } = await forge.rest(who, 'GET', `${path}/issues/${number}/timeline`)
  expect(headers.get('x-total-count')).toBe(String(body.length))
  return body
    .filter(({ type }: { type: string }) => type !== 'comment')
    .map((entry: { type: string; body: string; ref_issue: { number: number } | null }) =>
      [entry.type, entry.body, entry.ref_issue && `#${entry.ref_issue.number}`]
        .filter(Boolean)
        .join(' '),
    )
    .sort()
}

describe('the reason of a closed issue', () => {
  it('is there when it was given, and gone when the issue is open', async () => {
    const path = await fresh('reasons', 1)
    expect(await get(users.eve, path, 1)).not.toHaveProperty('state_reason')
    const closed = await edit(users.eve, path, 1, { state: 'closed' })
    expect(closed.status).toBe(201)
    expect(closed.body).not.toHaveProperty('state_reason')
    const given = await edit(users.eve, path, 1, { state_reason: 'not_planned' })
    expect(given.body).toMatchObject({ state: 'closed', state_reason: 'not_planned' })
    const reopened = await edit(users.eve, path, 1, { state: 'open' })
    expect(reopened.body).not.toHaveProperty('state_reason')
    const again = { state: 'closed', state_reason: 'completed' }
    expect((await edit(users.carol, path, 1, again)).body).toMatchObject(again)
    expect(await timeline(path, 1)).toEqual(['close', 'close completed', 'reopen'])
    const [listed] = await forge.ask(users.eve, 'GET', `${path}/issues?state=closed`)
    expect(listed).toMatchObject(again)
  })

  it('is ignored while the issue stays open, and is one of three words', async () => {
    const path = await fresh('words', 1)
    const ignored = await edit(users.eve, path, 1, { state_reason: 'completed' })
    expect([ignored.status, ignored.body.state]).toEqual([201, 'open'])
    expect(ignored.body).not.toHaveProperty('state_reason')
    const refused = await edit(users.eve, path, 1, { state: 'closed', state_reason: 'wontfix' })
    expect(refused.status).toBe(422)
    expect((await get(users.eve, path, 1)).state).toBe('open')
  })

  it('is changed by the poster and by writers only', async () => {
    const path = await fresh('rights', 2)
    const other = { title: 'of bob' }
    await forge.ask(users.bob, 'POST', `${path}/issues`, other)
    const fields = { state: 'closed', state_reason: 'completed' }
    expect((await edit(users.eve, path, 3, fields)).status).toBe(403)
    expect((await edit(users.eve, path, 3, { duplicate_of: 1 })).status).toBe(403)
  })
})

describe('a duplicate', () => {
  it('is closed, and both timelines say so, until it is opened again', async () => {
    const path = await fresh('double', 2)
    const { status, body } = await edit(users.carol, path, 2, { duplicate_of: 1 })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      state: 'closed',
      state_reason: 'duplicate',
      duplicate_of: { number: 1, repository: { full_name: 'bob/double', owner: 'bob' } },
    })
    expect(body.duplicate_of).toEqual({ number: 1, repository: body.repository })
    expect(await timeline(path, 2)).toEqual(['close duplicate', 'duplicate #1'])
    expect(await timeline(path, 1)).toEqual(['comment_ref #2'])
    const [entry] = await forge.ask(users.bob, 'GET', `${path}/issues/1/timeline`)
    expect(entry).toMatchObject({ ref_action: 'none', ref_comment: null, user: { login: 'carol' } })
    // The same again changes nothing.
    await edit(users.carol, path, 2, { duplicate_of: { index: 1, owner: 'bob', repo: 'double' } })
    expect(await timeline(path, 2)).toHaveLength(2)
    const reopened = (await edit(users.eve, path, 2, { state: 'open' })).body
    expect(reopened).not.toHaveProperty('state_reason')
    expect(reopened).not.toHaveProperty('duplicate_of')
    expect(await timeline(path, 2)).toEqual([
      'close duplicate',
      'duplicate #1',
      'reopen',
      'unduplicate #1',
    ])
  })

  it('loses the other one with another reason', async () => {
    const path = await fresh('other-reason', 2)
    await edit(users.carol, path, 2, { duplicate_of: 1 })
    const { body } = await edit(users.carol, path, 2, { state_reason: 'completed' })
    expect(body).toMatchObject({ state: 'closed', state_reason: 'completed' })
    expect(body).not.toHaveProperty('duplicate_of')
  })

  it('subscribes its poster to the other one', async () => {
    const path = await fresh('subscriptions', 1)
    await forge.ask(users.carol, 'POST', `${path}/issues`, { title: 'second' })
    const told = () => forge.rest(users.carol, 'GET', `${path}/issues/1/subscriptions/check`)
    await forge.rest(users.carol, 'DELETE', `${path}/subscription`)
    expect((await told()).body.subscribed).toBe(false)
    await edit(users.bob, path, 2, { duplicate_of: 1 })
    expect((await told()).body.subscribed).toBe(true)
  })

  it('is refused of itself, of what is missing or hidden, and of contradictions', async () => {
    const path = await fresh('refused', 2)
    const hidden = await fresh('refused-hidden', 1, { private: true })
    const reference = { index: 1, owner: 'bob', repo: hidden.split('/').at(-1) }
    const answers = [
      [2, 422],
      [9, 404],
      [0, 404],
      [1.5, 404],
      [reference, 404],
      [{ index: 'x' }, 404],
      ['1', 422],
      [[1], 422],
    ] as const
    for (const [duplicate_of, status] of answers)
      expect((await edit(users.eve, path, 2, { duplicate_of })).status).toBe(status)
    for (const fields of [{ state: 'open' }, { state_reason: 'completed' }])
      expect((await edit(users.eve, path, 2, { duplicate_of: 1, ...fields })).status).toBe(422)
    expect((await get(users.eve, path, 2)).state).toBe('open')
    await forge.ask(users.bob, 'POST', `${path}/issues/2/dependencies`, { index: 1 })
    expect((await edit(users.eve, path, 2, { duplicate_of: 1 })).status).toBe(412)
  })

  it('of a hidden one shows only the reason', async () => {
    const path = await fresh('shown', 1)
    const hidden = await fresh('not-shown', 1, { private: true })
    const repo = hidden.split('/').at(-1)
    await edit(users.carol, path, 1, { duplicate_of: { index: 1, owner: 'bob', repo } })
    expect(await get(users.carol, path, 1)).toMatchObject({ duplicate_of: { number: 1 } })
    const seen = await get(users.eve, path, 1)
    expect(seen.state_reason).toBe('duplicate')
    expect(seen).not.toHaveProperty('duplicate_of')
    expect(await timeline(path, 1, users.eve)).toEqual(['close duplicate'])
    expect(await timeline(hidden, 1)).toEqual(['comment_ref #1'])
    // The deletion of the other one takes its entries along.
    await forge.ask(users.bob, 'DELETE', `${hidden}/issues/1`)
    expect(await timeline(path, 1)).toEqual(['close duplicate'])
    expect(await get(users.bob, path, 1)).not.toHaveProperty('duplicate_of')
  })

  it('is what a writer says with a comment of nothing else', async () => {
    const path = await fresh('said', 3)
    const say = (who: Actor, number: number, body: string) =>
      forge.ask(who, 'POST', `${path}/issues/${number}/comments`, { body })
    await say(users.eve, 2, 'Duplicate of #1')
    await say(users.carol, 2, 'Duplicate of #1, I think')
    await say(users.carol, 2, 'Duplicate of #2')
    expect((await get(users.eve, path, 2)).state).toBe('open')
    const { id } = await say(users.carol, 2, ' duplicate of bob/said#1\n')
    expect(await get(users.eve, path, 2)).toMatchObject({
      state: 'closed',
      state_reason: 'duplicate',
      duplicate_of: { number: 1 },
    })
    expect(await timeline(path, 2)).toEqual(['close duplicate', 'duplicate #1'])
    // The comment itself is the entry in the other timeline.
    const entries = await forge.ask(users.bob, 'GET', `${path}/issues/1/timeline`)
    expect(
      entries.map(({ type, ref_comment }: { type: string; ref_comment: { id: number } }) => [
        type,
        ref_comment.id,
      ]),
    ).toContainEqual(['comment_ref', id])
    await say(users.carol, 2, 'Duplicate of #3')
    expect(await get(users.eve, path, 2)).toMatchObject({ duplicate_of: { number: 3 } })
    expect(await timeline(path, 2)).toEqual([
      'close duplicate',
      'duplicate #1',
      'duplicate #3',
      'unduplicate #1',
    ])
  })
})
