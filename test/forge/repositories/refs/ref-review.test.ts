import { describe, expect, it } from 'vitest'
import type { SignedIn } from '../../../../src/forge/core/access.ts'
import {
  findCollisions,
  reviewUpdates,
} from '../../../../src/forge/repositories/refs/ref-review.ts'
import { LOCAL_PEER } from '../../../support/app.ts'
import { openForge } from '../../../support/forge.ts'

const { server, users, rest } = await openForge()

async function caller(username: string): Promise<SignedIn> {
  const query = server.app.db.selectFrom('users').selectAll().where('username', '=', username)
  const user = await query.executeTakeFirstOrThrow()
  return { kind: 'user', peer: LOCAL_PEER, user, credential: { kind: 'password' } }
}

describe('a review', () => {
  const ID = '1'.repeat(40)
  const updates = [{ name: 'refs/heads/x', from: undefined, to: ID }]

  it('applies the current permissions, not those at the start of the push', async () => {
    const { body } = await rest(users.bob, 'POST', '/user/repos', { name: 'late' })
    const review = async () =>
      reviewUpdates(server.app, await caller('carol'), body.id, { updates, quarantine: '/q' })
    const permit = (permission: string) =>
      rest(users.bob, 'PUT', '/repos/bob/late/collaborators/carol', { permission })
    await permit('write')
    expect(await review()).toEqual([])
    await permit('read')
    expect(await review()).toMatchObject([{ text: 'User permission denied for writing.' }])
    await permit('write')
    await rest(users.bob, 'PATCH', '/repos/bob/late', { archived: true })
    await expect(review()).rejects.toMatchObject({ reason: 'REPOSITORY_ARCHIVED' })
    await rest(users.bob, 'PATCH', '/repos/bob/late', { archived: false, private: true })
    await rest(users.bob, 'DELETE', '/repos/bob/late/collaborators/carol')
    await expect(review()).rejects.toMatchObject({ reason: 'REPOSITORY_NOT_FOUND' })
  })

  it('decides on each ref separately', async () => {
    const { body } = await rest(users.bob, 'POST', '/user/repos', { name: 'each' })
    const names = [
      'refs/heads/fine',
      'refs/pull/1/head',
      'refs/heads/a..b',
      'refs/branchline/x',
      'refs/tags/fine',
    ]
    const refusals = await reviewUpdates(server.app, await caller('bob'), body.id, {
      updates: names.map((name) => ({ name, from: undefined, to: ID })),
      quarantine: undefined,
    })
    expect(refusals.map(({ text }) => text)).toEqual([
      'refs/pull/1/head is reserved for the server',
      'refs/heads/a..b is not a valid ref name',
      'refs/branchline/x is reserved for the server',
    ])
  })

  it('allows the deletion of refs with any name, and refuses too many refs', async () => {
    const { body } = await rest(users.bob, 'POST', '/user/repos', { name: 'many' })
    const bob = await caller('bob')
    const review = (names: string[]) =>
      reviewUpdates(server.app, bob, body.id, {
        updates: names.map((name) => ({ name, from: ID, to: undefined })),
        quarantine: undefined,
      })
    expect(await review(['refs/heads/-d', `refs/heads/${ID}`])).toEqual([])
    const [refusal] = await review(Array.from({ length: 200_001 }, (_, i) => `refs/heads/${i}`))
    expect(refusal?.text).toBe('a push can update at most 200000 refs')
  })
})

describe('colliding ref names', () => {
  it.each<[created: string[], present: string[], pairs: [string, string][]]>([
    [['a'], [], []],
    // As rows say that are behind Git.
    [['a'], ['a'], []],
    // Two files to Git, and two refs of many repositories.
    [['a'], ['A'], []],
    [['a/b'], ['A'], []],
    [['a/b'], ['a'], [['a/b', 'a']]],
    [['a/b/c'], ['a'], [['a/b/c', 'a']]],
    [['a'], ['a/b/c'], [['a', 'a/b/c']]],
    [['a/b'], ['a/c', 'a/b2', 'a/b-'], []],
    [['a', 'A', 'b/c', 'b'], [], [['b', 'b/c']]],
  ])('%j beside %j: %j', (created, present, pairs) => {
    expect(findCollisions(created, present)).toEqual(pairs)
  })
})
