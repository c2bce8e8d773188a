import { createClient } from '@connectrpc/connect'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { callerNamed } from '../../support/callers.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD, type TestUsers, transportTo } from '../../support/server.ts'

/** A repository of bob that each test has to itself. */
let name: string
let count = 0

const { server, users, rest: send, client } = await openForge()
beforeAll(async () => {
  await send(users.bob, 'POST', '/orgs', { username: 'acme' })
  await send(users.carol, 'POST', '/orgs', { username: 'globex' })
})
beforeEach(async () => {
  count += 1
  name = `gift-${count}`
  await send(users.bob, 'POST', '/user/repos', { name, private: true, auto_init: true })
})

const transfer = (newOwner: string, more: object = {}) =>
  send(users.bob, 'POST', `/repos/bob/${name}/transfer`, { new_owner: newOwner, ...more })
const answer = (who: TestUsers['bob'], word: 'accept' | 'reject') =>
  send(who, 'POST', `/repos/bob/${name}/transfer/${word}`)

describe('a transfer to another user', () => {
  it('takes effect when it is accepted, and gives the recipient read access before', async () => {
    const offered = await transfer('Carol')
    expect(offered.status).toBe(202)
    expect(offered.body).toMatchObject({
      full_name: `bob/${name}`,
      repo_transfer: { doer: { login: 'bob' }, recipient: { login: 'carol' }, teams: [] },
    })
    const seen = await send(users.carol, 'GET', `/repos/bob/${name}`)
    expect(seen.body).toMatchObject({
      permissions: { admin: false, push: false, pull: true },
      repo_transfer: { recipient: { login: 'carol' } },
    })
    const accepted = await answer(users.carol, 'accept')
    expect(accepted.status).toBe(202)
    expect(accepted.body).toMatchObject({
      full_name: `carol/${name}`,
      permissions: { admin: true },
    })
    expect(accepted.body).not.toHaveProperty('repo_transfer')
    expect((await send(users.bob, 'GET', `/repos/bob/${name}`)).status).toBe(404)
    expect((await send(users.carol, 'GET', `/repos/carol/${name}/collaborators`)).body).toEqual([])
  })

  it('redirects requests with the former owner, from Git too', async () => {
    await send(users.bob, 'PATCH', `/repos/bob/${name}`, { private: false })
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, `bob/${name}`, 'carol', PASSWORD),
      name,
    )
    await transfer('carol')
    await answer(users.carol, 'accept')
    const moved = await send(undefined, 'GET', `/repos/bob/${name}/contents/README.md?ref=main`)
    expect([moved.status, moved.headers.get('location')]).toEqual([
      301,
      `/api/v1/repos/carol/${name}/contents/README.md?ref=main`,
    ])
    await client.commit(name, 'pushed by the old URL')
    await client.git(name, 'push', '-q', 'origin', 'HEAD')
    const head = await client.git(name, 'rev-parse', 'HEAD')
    expect(
      await client.git('.', 'ls-remote', remoteOf(server.url, `carol/${name}`), 'main'),
    ).toContain(head)
    // The old owner can use the name again, and it is theirs then.
    expect((await send(users.bob, 'POST', '/user/repos', { name })).status).toBe(201)
    expect((await send(undefined, 'GET', `/repos/bob/${name}`)).body.owner.login).toBe('bob')
  })

  it('can be rejected, which ends the read access', async () => {
    await transfer('carol')
    const rejected = await answer(users.carol, 'reject')
    expect([rejected.status, rejected.body.full_name]).toEqual([200, `bob/${name}`])
    expect(rejected.body).not.toHaveProperty('repo_transfer')
    expect((await send(users.carol, 'GET', `/repos/bob/${name}`)).status).toBe(404)
    expect((await send(users.bob, 'GET', `/repos/bob/${name}`)).body).not.toHaveProperty(
      'repo_transfer',
    )
  })

  it('can be cancelled, which leaves collaborators unchanged', async () => {
    await send(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'write' })
    await transfer('carol')
    expect((await answer(users.bob, 'reject')).status).toBe(200)
    expect((await answer(users.carol, 'accept')).status).toBe(404)
    expect((await send(users.carol, 'GET', `/repos/bob/${name}`)).body.permissions.push).toBe(true)
  })

  it('exists once, and is accepted by its recipient only', async () => {
    expect((await answer(users.bob, 'accept')).status).toBe(404)
    await transfer('carol')
    expect((await transfer('carol')).status).toBe(409)
    expect((await transfer('acme')).status).toBe(409)
    expect((await answer(users.bob, 'accept')).status).toBe(403)
    await send(users.bob, 'PATCH', `/repos/bob/${name}`, { private: false })
    await send(users.carol, 'POST', '/user/repos', { name })
    expect((await answer(users.carol, 'accept')).status).toBe(409)
    await send(users.carol, 'DELETE', `/repos/carol/${name}`)
    expect((await answer(users.carol, 'accept')).status).toBe(202)
  })

  it('leaves a recipient access that was raised meanwhile', async () => {
    await transfer('carol')
    await send(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'write' })
    expect((await answer(users.carol, 'reject')).status).toBe(200)
    expect((await send(users.carol, 'GET', `/repos/bob/${name}`)).body.permissions.push).toBe(true)
  })

  it('cannot be accepted once its sender is not an owner any more', async () => {
    await send(users.bob, 'POST', `/repos/bob/${name}/transfer`, { new_owner: 'acme' })
    const [owners] = (await send(users.bob, 'GET', '/orgs/acme/teams')).body
    await send(users.bob, 'PUT', `/teams/${owners.id}/members/ada`)
    await send(users.bob, 'POST', `/repos/acme/${name}/transfer`, { new_owner: 'carol' })
    await send(users.ada, 'DELETE', `/teams/${owners.id}/members/bob`)
    const stolen = await send(users.carol, 'POST', `/repos/acme/${name}/transfer/accept`)
    await send(users.ada, 'PUT', `/teams/${owners.id}/members/bob`)
    await send(users.bob, 'DELETE', `/teams/${owners.id}/members/ada`)
    expect(stolen.status).toBe(404)
    expect((await send(users.bob, 'POST', `/repos/acme/${name}/transfer/reject`)).status).toBe(200)
  })

  it('is not visible to others', async () => {
    await send(users.bob, 'PATCH', `/repos/bob/${name}`, { private: false })
    await transfer('carol')
    expect((await send(undefined, 'GET', `/repos/bob/${name}`)).body).not.toHaveProperty(
      'repo_transfer',
    )
    const { body } = await send(users.carol, 'GET', `/repos/search?q=${name}`)
    expect(body.data[0].repo_transfer.recipient.login).toBe('carol')
  })

  it('takes effect at once for an administrator of the instance', async () => {
    const given = await send(users.ada, 'POST', `/repos/bob/${name}/transfer`, {
      new_owner: 'carol',
    })
    expect([given.status, given.body.full_name]).toEqual([202, `carol/${name}`])
  })

  it('works over gRPC', async () => {
    const as = (who: TestUsers['bob']) =>
      createClient(RepositoryService, transportTo(server.url, 'gRPC', who.authorization))
    const offered = await as(users.bob).transferRepository({
      owner: 'bob',
      repo: name,
      newOwner: 'carol',
    })
    expect(offered.repoTransfer?.recipient?.login).toBe('carol')
    const accepted = await as(users.carol).acceptRepositoryTransfer({ owner: 'bob', repo: name })
    expect(accepted.fullName).toBe(`carol/${name}`)
  })
})

describe('a transfer to an organisation', () => {
  it('takes effect at once, and ends the access of teams', async () => {
    const team = { name: `team-${count}`, permission: 'write', units: ['repo.code'] }
    const own = (await send(users.bob, 'POST', '/orgs/acme/teams', team)).body.id
    await send(users.bob, 'PUT', `/teams/${own}/members/carol`)
    const given = await transfer('ACME', { team_ids: [own, own] })
    expect([given.status, given.body.full_name]).toEqual([202, `acme/${name}`])
    expect((await send(users.carol, 'GET', `/repos/acme/${name}`)).body.permissions.push).toBe(true)
    // And back again.
    const back = await send(users.bob, 'POST', `/repos/acme/${name}/transfer`, { new_owner: 'bob' })
    expect([back.status, back.body.full_name]).toEqual([202, `bob/${name}`])
    expect((await send(users.carol, 'GET', `/repos/bob/${name}`)).status).toBe(404)
    expect((await send(users.bob, 'GET', `/teams/${own}/repos`)).body).toEqual([])
    expect((await send(users.bob, 'GET', `/repos/acme/${name}`)).headers.get('location')).toBe(
      `/api/v1/repos/bob/${name}`,
    )
  })

  it('can repeat a team without extra cost', async () => {
    const team = { name: `team-${count}`, permission: 'write', units: ['repo.code'] }
    const { id } = (await send(users.bob, 'POST', '/orgs/acme/teams', team)).body
    // Half a million looks and rows would take longer than the test may.
    expect((await transfer('acme', { team_ids: Array(500_000).fill(id) })).status).toBe(202)
  })

  it('requires permission to create repositories there', async () => {
    expect((await transfer('globex')).status).toBe(403)
  })

  it('gives access to teams of that organisation only', async () => {
    const { body } = await send(users.carol, 'GET', '/orgs/globex/teams')
    const refused = await transfer('acme', { team_ids: [body[0].id] })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      `the new owner has no team ${body[0].id}`,
    ])
    expect((await transfer('carol', { team_ids: [1] })).status).toBe(422)
  })
})

describe('a refused transfer', () => {
  it.each<[caller: string, status: number]>([
    ['nobody', 401],
    ['carol', 404],
    ['read:repository', 403],
    ['write:user', 403],
    ['public-only', 404],
  ])('by %s: %i', async (caller, status) => {
    const who = await callerNamed(server.url, users, caller)
    const refused = await send(who, 'POST', `/repos/bob/${name}/transfer`, { new_owner: 'carol' })
    expect(refused.status).toBe(status)
  })

  it('is one by an administrator who is not an owner', async () => {
    await send(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'admin' })
    const refused = await send(users.carol, 'POST', `/repos/bob/${name}/transfer`, {
      new_owner: 'carol',
    })
    expect(refused.status).toBe(403)
  })

  it('is one of an archived repository, to a missing account, to the owner, or to an account that has the name or has blocked the sender', async () => {
    expect((await transfer('nobody')).status).toBe(404)
    expect((await transfer('')).status).toBe(404)
    expect((await transfer('bob')).status).toBe(422)
    await send(users.bob, 'POST', '/orgs/acme/repos', { name })
    expect((await transfer('acme')).status).toBe(422)
    await send(users.carol, 'PUT', '/user/blocks/bob')
    expect((await transfer('carol')).status).toBe(403)
    await send(users.carol, 'DELETE', '/user/blocks/bob')
    await send(users.bob, 'PATCH', `/repos/bob/${name}`, { archived: true })
    expect((await transfer('carol')).status).toBe(423)
  })

  it('is one of a fork to an owner of another fork', async () => {
    await send(users.ada, 'POST', '/user/repos', { name: `base-${count}`, auto_init: true })
    const fork = async (who: TestUsers['bob'], forkName: string) =>
      (await send(who, 'POST', `/repos/ada/base-${count}/forks`, { name: forkName })).status
    expect([
      await fork(users.bob, `fork-${count}`),
      await fork(users.carol, `other-${count}`),
    ]).toEqual([202, 202])
    const given = await send(users.ada, 'POST', `/repos/bob/fork-${count}/transfer`, {
      new_owner: 'carol',
    })
    expect([given.status, given.body.message]).toEqual([409, expect.stringContaining('fork')])
  })
})
