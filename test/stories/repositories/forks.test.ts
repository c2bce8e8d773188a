import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ForkService } from '#gen/branchline/v1/fork_service_pb.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { callerNamed } from '../../support/callers.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { execFileSync } from '../../support/programs.ts'
import { restAt } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  createToken,
  PASSWORD,
  startTestServer,
} from '../../support/server.ts'

const forge = await openForge()
const { server, users, rest, ask, client } = forge
beforeAll(async () => {
  await ask(users.carol, 'POST', '/orgs', { username: 'acme' })
})

/** Makes a repository of bob with a first commit. */
async function make(name: string, settings: object = {}): Promise<void> {
  const { status } = await rest(users.bob, 'POST', '/user/repos', {
    name,
    auto_init: true,
    ...settings,
  })
  expect(status).toBe(201)
}

const fork = (who: Actor | undefined, path: string, body: object = {}) =>
  rest(who, 'POST', `/repos/${path}/forks`, body)

const namesOf = (list: { full_name: string }[]) => list.map(({ full_name }) => full_name)

function fsck(id: number): void {
  execFileSync('git', ['-C', repositoryPath(server.app.git, id), 'fsck', '--full', '--strict'])
}

describe('a fork', () => {
  it('is complete when the call returns, and independent from then on', async () => {
    await make('engine', { description: 'turns', default_branch: 'trunk' })
    const made = await fork(users.carol, 'Bob/Engine')
    expect(made.status).toBe(202)
    expect(made.body).toMatchObject({
      full_name: 'carol/engine',
      description: 'turns',
      fork: true,
      empty: false,
      private: false,
      mirror: false,
      default_branch: 'trunk',
      branch_count: 1,
      permissions: { admin: true, push: true, pull: true },
      parent: { full_name: 'bob/engine', forks_count: 1 },
    })
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'carol/engine', 'carol', PASSWORD),
      'fork',
    )
    expect(await client.git('fork', 'branch', '--show-current')).toBe('trunk')
    await client.commit('fork', 'mine')
    await client.git(
      'fork',
      'push',
      '-q',
      'origin',
      'trunk',
      'trunk:refs/heads/next',
      'trunk:refs/tags/v1',
    )
    expect((await rest(undefined, 'GET', '/repos/carol/engine')).body.branch_count).toBe(2)
    expect((await rest(undefined, 'GET', '/repos/bob/engine')).body).toMatchObject({
      branch_count: 1,
      forks_count: 1,
    })
    // A fork of a fork, with its tags.
    const second = await fork(users.carol, 'carol/engine', { organization: 'acme', name: 'motor' })
    expect(second.body).toMatchObject({
      full_name: 'acme/motor',
      owner: { login: 'acme' },
      parent: { full_name: 'carol/engine' },
    })
    expect(second.body.parent).not.toHaveProperty('parent')
    expect(await client.git('.', 'ls-remote', remoteOf(server.url, 'acme/motor'))).toContain(
      'refs/tags/v1',
    )
    fsck(made.body.id)
    fsck(second.body.id)
  })

  it('remains without a parent when the parent is deleted', async () => {
    await make('mortal')
    const { body } = await fork(users.carol, 'bob/mortal')
    expect((await rest(users.bob, 'DELETE', '/repos/bob/mortal')).status).toBe(204)
    const orphan = await rest(undefined, 'GET', '/repos/carol/mortal')
    expect(orphan.body).toMatchObject({ fork: false, empty: false })
    expect(orphan.body).not.toHaveProperty('parent')
    await client.git('.', 'clone', '-q', remoteOf(server.url, 'carol/mortal'), 'orphan')
    fsck(body.id)
  })

  it('of an empty repository is empty', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'void' })
    expect((await fork(users.carol, 'bob/void')).body).toMatchObject({
      full_name: 'carol/void',
      empty: true,
    })
  })

  it('of an archived repository is not archived', async () => {
    await make('relic')
    await rest(users.bob, 'PATCH', '/repos/bob/relic', { archived: true })
    expect((await fork(users.carol, 'bob/relic')).body).toMatchObject({
      archived: false,
      fork: true,
    })
  })

  it('is created once by concurrent requests', async () => {
    await make('wanted')
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => fork(users.carol, 'bob/wanted', { name: `wanted-${n}` })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409])
    const forks = await rest(undefined, 'GET', '/repos/bob/wanted/forks')
    expect(forks.body).toHaveLength(1)
    const refused = answers.find(({ status }) => status === 409)
    expect(refused?.body.message).toBe('carol already owns this repository or a fork of it')
  })

  it('is hidden from users without access', async () => {
    await make('sought')
    await rest(users.bob, 'POST', '/orgs', { username: 'gears' })
    const units = { units: ['repo.issues'], can_create_org_repo: true }
    const makers = await rest(users.bob, 'POST', '/orgs/gears/teams', { name: 'makers', ...units })
    await rest(users.bob, 'PUT', `/teams/${makers.body.id}/members/carol`)
    await fork(users.bob, 'bob/sought', { organization: 'gears', name: 'plan-x' })
    await rest(users.bob, 'PATCH', '/repos/gears/plan-x', { private: true })
    const refused = await fork(users.carol, 'bob/sought', { organization: 'gears' })
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'gears already owns this repository or a fork of it',
    ])
  })

  it.each<[what: string, who: () => Actor | undefined, path: string, body: object, status: number]>(
    [
      ['nobody may', () => undefined, 'bob/guarded', {}, 401],
      ['its owner has it already', () => users.bob, 'bob/guarded', { name: 'again' }, 409],
      ['another repository has the name', () => users.carol, 'bob/guarded', { name: 'taken' }, 409],
      ['nothing can have that name', () => users.carol, 'bob/guarded', { name: '../x' }, 422],
      [
        'the organisation is none',
        () => users.carol,
        'bob/guarded',
        { organization: 'nobody' },
        404,
      ],
      [
        'the organisation lets others do it',
        () => users.bob,
        'carol/taken',
        { organization: 'acme' },
        403,
      ],
      ['there is no such repository', () => users.carol, 'bob/nothing', {}, 404],
      ['it is a secret', () => users.carol, 'bob/hidden', {}, 404],
    ],
  )('is not made when %s', async (_, who, path, body, status) => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'guarded' })
    await rest(users.bob, 'POST', '/user/repos', { name: 'hidden', private: true })
    await rest(users.carol, 'POST', '/user/repos', { name: 'taken' })
    expect((await fork(who(), path, body)).status).toBe(status)
  })

  it('is refused to a blocked user and to a token without write scope', async () => {
    await make('walled')
    await rest(users.bob, 'PUT', '/user/blocks/carol')
    expect((await fork(users.carol, 'bob/walled')).status).toBe(403)
    await rest(users.bob, 'DELETE', '/user/blocks/carol')
    const token = await createToken(server.url, users.carol, ['read:repository'])
    expect(
      (await fork({ username: 'carol', authorization: `token ${token}` }, 'bob/walled')).status,
    ).toBe(403)
    expect((await fork(users.carol, 'bob/walled')).status).toBe(202)
  })

  it('is created and listed over gRPC', async () => {
    await make('spoken')
    const forks = forge.grpc(ForkService, users.carol)
    const made = await forks.createFork({ owner: 'bob', repo: 'spoken' })
    expect([made.fullName, made.parent?.fullName]).toEqual(['carol/spoken', 'bob/spoken'])
    expect(await forks.listForks({ owner: 'bob', repo: 'spoken' })).toMatchObject({
      total: 1n,
      limit: 30,
    })
  })
})

describe('a fork of a private repository', () => {
  it('is private, as long as its parent is', async () => {
    await make('secret', { private: true })
    await rest(users.bob, 'PUT', '/repos/bob/secret/collaborators/carol', { permission: 'read' })
    expect((await fork(users.carol, 'bob/secret')).body).toMatchObject({
      private: true,
      full_name: 'carol/secret',
    })
    const opened = await rest(users.carol, 'PATCH', '/repos/carol/secret', { private: false })
    expect([opened.status, opened.body.message]).toEqual([
      422,
      'a fork of a private repository must be private',
    ])
    await rest(users.bob, 'PATCH', '/repos/bob/secret', { private: false })
    expect(
      (await rest(users.carol, 'PATCH', '/repos/carol/secret', { private: false })).status,
    ).toBe(200)
  })

  it('hides its parent from users without access to it', async () => {
    await make('inner', { private: true })
    await rest(users.bob, 'PUT', '/repos/bob/inner/collaborators/carol', { permission: 'read' })
    await fork(users.carol, 'bob/inner')
    await rest(users.bob, 'DELETE', '/repos/bob/inner/collaborators/carol')
    const left = await rest(users.carol, 'GET', '/repos/carol/inner')
    expect(left.body).toMatchObject({ fork: true, private: true })
    expect(JSON.stringify(left.body)).not.toContain('bob')
    expect((await rest(users.ada, 'GET', '/repos/carol/inner')).body.parent).toMatchObject({
      full_name: 'bob/inner',
    })
  })
})

describe('the forks of a repository', () => {
  it('are those that the caller can read, oldest first, in pages', async () => {
    await make('popular')
    await rest(users.ada, 'POST', '/orgs', { username: 'tools' })
    await fork(users.carol, 'bob/popular')
    await fork(users.ada, 'bob/popular', { organization: 'tools' })
    await fork(users.carol, 'bob/popular', { organization: 'acme' })
    await rest(users.carol, 'PATCH', '/repos/acme/popular', { private: true })
    const list = (who: Actor | undefined, query = '') =>
      rest(who, 'GET', `/repos/bob/popular/forks${query}`)
    expect(namesOf((await list(undefined)).body)).toEqual(['carol/popular', 'tools/popular'])
    expect(namesOf((await list(users.carol)).body)).toEqual([
      'carol/popular',
      'tools/popular',
      'acme/popular',
    ])
    const page = await list(users.carol, '?limit=1&page=2')
    expect(namesOf(page.body)).toEqual(['tools/popular'])
    expect([page.headers.get('x-total-count'), page.headers.get('link')]).toEqual([
      '3',
      expect.stringContaining('page=3'),
    ])
    await rest(users.bob, 'PATCH', '/repos/bob/popular', { private: true })
    expect((await list(users.carol)).status).toBe(404)
  })
})

describe('permissions', () => {
  it.each([
    ['nobody', 'engine', 401, 200],
    ['carol', 'engine', 202, 200],
    ['carol', 'secret', 404, 404],
    ['public-only', 'secret', 404, 404],
    ['read:repository', 'secret', 403, 200],
    ['write:repository', 'secret', 409, 200],
    ['read:user', 'engine', 403, 403],
  ])(
    'of %s to fork bob/%s and to list its forks: %i, %i',
    async (name, repository, forks, lists) => {
      // Made by the first row of each.
      const settings = {
        name: `matrix-${repository}`,
        auto_init: true,
        private: repository === 'secret',
      }
      await rest(users.bob, 'POST', '/user/repos', settings)
      const caller = await callerNamed(server.url, users, name)
      const path = `/repos/bob/matrix-${repository}/forks`
      expect([
        (await rest(caller, 'POST', path, {})).status,
        (await rest(caller, 'GET', path)).status,
      ]).toEqual([forks, lists])
    },
  )
})

describe('a crash', () => {
  it('before the folder of a fork exists leaves no fork, and the next attempt succeeds', async () => {
    const data = await mkdtemp(join(tmpdir(), 'branchline-fork-'))
    const first = await startTestServer({ data })
    const people = await createTestUsers(first.url)
    await restAt(first.url)(people.bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
    const made = await restAt(first.url)(people.carol, 'POST', '/repos/bob/engine/forks', {})
    // As if the process had been killed between the row and the folder.
    const { db, git } = first.app
    const { id } = made.body
    await db.deleteFrom('branches').where('repository_id', '=', id).execute()
    await rm(repositoryPath(git, id), { recursive: true })
    // On PostgreSQL, a worker of the server may look at the rest of the fork at once.
    await db
      .insertInto('pending_ref_updates')
      .values({ repository_id: id, create_time: 0 })
      .execute()
    await first.close(0)
    const second = await startTestServer({ data })
    const again = restAt(second.url)
    expect((await again(people.carol, 'GET', '/repos/carol/engine')).status).toBe(404)
    expect((await again(people.carol, 'POST', '/repos/bob/engine/forks', {})).status).toBe(202)
    expect((await again(undefined, 'GET', '/repos/bob/engine')).body.forks_count).toBe(1)
    await second.close(0)
    await rm(data, { recursive: true })
  })

  it('or a long pause that lets others take over leaves no folder of a new repository', async () => {
    await make('paused')
    const { coordination, db, git } = server.app
    const lost = vi.spyOn(coordination, 'lease').mockResolvedValue({
      check() {
        throw new Error('the lock was lost')
      },
    })
    onTestFinished(() => lost.mockRestore())
    const all = db.selectFrom('repositories').select('id').orderBy('id')
    const before = await all.execute()
    const last = before.at(-1)?.id ?? 0
    const names = { name: 'later' }
    for (const attempt of [
      () => fork(users.carol, 'bob/paused'),
      () => rest(users.bob, 'POST', '/user/repos', names),
      () => rest(users.bob, 'POST', '/user/repos', { ...names, auto_init: true }),
    ])
      expect((await attempt()).status).toBe(500)
    expect(await all.execute()).toEqual(before)
    for (const id of [1, 2, 3].map((step) => last + step))
      expect(existsSync(repositoryPath(git, id))).toBe(false)
    expect(server.app.runningUpdates.size).toBe(0)
  })
})
