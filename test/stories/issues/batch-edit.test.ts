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

/** Makes a repository of bob's with issues of some users, and two labels. */
async function fresh(name: string, ...posters: Actor[]): Promise<string> {
  const { path } = await forge.repository(users.bob, name)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  for (const label of ['one', 'two'])
    await forge.ask(users.bob, 'POST', `${path}/labels`, { name: label, color: 'ff0000' })
  for (const poster of posters) await forge.ask(poster, 'POST', `${path}/issues`, { title: 'i' })
  return path
}

const batch = (who: Actor | undefined, path: string, fields: object) =>
  forge.rest(who, 'POST', `${path}/issues:batchEdit`, fields)

const get = (path: string, number: number) =>
  forge.ask(users.bob, 'GET', `${path}/issues/${number}`)

describe('a change of several issues', () => {
  it('is made in each of them, as far as the right of the caller goes', async () => {
    const path = await fresh('rights', users.eve, users.bob, users.eve)
    const fields = { numbers: [3, 2, 1, 3], state: 'closed', state_reason: 'not_planned' }
    const tried = await batch(users.eve, path, { ...fields, validate_only: true })
    expect((await get(path, 1)).state).toBe('open')
    const { status, body } = await batch(users.eve, path, fields)
    expect(status).toBe(200)
    expect(body).toEqual({
      results: [
        { number: 1, changed: true, reason: '', message: '' },
        {
          number: 2,
          changed: false,
          reason: 'ISSUE_EDIT_DENIED',
          message: 'issue edit denied',
        },
        { number: 3, changed: true, reason: '', message: '' },
      ],
      changed: 2,
      failed: 1,
    })
    expect(tried.body).toEqual(body)
    expect(await get(path, 3)).toMatchObject({ state: 'closed', state_reason: 'not_planned' })
    expect((await get(path, 2)).state).toBe('open')
    // What only writers may plan is refused, not ignored.
    const labels = await batch(users.eve, path, { numbers: [1], add_labels: ['one'] })
    expect(labels.body).toMatchObject({ changed: 0, failed: 1 })
    const missing = await batch(users.carol, path, { numbers: [9], lock: true })
    expect(missing.body.results).toMatchObject([{ number: 9, reason: 'ISSUE_NOT_FOUND' }])
  })

  it('has all that can change, of pull requests too', async () => {
    const path = await fresh('all', users.eve)
    await forge.change(users.bob, path, 'f')
    await forge.ask(users.bob, 'POST', `${path}/pulls`, { title: 'p', head: 'f', base: 'main' })
    const { id } = await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'm' })
    const numbers = [1, 2]
    const fields = {
      numbers,
      set_labels: ['one', 'two'],
      remove_labels: ['one'],
      add_assignees: ['carol'],
      milestone: id,
      due_date: '2030-01-01T00:00:00Z',
      lock: 'calm down',
      comment: 'done',
    }
    expect((await batch(users.carol, path, fields)).body).toMatchObject({ changed: 2, failed: 0 })
    for (const number of numbers)
      expect(await get(path, number)).toMatchObject({
        labels: [{ name: 'two' }],
        assignees: [{ login: 'carol' }],
        milestone: { id },
        due_date: '2030-01-01T23:59:59Z',
        is_locked: true,
        comments: 1,
      })
    const { comment: _, ...rest } = fields
    const again = await batch(users.carol, path, rest)
    expect(again.body).toMatchObject({ changed: 0, failed: 0 })
    const undone = {
      numbers,
      set_labels: [],
      remove_assignees: ['carol'],
      milestone: 0,
      unlock: true,
    }
    expect((await batch(users.carol, path, undone)).body.changed).toBe(2)
    expect(await get(path, 1)).toMatchObject({
      labels: [],
      assignees: [],
      milestone: null,
      is_locked: false,
    })
  })

  it('leaves an issue as it is when one part fails', async () => {
    const path = await fresh('parts', users.eve, users.eve)
    await forge.ask(users.bob, 'POST', `${path}/issues/1/dependencies`, { index: 2 })
    const fields = { numbers: [1], add_labels: ['one'], state: 'closed', comment: 'bye' }
    const { body } = await batch(users.carol, path, fields)
    expect(body.results).toMatchObject([{ changed: false, reason: 'CLOSE_BLOCKED' }])
    expect(await get(path, 1)).toMatchObject({ labels: [], state: 'open', comments: 0 })
  })

  it('is refused as a whole for what is wrong in any case', async () => {
    const path = await fresh('wrong', users.eve)
    const many = Array.from({ length: 201 }, (_, n) => n + 1)
    for (const [fields, status] of [
      [{ numbers: [] }, 422],
      [{ numbers: many }, 422],
      [{ numbers: [1], state: 'weird' }, 412],
      [{ numbers: [1], state: 'closed', state_reason: 'x' }, 422],
      [{ numbers: [1], due_date: 'x' }, 422],
      [{ numbers: [1], lock: true, unlock: true }, 422],
      [{ numbers: [1], state: 'closed', request_id: 'é' }, 422],
    ] as const)
      expect([fields, (await batch(users.carol, path, fields)).status]).toEqual([fields, status])
    expect((await batch(undefined, path, { numbers: [1] })).status).toBe(401)
    expect((await get(path, 1)).state).toBe('open')
  })

  it('is refused in an archived repository', async () => {
    const path = await fresh('archived', users.bob)
    await forge.ask(users.bob, 'PATCH', path, { archived: true })
    const { status } = await batch(users.bob, path, { numbers: [1], state: 'closed' })
    expect(status).toBe(423)
  })

  it('tells nobody on request', async () => {
    const path = await fresh('quiet', users.eve, users.eve)
    const threads = async () =>
      (await forge.ask(users.eve, 'GET', `${path}/notifications?all=true`)).length
    await batch(users.carol, path, { numbers: [1], state: 'closed', notify: false })
    await batch(users.carol, path, { numbers: [2], state: 'closed' })
    await expect.poll(threads).toBe(1)
  })
})

describe('a request id', () => {
  it('makes each call safe to repeat', async () => {
    const path = await fresh('repeated', users.eve)
    const request = { title: 'once', request_id: 'a' }
    const open = () => forge.rest(users.eve, 'POST', `${path}/issues`, request)
    const [first, second] = await Promise.all([open(), open()])
    expect([first.status, second.status]).toEqual([201, 201])
    expect([first.body.number, second.body.number]).toEqual([2, 2])
    const other = { title: 'other', request_id: 'a' }
    expect((await forge.rest(users.eve, 'POST', `${path}/issues`, other)).status).toBe(422)
    expect((await forge.rest(users.carol, 'POST', `${path}/issues`, other)).status).toBe(201)
    const say = () =>
      forge.ask(users.eve, 'POST', `${path}/issues/1/comments`, { body: 'x', request_id: 'b' })
    expect((await say()).id).toBe((await say()).id)
    const fields = { numbers: [1], comment: 'y', request_id: 'c' }
    const answers = [await batch(users.carol, path, fields), await batch(users.carol, path, fields)]
    expect(answers.map(({ body }) => body.changed)).toEqual([1, 1])
    expect((await get(path, 1)).comments).toBe(2)
  })

  it('does a batch once that is sent several times at once', async () => {
    const path = await fresh('at-once', users.eve, users.eve, users.eve)
    const fields = { numbers: [1, 2, 3, 9], comment: 'z', request_id: 'd' }
    const answers = await Promise.all([1, 2, 3].map(() => batch(users.carol, path, fields)))
    for (const { status, body } of answers)
      expect([status, body.changed, body.failed]).toEqual([200, 3, 1])
    for (const number of [1, 2, 3]) expect((await get(path, number)).comments).toBe(1)
  })

  it('lets a batch go on that was cut', async () => {
    const path = await fresh('cut', users.eve, users.eve, users.eve)
    await forge.change(users.bob, path, 'feature')
    const pull = { title: 'p', base: 'main', head: 'feature' }
    await forge.ask(users.bob, 'POST', `${path}/pulls`, pull)
    const fields = { query: 'is:open', state: 'closed', comment: 'z', request_id: 'e' }
    const first = await batch(users.carol, path, fields)
    expect(first.body.results.map(({ number }: { number: number }) => number)).toEqual([1, 2, 3, 4])
    const { db } = server.app
    const { result } = await db
      .selectFrom('issue_requests')
      .select('result')
      .where('request_id', '=', 'e')
      .executeTakeFirstOrThrow()
    const cut = JSON.parse(result).map((one: { number: number }) =>
      one.number < 3 ? one : { number: one.number },
    )
    await db
      .updateTable('issue_requests')
      .set({ result: JSON.stringify(cut) })
      .where('request_id', '=', 'e')
      .execute()
    for (let time = 0; time < 2; time += 1)
      expect((await batch(users.carol, path, fields)).body).toEqual(first.body)
    const counts = [1, 2, 3, 4].map(async (number) => (await get(path, number)).comments)
    expect(await Promise.all(counts)).toEqual([1, 1, 2, 2])
  })
})
