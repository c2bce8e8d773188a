import { rm } from 'node:fs/promises'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import { callerNamed } from '../../support/callers.ts'
import { refusalOf } from '../../support/forge.ts'
import { restAt, type SendRest } from '../../support/rest.ts'
import {
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let users: TestUsers
let rest: SendRest

beforeAll(async () => {
  server = await startTestServer()
  users = await createTestUsers(server.url)
  rest = restAt(server.url)
  await rest(users.bob, 'POST', '/user/repos', { name: 'engine' })
  await rest(users.bob, 'POST', '/user/repos', { name: 'secret', private: true })
})
afterAll(async () => {
  await server.stop()
  // The server has been restarted on its data.
  await rm(server.data, { recursive: true, force: true })
})

const BUG = { name: 'bug', color: '#ee0701', description: 'broken' }

/** Creates a label and returns its id. */
async function makeLabel(path: string, fields: object = {}): Promise<number> {
  const { status, body } = await rest(users.bob, 'POST', path, { ...BUG, ...fields })
  expect(status).toBe(201)
  return body.id
}

describe('a label', () => {
  it('is created, read, edited and deleted', async () => {
    const made = await rest(users.bob, 'POST', '/repos/bob/engine/labels', {
      ...BUG,
      exclusive: true,
      is_archived: true,
    })
    expect(made.status).toBe(201)
    const { id } = made.body
    const url = `${server.url}/api/v1/repos/bob/engine/labels/${id}`
    const label = { id, url, ...BUG, color: 'ee0701', exclusive: true, is_archived: true }
    expect(made.body).toEqual(label)
    expect((await rest(undefined, 'GET', `/repos/BOB/Engine/labels/${id}`)).body).toEqual(label)
    const edit = {
      name: 'kind/bug',
      color: 'abc',
      description: '',
      exclusive: false,
      is_archived: false,
    }
    const edited = await rest(users.bob, 'PATCH', `/repos/bob/engine/labels/${id}`, edit)
    expect([edited.status, edited.body]).toEqual([200, { id, url, ...edit, color: 'aabbcc' }])
    expect((await rest(users.bob, 'DELETE', `/repos/bob/engine/labels/${id}`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `/repos/bob/engine/labels/${id}`)).status).toBe(404)
    expect(await makeLabel('/repos/bob/engine/labels')).toBeGreaterThan(id)
  })

  it('keeps fields that an edit leaves out or sends as null, as Go clients do', async () => {
    const id = await makeLabel('/repos/bob/engine/labels', { exclusive: true })
    const path = `/repos/bob/engine/labels/${id}`
    const before = (await rest(users.bob, 'GET', path)).body
    const nothing = {
      name: null,
      color: null,
      description: null,
      exclusive: null,
      is_archived: null,
    }
    for (const edit of [nothing, {}, { name: '', color: '' }]) {
      expect((await rest(users.bob, 'PATCH', path, edit)).body).toEqual(before)
    }
  })

  it.each([
    ['#00aabb', '00aabb'],
    ['00AABB', '00aabb'],
    ['#0aB', '00aabb'],
    ['0ab', '00aabb'],
    [' #00aabb ', '00aabb'],
  ])('with the color %j has the color %j', async (color, expected) => {
    const made = await rest(users.bob, 'POST', '/repos/bob/engine/labels', { name: 'x', color })
    expect([made.status, made.body.color]).toEqual([201, expected])
  })

  it.each([
    [{ name: 'x' }, 'bad color code: '],
    [{ name: 'x', color: '' }, 'bad color code: '],
    [{ name: 'x', color: 'red' }, 'bad color code: red'],
    [{ name: 'x', color: '#abcd' }, 'bad color code: #abcd'],
    [{ name: 'x', color: '##abc' }, 'bad color code: ##abc'],
    [{ name: 'x', color: 'abc#' }, 'bad color code: abc#'],
    [{ name: 'x', color: 'g'.repeat(100) }, `bad color code: ${'g'.repeat(32)}`],
    [{ color: 'abc' }, 'name is missing or not allowed'],
    [{ name: 'x'.repeat(256), color: 'abc' }, 'name is longer than 255 characters'],
    [
      { name: 'x', color: 'abc', description: 'x'.repeat(1025) },
      'description is longer than 1024 characters',
    ],
  ])('is not created from %j', async (body, message) => {
    const refused = await rest(users.bob, 'POST', '/repos/bob/engine/labels', body)
    expect([refused.status, refused.body]).toEqual([422, { message, url: '/openapi.json' }])
  })

  it('is edited completely or not at all', async () => {
    const id = await makeLabel('/repos/bob/engine/labels')
    const refused = await rest(users.bob, 'PATCH', `/repos/bob/engine/labels/${id}`, {
      name: 'other',
      color: 'red',
    })
    expect(refused.status).toBe(422)
    expect((await rest(users.bob, 'GET', `/repos/bob/engine/labels/${id}`)).body.name).toBe('bug')
  })

  it.each(['0', 'bug', '-1', '99999999999999999999', '1.5'])(
    'of the number %j is none',
    async (id) => {
      for (const method of ['GET', 'DELETE']) {
        const { status, body } = await rest(users.bob, method, `/repos/bob/engine/labels/${id}`)
        expect([status, body.message]).toEqual([404, 'not found'])
      }
      // The id in the path counts.
      const known = await makeLabel('/repos/bob/engine/labels')
      expect(
        (await rest(users.bob, 'PATCH', `/repos/bob/engine/labels/${id}`, { id: known, name: 'x' }))
          .status,
      ).toBe(404)
    },
  )

  it('of another repository is not found', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'other' })
    const id = await makeLabel('/repos/bob/other/labels')
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { name: 'x' } : undefined
      expect((await rest(users.bob, method, `/repos/bob/engine/labels/${id}`, body)).status).toBe(
        404,
      )
    }
    expect((await rest(users.bob, 'GET', `/repos/bob/other/labels/${id}`)).body.name).toBe('bug')
  })

  it('survives a restart', async () => {
    const id = await makeLabel('/repos/bob/engine/labels')
    await server.close(0)
    server = await startTestServer({ data: server.data })
    rest = restAt(server.url)
    expect((await rest(users.bob, 'GET', `/repos/bob/engine/labels/${id}`)).body.name).toBe('bug')
  })
})

describe('labels of a repository', () => {
  it('are listed by name, in pages', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'many' })
    for (const name of ['b', 'c', 'a', 'b']) await makeLabel('/repos/bob/many/labels', { name })
    const all = await rest(undefined, 'GET', '/repos/bob/many/labels')
    expect(all.body.map(({ name }: { name: string }) => name)).toEqual(['a', 'b', 'b', 'c'])
    expect([all.headers.get('x-total-count'), all.headers.get('link')]).toEqual(['4', null])
    const page = await rest(undefined, 'GET', '/repos/bob/many/labels?limit=3&page=2')
    expect(page.body.map(({ name }: { name: string }) => name)).toEqual(['c'])
    expect(page.headers.get('link')).toContain('rel="prev"')
    expect((await rest(undefined, 'GET', '/repos/bob/many/labels?page=9')).body).toEqual([])
  })

  it.each<[caller: string, repository: string, read: number, write: number]>([
    ['nobody', 'engine', 200, 401],
    ['carol', 'engine', 200, 403],
    ['bob', 'engine', 200, 201],
    ['ada', 'engine', 200, 201],
    ['nobody', 'secret', 404, 401],
    ['carol', 'secret', 404, 404],
    ['ada', 'secret', 200, 201],
    ['read:issue', 'secret', 200, 403],
    ['write:issue', 'secret', 200, 201],
    // Labels are of the category of issues.
    ['write:repository', 'secret', 403, 403],
    ['public-only', 'engine', 200, 201],
    ['public-only', 'secret', 404, 404],
    ['bob', 'missing', 404, 404],
    ['bob', 'archived', 200, 423],
    // Callers without write access do not learn about the archive.
    ['carol', 'archived', 200, 403],
  ])('to %s, of %s', async (caller, repository, read, write) => {
    if (repository === 'archived') {
      await rest(users.bob, 'POST', '/user/repos', { name: 'archived' })
      await rest(users.bob, 'PATCH', '/repos/bob/archived', { archived: true })
    }
    const who = await callerNamed(server.url, users, caller)
    const path = `/repos/bob/${repository}/labels`
    expect((await rest(who, 'GET', path)).status).toBe(read)
    expect((await rest(who, 'POST', path, BUG)).status).toBe(write)
    // Access is checked before the body.
    if (write !== 201) expect((await rest(who, 'POST', path, {})).status).toBe(write)
    if (write !== 201) expect((await rest(who, 'PATCH', `${path}/0`, {})).status).toBe(write)
    if (write !== 201) expect((await rest(who, 'DELETE', `${path}/0`)).status).toBe(write)
  })

  it.each([
    ['read', 200, 403],
    ['write', 200, 201],
  ])('to a collaborator who may %s', async (permission, read, write) => {
    await rest(users.bob, 'POST', '/user/repos', { name: `with-${permission}`, private: true })
    await rest(users.bob, 'PUT', `/repos/bob/with-${permission}/collaborators/carol`, {
      permission,
    })
    const path = `/repos/bob/with-${permission}/labels`
    expect((await rest(users.carol, 'GET', path)).status).toBe(read)
    expect((await rest(users.carol, 'POST', path, BUG)).status).toBe(write)
  })

  it('exist while issues or pull requests are enabled', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'switched' })
    for (const [has_issues, has_pull_requests, read, write] of [
      [false, true, 200, 201],
      [true, false, 200, 201],
      [false, false, 404, 404],
    ] as const) {
      await rest(users.bob, 'PATCH', '/repos/bob/switched', { has_issues, has_pull_requests })
      expect((await rest(undefined, 'GET', '/repos/bob/switched/labels')).status).toBe(read)
      expect((await rest(users.bob, 'POST', '/repos/bob/switched/labels', BUG)).status).toBe(write)
    }
  })

  it.each([
    ['repo.issues', 'read', 200, 403],
    ['repo.pulls', 'write', 200, 201],
    ['repo.code', 'write', 404, 404],
  ])('to a team that may %s: %s', async (unit, level, read, write) => {
    const org = `team-${unit.slice(5)}`
    await rest(users.bob, 'POST', '/orgs', { username: org })
    await rest(users.bob, 'POST', `/orgs/${org}/repos`, { name: 'engine', private: true })
    const team = {
      name: 'crew',
      permission: 'read',
      units_map: { [unit]: level },
      includes_all_repositories: true,
    }
    const { id } = (await rest(users.bob, 'POST', `/orgs/${org}/teams`, team)).body
    expect((await rest(users.bob, 'PUT', `/teams/${id}/members/carol`)).status).toBe(204)
    expect((await rest(users.carol, 'GET', `/repos/${org}/engine/labels`)).status).toBe(read)
    expect((await rest(users.carol, 'POST', `/repos/${org}/engine/labels`, BUG)).status).toBe(write)
  })
})

describe('labels of an organisation', () => {
  beforeAll(async () => {
    await rest(users.bob, 'POST', '/orgs', { username: 'acme' })
    await rest(users.bob, 'POST', '/orgs', { username: 'hidden', visibility: 'private' })
  })

  it('are created, read, edited and deleted', async () => {
    const id = await makeLabel('/orgs/acme/labels')
    const url = `${server.url}/api/v1/orgs/acme/labels/${id}`
    const label = { id, url, ...BUG, color: 'ee0701', exclusive: false, is_archived: false }
    expect((await rest(undefined, 'GET', `/orgs/ACME/labels/${id}`)).body).toEqual(label)
    const list = await rest(undefined, 'GET', '/orgs/acme/labels')
    expect([list.body, list.headers.get('x-total-count')]).toEqual([[label], '1'])
    const edited = await rest(users.bob, 'PATCH', `/orgs/acme/labels/${id}`, { is_archived: true })
    expect(edited.body).toEqual({ ...label, is_archived: true })
    // It is no label of a repository or another organisation.
    await rest(users.bob, 'POST', '/orgs/acme/repos', { name: 'engine' })
    expect((await rest(users.bob, 'GET', `/repos/acme/engine/labels/${id}`)).status).toBe(404)
    expect((await rest(users.bob, 'GET', `/orgs/hidden/labels/${id}`)).status).toBe(404)
    expect((await rest(users.bob, 'DELETE', `/orgs/acme/labels/${id}`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `/orgs/acme/labels/${id}`)).status).toBe(404)
  })

  it.each<[caller: string, org: string, read: number, write: number]>([
    ['nobody', 'acme', 200, 401],
    ['carol', 'acme', 200, 403],
    ['nobody', 'hidden', 404, 401],
    ['carol', 'hidden', 404, 404],
    ['ada', 'hidden', 200, 201],
    ['bob', 'hidden', 200, 201],
    ['bob', 'nothing', 404, 404],
    ['read:organization', 'hidden', 200, 403],
    ['write:organization', 'hidden', 200, 201],
    ['write:issue', 'acme', 403, 403],
    ['public-only', 'hidden', 404, 404],
  ])('to %s, of %s', async (caller, org, read, write) => {
    const who = await callerNamed(server.url, users, caller)
    expect((await rest(who, 'GET', `/orgs/${org}/labels`)).status).toBe(read)
    expect((await rest(who, 'POST', `/orgs/${org}/labels`, BUG)).status).toBe(write)
    if (write !== 201)
      expect((await rest(who, 'DELETE', `/orgs/${org}/labels/0`)).status).toBe(write)
  })

  it('are readable by a member who is no owner', async () => {
    const team = { name: 'crew', permission: 'write', units: ['repo.issues'] }
    const { id } = (await rest(users.bob, 'POST', '/orgs/hidden/teams', team)).body
    await rest(users.bob, 'PUT', `/teams/${id}/members/carol`)
    expect((await rest(users.carol, 'GET', '/orgs/hidden/labels')).status).toBe(200)
    expect((await rest(users.carol, 'POST', '/orgs/hidden/labels', BUG)).status).toBe(403)
    await rest(users.bob, 'DELETE', `/teams/${id}/members/carol`)
  })
})

describe('LabelService', () => {
  it('does the same over gRPC, with reasons', async () => {
    const labels = createClient(
      LabelService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    const home = { owner: 'bob', repo: 'engine' }
    const made = await labels.createRepositoryLabel({ ...home, name: 'grpc', color: '#abc' })
    expect(await labels.getRepositoryLabel({ ...home, id: made.id })).toEqual(made)
    const edited = await labels.editRepositoryLabel({
      ...home,
      id: made.id,
      description: 'by gRPC',
    })
    expect(edited).toMatchObject({ name: 'grpc', color: 'aabbcc', description: 'by gRPC' })
    const bad = labels.createRepositoryLabel({ ...home, name: 'x', color: 'red' })
    expect(await refusalOf(bad)).toMatchObject({
      code: 'InvalidArgument',
      reason: 'INVALID_LABEL_COLOR',
      metadata: { color: 'red' },
    })
    await labels.deleteRepositoryLabel({ ...home, id: made.id })
    const missing = labels.getRepositoryLabel({ ...home, id: made.id })
    expect(await refusalOf(missing)).toMatchObject({
      code: 'NotFound',
      reason: 'LABEL_NOT_FOUND',
      metadata: {},
    })
  })
})
