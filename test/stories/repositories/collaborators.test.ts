import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import { restAt } from '../../support/rest.ts'
import { type Actor, createToken, transportTo } from '../../support/server.ts'

const { server, users } = await openForge()

/** Sends a REST request as a user, with a token or anonymously. */
async function rest(who: Actor | string | undefined, method: string, path: string, body?: object) {
  const actor = typeof who === 'string' ? { authorization: `token ${who}` } : who
  const answer = await restAt(server.url)(actor, method, path, body)
  return { ...answer, message: answer.body.message }
}

const statusOf = async (...request: Parameters<typeof rest>) => (await rest(...request)).status

/** Creates a repository of bob. */
async function repository(name: string, settings: object = {}): Promise<string> {
  expect(await statusOf(users.bob, 'POST', '/user/repos', { name, ...settings })).toBe(201)
  return `/repos/bob/${name}`
}

describe('a collaborator', () => {
  it('can write by default, and gets another permission by being added again', async () => {
    const path = await repository('shared', { private: true })
    const carol = `${path}/collaborators/carol`
    expect(await statusOf(users.carol, 'GET', path)).toBe(404)
    expect(await statusOf(users.bob, 'GET', carol)).toBe(404)
    expect(await statusOf(users.bob, 'PUT', carol)).toBe(204)
    expect(await statusOf(users.bob, 'GET', carol)).toBe(204)
    expect((await rest(users.carol, 'GET', path)).body.permissions).toEqual({
      admin: false,
      push: true,
      pull: true,
    })
    expect(await statusOf(users.bob, 'PUT', carol, { permission: 'read' })).toBe(204)
    expect((await rest(users.carol, 'GET', path)).body.permissions).toEqual({
      admin: false,
      push: false,
      pull: true,
    })
    expect((await rest(users.carol, 'PATCH', path, { description: 'mine' })).message).toBe(
      'user should be an owner or a collaborator with admin write of a repository',
    )
    expect(await statusOf(users.bob, 'PUT', carol, { permission: 'admin' })).toBe(204)
    expect(await statusOf(users.carol, 'PATCH', path, { description: 'ours' })).toBe(200)
    expect((await rest(users.carol, 'DELETE', path)).message).toBe(
      'user should be the owner of the repo',
    )
    expect(await statusOf(users.bob, 'DELETE', carol)).toBe(204)
    expect(await statusOf(users.carol, 'GET', path)).toBe(404)
    // There is no collaborator to remove.
    expect(await statusOf(users.bob, 'DELETE', carol)).toBe(204)
  })

  it('is listed, with pages', async () => {
    const path = await repository('listed')
    for (const name of ['ada', 'carol', 'dan'])
      await rest(users.bob, 'PUT', `${path}/collaborators/${name}`)
    const all = await rest(users.carol, 'GET', `${path}/collaborators`)
    expect(all.body.map(({ login }: { login: string }) => login)).toEqual(['ada', 'carol', 'dan'])
    expect(all.headers.get('x-total-count')).toBe('3')
    const page = await rest(users.carol, 'GET', `${path}/collaborators?page=2&limit=2`)
    expect(page.body.map(({ login }: { login: string }) => login)).toEqual(['dan'])
    expect(page.headers.get('link')).toContain('rel="prev"')
  })

  it('is visible to signed-in readers of the repository', async () => {
    const path = await repository('seen')
    expect(await statusOf(users.carol, 'GET', `${path}/collaborators`)).toBe(200)
    expect(await statusOf(undefined, 'GET', `${path}/collaborators`)).toBe(401)
    const hidden = await repository('unseen', { private: true })
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '/carol'],
      ['PUT', '/carol'],
      ['DELETE', '/carol'],
      ['GET', '/carol/permission'],
    ] as const) {
      const there = await statusOf(users.carol, method, `${hidden}/collaborators${rest}`)
      const missing = await statusOf(users.carol, method, `/repos/bob/nothing/collaborators${rest}`)
      expect([there, missing]).toEqual([404, 404])
    }
  })

  it.each([
    ['somebody who is not there', 'PUT', 'nobody', {}, 422, 'there is no user nobody'],
    ['somebody who is not there', 'GET', 'nobody', undefined, 422, 'there is no user nobody'],
    ['somebody who is not there', 'DELETE', 'nobody', undefined, 422, 'there is no user nobody'],
    ['the owner', 'PUT', 'bob', {}, 422, 'bob owns the repository'],
    [
      'a permission that there is not',
      'PUT',
      'carol',
      { permission: 'owner' },
      422,
      expect.stringContaining('"owner"'),
    ],
    [
      'a permission for nothing',
      'PUT',
      'carol',
      { permission: 'none' },
      422,
      expect.stringContaining('"none"'),
    ],
  ])('is not %s: %s', async (_, method, username, body, status, message) => {
    const path = `/repos/bob/refused/collaborators/${username}`
    await rest(users.bob, 'POST', '/user/repos', { name: 'refused' })
    expect(await rest(users.bob, method, path, body)).toMatchObject({ status, message })
    expect((await rest(users.bob, 'GET', '/repos/bob/refused/collaborators')).body).toEqual([])
  })

  it('is added by administrators of the repository, with a write token', async () => {
    const path = `${await repository('guarded')}/collaborators/dan`
    expect(await statusOf(undefined, 'PUT', path)).toBe(401)
    expect(await rest(users.carol, 'PUT', path)).toMatchObject({
      status: 403,
      message: 'user should be an owner or a collaborator with admin write of a repository',
    })
    expect(
      await statusOf(await createToken(server.url, users.bob, ['read:repository']), 'PUT', path),
    ).toBe(403)
    expect(
      await statusOf(await createToken(server.url, users.bob, ['write:user']), 'PUT', path),
    ).toBe(403)
    expect(
      await statusOf(await createToken(server.url, users.bob, ['write:repository']), 'PUT', path),
    ).toBe(204)
    expect(await statusOf(users.ada, 'DELETE', path)).toBe(204)
  })

  it('remains while the repository is archived', async () => {
    const path = await repository('kept')
    await rest(users.bob, 'PUT', `${path}/collaborators/carol`)
    await rest(users.bob, 'PATCH', path, { archived: true })
    const archived = { status: 423, message: 'repo is archived' }
    expect(await rest(users.bob, 'DELETE', `${path}/collaborators/carol`)).toMatchObject(archived)
    expect(await rest(users.bob, 'PUT', `${path}/collaborators/dan`)).toMatchObject(archived)
    expect(await statusOf(users.bob, 'GET', `${path}/collaborators/carol`)).toBe(204)
    // Callers without the right get that error first.
    expect(await statusOf(users.carol, 'DELETE', `${path}/collaborators/carol`)).toBe(403)
  })

  it('is a collaborator over gRPC too', async () => {
    await repository('remote')
    const client = createClient(
      CollaboratorService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    const name = { owner: 'bob', repo: 'remote', collaborator: 'carol' }
    await client.addCollaborator({ ...name, permission: 'admin' })
    const { collaborators, total } = await client.listCollaborators({
      owner: 'bob',
      repo: 'remote',
    })
    expect([collaborators.map(({ login }) => login), total]).toEqual([['carol'], 1n])
    expect(await client.getRepositoryPermission(name)).toMatchObject({
      permission: 'admin',
      user: { login: 'carol' },
    })
    await client.deleteCollaborator(name)
    await expect(client.checkCollaborator(name)).rejects.toMatchObject({ rawMessage: 'not found' })
  })
})

describe('the permission of a user', () => {
  it('is visible to the user and to administrators of the repository and the site', async () => {
    const path = await repository('asked')
    await rest(users.bob, 'PUT', `${path}/collaborators/carol`)
    const permission = (username: string) => `${path}/collaborators/${username}/permission`
    expect((await rest(users.carol, 'GET', permission('CAROL'))).body).toMatchObject({
      permission: 'write',
      role_name: 'write',
      user: { login: 'carol', email: 'carol@example.org' },
    })
    expect((await rest(users.bob, 'GET', permission('bob'))).body).toMatchObject({
      permission: 'owner',
    })
    expect((await rest(users.bob, 'GET', permission('ada'))).body).toMatchObject({
      permission: 'owner',
    })
    expect((await rest(users.ada, 'GET', permission('dan'))).body).toMatchObject({
      permission: 'read',
    })
    expect(await statusOf(users.carol, 'GET', permission('dan'))).toBe(403)
    // Strangers cannot find out which users exist.
    expect(await statusOf(users.carol, 'GET', permission('nobody'))).toBe(403)
    expect(await statusOf(users.bob, 'GET', permission('nobody'))).toBe(404)
    await rest(users.bob, 'PATCH', path, { private: true })
    expect((await rest(users.bob, 'GET', permission('dan'))).body).toMatchObject({
      permission: 'none',
    })
  })
})

describe('a blocked user', () => {
  it('is blocked until the block is removed', async () => {
    const block = '/user/blocks/carol'
    expect(await statusOf(users.bob, 'GET', block)).toBe(404)
    expect(await statusOf(users.bob, 'PUT', `${block}?note=spam`)).toBe(204)
    expect(await statusOf(users.bob, 'PUT', '/user/blocks/CAROL')).toBe(204)
    expect(await statusOf(users.bob, 'GET', block)).toBe(204)
    const list = await rest(users.bob, 'GET', '/user/blocks')
    expect(list.body).toMatchObject([{ login: 'carol' }])
    expect(list.headers.get('x-total-count')).toBe('1')
    // The block belongs to bob only.
    expect((await rest(users.carol, 'GET', '/user/blocks')).body).toEqual([])
    expect(await statusOf(users.bob, 'DELETE', block)).toBe(204)
    expect(await statusOf(users.bob, 'GET', block)).toBe(404)
    expect(await statusOf(users.bob, 'DELETE', block)).toBe(204)
  })

  it('can be blocked and listed as in older clients of Forgejo', async () => {
    const { id } = (await rest(users.carol, 'GET', '/user')).body
    expect(await statusOf(users.bob, 'POST', '/orgs', { username: 'walled' })).toBe(201)
    for (const base of ['/user', '/orgs/walled']) {
      const list = () => rest(users.bob, 'GET', `${base}/list_blocked`)
      expect((await list()).body).toEqual([])
      expect(await statusOf(users.bob, 'PUT', `${base}/block/carol`)).toBe(204)
      const { body, headers } = await list()
      expect(body).toEqual([{ block_id: id, created_at: expect.stringMatching(/^20\d\d-.*Z$/) }])
      expect(headers.get('x-total-count')).toBe('1')
      expect(await statusOf(users.bob, 'GET', `${base}/blocks/carol`)).toBe(204)
      expect(await statusOf(users.bob, 'PUT', `${base}/unblock/carol`)).toBe(204)
      expect(await statusOf(users.bob, 'PUT', `${base}/unblock/nobody`)).toBe(404)
      expect((await list()).body).toEqual([])
    }
    expect(await statusOf(undefined, 'GET', '/user/list_blocked')).toBe(401)
    expect(await statusOf(users.carol, 'GET', '/orgs/walled/list_blocked')).toBe(403)
  })

  it('loses the access that the other user granted, and vice versa, and gets no new access', async () => {
    const ofBob = await repository('blocked')
    expect(await statusOf(users.carol, 'POST', '/user/repos', { name: 'blocker' })).toBe(201)
    const ofCarol = '/repos/carol/blocker'
    await rest(users.bob, 'PUT', `${ofBob}/collaborators/carol`)
    await rest(users.bob, 'PUT', `${ofBob}/collaborators/dan`)
    await rest(users.carol, 'PUT', `${ofCarol}/collaborators/bob`)
    expect(await statusOf(users.bob, 'PUT', '/user/blocks/carol')).toBe(204)
    expect(await statusOf(users.bob, 'GET', `${ofBob}/collaborators/carol`)).toBe(404)
    expect(await statusOf(users.bob, 'GET', `${ofBob}/collaborators/dan`)).toBe(204)
    expect(await statusOf(users.carol, 'GET', `${ofCarol}/collaborators/bob`)).toBe(404)
    const blocked = { status: 403, message: 'user is blocked' }
    expect(await rest(users.bob, 'PUT', `${ofBob}/collaborators/carol`)).toMatchObject(blocked)
    expect(await rest(users.carol, 'PUT', `${ofCarol}/collaborators/bob`)).toMatchObject(blocked)
    // A blocked user can still read public repositories.
    expect(await statusOf(users.carol, 'GET', ofBob)).toBe(200)
    await rest(users.bob, 'DELETE', '/user/blocks/carol')
    expect(await statusOf(users.bob, 'PUT', `${ofBob}/collaborators/carol`)).toBe(204)
  })

  it.each([
    ['somebody who is not there', 'nobody', '', 404],
    ['oneself', 'bob', '', 400],
    ['with a long story', 'carol', `?note=${'x'.repeat(251)}`, 422],
  ])('is not %s', async (_, username, query, status) => {
    expect(await statusOf(users.bob, 'PUT', `/user/blocks/${username}${query}`)).toBe(status)
    expect((await rest(users.bob, 'GET', '/user/blocks')).body).toEqual([])
  })

  it('is hidden from tokens without the scope and from public-only tokens', async () => {
    const path = '/user/blocks/carol'
    expect(await statusOf(undefined, 'PUT', path)).toBe(401)
    expect(
      await statusOf(await createToken(server.url, users.bob, ['read:user']), 'PUT', path),
    ).toBe(403)
    expect(
      await statusOf(
        await createToken(server.url, users.bob, ['write:user', 'public-only']),
        'PUT',
        path,
      ),
    ).toBe(403)
    expect(
      await statusOf(
        await createToken(server.url, users.bob, ['write:repository']),
        'GET',
        '/user/blocks',
      ),
    ).toBe(403)
  })

  it('is blocked by an organisation through its owners, unless it is a member', async () => {
    expect(await statusOf(users.bob, 'POST', '/orgs', { username: 'acme' })).toBe(201)
    const block = '/orgs/acme/blocks/carol'
    expect(await statusOf(users.carol, 'PUT', block)).toBe(403)
    expect(await statusOf(users.bob, 'PUT', '/orgs/nothing/blocks/carol')).toBe(404)
    expect(await statusOf(users.bob, 'PUT', '/orgs/acme/blocks/bob')).toBe(400)
    expect(await statusOf(users.bob, 'PUT', block)).toBe(204)
    expect(await statusOf(users.bob, 'GET', block)).toBe(204)
    expect((await rest(users.bob, 'GET', '/orgs/acme/blocks')).body).toMatchObject([
      { login: 'carol' },
    ])
    expect(await statusOf(users.bob, 'DELETE', block)).toBe(204)
    expect(await statusOf(users.bob, 'GET', block)).toBe(404)
  })

  it('is blocked over gRPC too', async () => {
    const client = createClient(
      AccountService,
      transportTo(server.url, 'gRPC', users.ada.authorization),
    )
    await client.blockUser({ username: 'carol', note: 'noise' })
    expect((await client.listBlockedUsers({})).users.map(({ login }) => login)).toEqual(['carol'])
    await client.unblockUser({ username: 'carol' })
    await expect(client.checkBlockedUser({ username: 'carol' })).rejects.toMatchObject({
      rawMessage: 'not found',
    })
  })
})

describe('the users that clients offer', () => {
  const listed = async (who: Actor | undefined, path: string) =>
    (await rest(who, 'GET', path)).body.map(({ login }: { login: string }) => login)

  it('are writers as assignees, and readers as reviewers', async () => {
    const path = await repository('offered', { private: true })
    for (const [name, permission] of [
      ['rita', 'read'],
      ['will', 'write'],
    ]) {
      const account = {
        username: name,
        email: `${name}@example.org`,
        password: 'correct horse battery',
      }
      await rest(users.ada, 'POST', '/admin/users', { ...account, must_change_password: false })
      await rest(users.bob, 'PUT', `${path}/collaborators/${name}`, { permission })
    }
    expect(await listed(users.bob, `${path}/assignees`)).toEqual(['bob', 'will'])
    expect(await listed(users.bob, `${path}/reviewers`)).toEqual(['bob', 'rita', 'will'])
    expect(await statusOf(users.bob, 'GET', `${path}/assignees/rita`)).toBe(204)
    expect(await statusOf(users.bob, 'GET', `${path}/assignees/carol`)).toBe(404)
    expect(await statusOf(users.bob, 'GET', `${path}/assignees/nobody`)).toBe(422)
    for (const list of ['assignees', 'reviewers', 'assignees/bob']) {
      expect(await statusOf(users.carol, 'GET', `${path}/${list}`)).toBe(404)
    }
    // Archived users are not offered.
    await rest(users.ada, 'PATCH', '/admin/users/will', {
      active: false,
      login_name: 'will',
      source_id: 0,
    })
    expect(await listed(users.bob, `${path}/assignees`)).toEqual(['bob'])
  })

  it('are members of the teams with access, in an organisation', async () => {
    await rest(users.bob, 'POST', '/orgs', { username: 'offering' })
    await rest(users.bob, 'POST', '/orgs/offering/repos', { name: 'engine', private: true })
    const team = async (name: string, permission: string) =>
      (
        await rest(users.bob, 'POST', '/orgs/offering/teams', {
          name,
          permission,
          units: ['repo.code', 'repo.pulls'],
        })
      ).body.id
    const [writers, readers] = [await team('writers', 'write'), await team('readers', 'read')]
    for (const id of [writers, readers])
      await rest(users.bob, 'PUT', `/teams/${id}/repos/offering/engine`)
    await rest(users.bob, 'PUT', `/teams/${readers}/members/carol`)
    const path = '/repos/offering/engine'
    expect(await listed(users.carol, `${path}/assignees`)).toEqual(['bob'])
    expect(await listed(users.carol, `${path}/reviewers`)).toEqual(['bob', 'carol'])
    await rest(users.bob, 'PUT', `/teams/${writers}/members/carol`)
    expect(await listed(users.bob, `${path}/assignees`)).toEqual(['bob', 'carol'])
  })
})
