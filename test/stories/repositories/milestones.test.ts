import { beforeAll, describe, expect, it } from 'vitest'
import { MilestoneService } from '#gen/branchline/v1/milestone_service_pb.ts'
import { callerNamed } from '../../support/callers.ts'
import { openForge, refusalOf } from '../../support/forge.ts'

/** Unix milliseconds; the server's clock. */
let now = Date.UTC(2026, 4, 1, 10)

const PATH = '/repos/bob/engine/milestones'

const forge = await openForge({ clock: { now: () => now } })
const { server, users, rest, ask } = forge
beforeAll(async () => {
  for (const name of ['engine', 'list']) await ask(users.bob, 'POST', '/user/repos', { name })
  await ask(users.bob, 'POST', '/user/repos', { name: 'secret', private: true })
})

/** Creates a milestone in a repository of bob, and returns it. */
async function make(fields: object, path = PATH) {
  const { status, body } = await rest(users.bob, 'POST', path, fields)
  expect(status).toBe(201)
  return body
}

/** The titles of a list. */
async function titles(query: string): Promise<string[]> {
  const { body } = await rest(undefined, 'GET', `/repos/bob/list/milestones${query}`)
  return body.map(({ title }: { title: string }) => title)
}

describe('a milestone', () => {
  it('is created, read by id and by title, closed, reopened and deleted', async () => {
    const made = await make({
      title: 'v1.0 final',
      description: '*soon*',
      due_on: '2026-06-01T12:00:00.7+02:00',
    })
    const milestone = {
      id: made.id,
      title: 'v1.0 final',
      description: '*soon*',
      state: 'open',
      open_issues: 0,
      closed_issues: 0,
      created_at: '2026-05-01T10:00:00Z',
      updated_at: '2026-05-01T10:00:00Z',
      closed_at: null,
      due_on: '2026-06-01T10:00:00Z',
    }
    expect(made).toEqual(milestone)
    expect((await rest(undefined, 'GET', `${PATH}/${made.id}`)).body).toEqual(milestone)
    expect((await rest(undefined, 'GET', `${PATH}/v1.0%20final`)).body).toEqual(milestone)
    now += 60_000
    const closed = await rest(users.bob, 'PATCH', `${PATH}/${made.id}`, { state: 'closed' })
    const times = { updated_at: '2026-05-01T10:01:00Z', closed_at: '2026-05-01T10:01:00Z' }
    expect([closed.status, closed.body]).toEqual([200, { ...milestone, state: 'closed', ...times }])
    now += 60_000
    const again = await rest(users.bob, 'PATCH', `${PATH}/v1.0%20final`, {
      state: 'closed',
      title: 'v1',
    })
    expect(again.body).toMatchObject({ title: 'v1', closed_at: '2026-05-01T10:01:00Z' })
    const opened = await rest(users.bob, 'PATCH', `${PATH}/v1`, { state: 'open' })
    expect(opened.body).toMatchObject({ state: 'open', closed_at: null })
    expect((await rest(users.bob, 'DELETE', `${PATH}/v1`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `${PATH}/${made.id}`)).status).toBe(404)
  })

  it('can be created closed', async () => {
    const { state, closed_at, created_at } = await make({ title: 'past', state: 'closed' })
    expect([state, closed_at]).toEqual(['closed', created_at])
  })

  it('keeps fields that an edit leaves out or sends as null, as Go clients do', async () => {
    const { updated_at, ...before } = await make({
      title: 'kept',
      description: 'x',
      due_on: '2026-06-01T10:00:00Z',
    })
    const nothing = { title: null, description: null, state: null, due_on: null }
    for (const edit of [
      nothing,
      {},
      { title: '', state: '' },
      { due_on: '0001-01-01T00:00:00Z' },
    ]) {
      expect((await rest(users.bob, 'PATCH', `${PATH}/${before.id}`, edit)).body).toMatchObject(
        before,
      )
    }
    const edited = await rest(users.bob, 'PATCH', `${PATH}/${before.id}`, { description: '' })
    expect(edited.body.description).toBe('')
  })

  it.each([
    [undefined, null],
    ['0001-01-01T00:00:00Z', null],
    ['9999-12-31T00:00:00Z', null],
    ['9998-12-31T23:59:59Z', '9998-12-31T23:59:59Z'],
  ])('due on %j is due on %j', async (due_on, expected) => {
    expect((await make({ title: 'due', due_on })).due_on).toBe(expected)
  })

  it('loses its date when set to the year 9999', async () => {
    const { id } = await make({ title: 'dated', due_on: '2026-06-01T10:00:00Z' })
    const edited = await rest(users.bob, 'PATCH', `${PATH}/${id}`, {
      due_on: '9999-12-31T00:00:00Z',
    })
    expect(edited.body.due_on).toBeNull()
  })

  it('whose title is the id of another one is found by its own id', async () => {
    const first = await make({ title: 'first' })
    const second = await make({ title: String(first.id) })
    expect((await rest(undefined, 'GET', `${PATH}/${first.id}`)).body.title).toBe('first')
    expect((await rest(undefined, 'GET', `${PATH}/${second.id}`)).body.id).toBe(second.id)
    await make({ title: '20260501' })
    expect((await rest(undefined, 'GET', `${PATH}/20260501`)).body.title).toBe('20260501')
  })

  it.each(['nothing', '0', '-1', '99999999999999999999', 'FIRST'])(
    'called %j is none',
    async (name) => {
      const missing = await rest(users.bob, 'GET', `${PATH}/${name}`)
      expect([missing.status, missing.body.message]).toEqual([404, 'not found'])
      expect((await rest(users.bob, 'PATCH', `${PATH}/${name}`, { title: 'x' })).status).toBe(404)
      expect((await rest(users.bob, 'DELETE', `${PATH}/${name}`)).status).toBe(404)
    },
  )

  it('of another repository is not found', async () => {
    const { id } = await make({ title: 'elsewhere' }, '/repos/bob/secret/milestones')
    expect((await rest(users.bob, 'GET', `${PATH}/${id}`)).status).toBe(404)
    expect((await rest(users.bob, 'DELETE', `${PATH}/${id}`)).status).toBe(404)
  })

  it.each([
    [{}, 'title is missing or not allowed'],
    [{ title: 'x'.repeat(256) }, 'title is longer than 255 characters'],
    [
      { title: 'x', description: 'x'.repeat(65_537) },
      'description is longer than 65536 characters',
    ],
    [{ title: 'x', due_on: 'tomorrow' }, 'due_on'],
  ])('is not created from a body like %j', async (body, message) => {
    const refused = await rest(users.bob, 'POST', PATH, body)
    expect(refused.status).toBe(422)
    expect(refused.body.message).toContain(message)
  })
})

describe('milestones', () => {
  beforeAll(async () => {
    const path = '/repos/bob/list/milestones'
    await make({ title: 'someday' }, path)
    await make({ title: 'late', due_on: '2026-09-01T00:00:00Z' }, path)
    await make({ title: 'beta', due_on: '2026-07-01T00:00:00Z' }, path)
    await make({ title: 'Alpha', due_on: '2026-07-01T00:00:00Z' }, path)
    await make({ title: 'done', due_on: '2026-01-01T00:00:00Z', state: 'closed' }, path)
    await make({ title: 'eventually' }, path)
  })

  it.each([
    ['', ['Alpha', 'beta', 'late', 'eventually', 'someday']],
    ['?state=open', ['Alpha', 'beta', 'late', 'eventually', 'someday']],
    ['?state=closed', ['done']],
    ['?state=all', ['done', 'Alpha', 'beta', 'late', 'eventually', 'someday']],
    ['?state=nonsense', ['Alpha', 'beta', 'late', 'eventually', 'someday']],
    ['?name=ALPH', ['Alpha']],
    ['?name=e&state=all', ['done', 'beta', 'late', 'eventually', 'someday']],
    ['?name=%25', []],
    ['?state=all&limit=4&page=2', ['eventually', 'someday']],
  ])('are listed with %j', async (query, expected) => {
    expect(await titles(query)).toEqual(expected)
  })

  it('have a total that does not depend on the page', async () => {
    const page = await rest(undefined, 'GET', '/repos/bob/list/milestones?state=all&limit=2')
    expect([page.headers.get('x-total-count'), page.body.length]).toEqual(['6', 2])
    expect(page.headers.get('link')).toContain('rel="next"')
  })

  it.each<[caller: string, repository: string, read: number, write: number]>([
    ['nobody', 'engine', 200, 401],
    ['carol', 'engine', 200, 403],
    ['nobody', 'secret', 404, 401],
    ['carol', 'secret', 404, 404],
    ['ada', 'secret', 200, 201],
    ['read:issue', 'secret', 200, 403],
    ['write:issue', 'secret', 200, 201],
    ['write:repository', 'secret', 403, 403],
    ['public-only', 'secret', 404, 404],
    ['bob', 'archived', 200, 423],
    ['carol', 'archived', 200, 403],
  ])('to %s, of %s', async (caller, repository, read, write) => {
    if (repository === 'archived') {
      await rest(users.bob, 'POST', '/user/repos', { name: 'archived' })
      await rest(users.bob, 'PATCH', '/repos/bob/archived', { archived: true })
    }
    const who = await callerNamed(server.url, users, caller)
    const path = `/repos/bob/${repository}/milestones`
    expect((await rest(who, 'GET', path)).status).toBe(read)
    expect((await rest(who, 'POST', path, { title: 'v1' })).status).toBe(write)
    if (write !== 201) expect((await rest(who, 'POST', path, {})).status).toBe(write)
    if (write !== 201) expect((await rest(who, 'PATCH', `${path}/0`, {})).status).toBe(write)
    if (write !== 201) expect((await rest(who, 'DELETE', `${path}/0`)).status).toBe(write)
  })

  it('are the same over gRPC, with reasons', async () => {
    const milestones = forge.grpc(MilestoneService, users.bob)
    const home = { owner: 'bob', repo: 'engine' }
    const made = await milestones.createMilestone({
      ...home,
      title: 'by gRPC',
      dueOn: { seconds: 1_800_000_000n },
    })
    expect(await milestones.getMilestone({ ...home, id: 'by gRPC' })).toEqual(made)
    const closed = await milestones.editMilestone({ ...home, id: String(made.id), state: 'closed' })
    expect(closed).toMatchObject({ state: 'closed', dueOn: { seconds: 1_800_000_000n } })
    const listed = await milestones.listMilestones({ ...home, state: 'closed', name: 'GRPC' })
    expect(listed).toMatchObject({ milestones: [closed], total: 1n, limit: 30 })
    await milestones.deleteMilestone({ ...home, id: String(made.id) })
    const missing = milestones.getMilestone({ ...home, id: 'by gRPC' })
    expect(await refusalOf(missing)).toMatchObject({
      code: 'NotFound',
      reason: 'MILESTONE_NOT_FOUND',
    })
  })
})
