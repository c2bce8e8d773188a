import { afterAll, describe, expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'

const forge = await openForge()
const { server, users, client, rest } = forge
afterAll(forge.checkObjects)

/** Pairs of names of which Git can have one only, as one is a folder of the other. */
const ROUNDS = 40

describe('concurrent requests for two colliding names', () => {
  it('create one branch and fail once with 409', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'pairs', auto_init: true })
    const create = async (branch: string) =>
      (await rest(users.bob, 'POST', '/repos/bob/pairs/branches', { new_branch_name: branch }))
        .status
    const rounds = await Promise.all(
      Array.from({ length: ROUNDS }, (_, i) =>
        Promise.all([create(`w${i}`), create(`w${i}/x`), create(`w${i}/x/y`)]),
      ),
    )
    const statuses = new Set(rounds.flat())
    expect([...statuses].sort()).toEqual([201, 409])
    for (const round of rounds) expect(round.filter((status) => status === 201)).toHaveLength(1)
  })

  it('create one tag and fail once with 409', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'tags', auto_init: true })
    const create = async (tag: string) =>
      (await rest(users.bob, 'POST', '/repos/bob/tags/tags', { tag_name: tag, target: 'main' }))
        .status
    const rounds = await Promise.all(
      Array.from({ length: ROUNDS }, (_, i) => Promise.all([create(`v${i}`), create(`v${i}/x`)])),
    )
    expect([...new Set(rounds.flat())].sort()).toEqual([201, 409])
    for (const round of rounds) expect(round.filter((status) => status === 201)).toHaveLength(1)
  })

  it('change a file on one new branch and fail once with 409', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'files', auto_init: true })
    const write = async (branch: string) =>
      (
        await rest(users.bob, 'POST', `/repos/bob/files/contents/${branch.replaceAll('/', '-')}`, {
          content: 'eA==',
          new_branch: branch,
        })
      ).status
    const rounds = await Promise.all(
      Array.from({ length: ROUNDS / 2 }, (_, i) => Promise.all([write(`w${i}`), write(`w${i}/x`)])),
    )
    expect([...new Set(rounds.flat())].sort()).toEqual([201, 409])
  })

  it('rename one branch and fail once with 409', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'renames', auto_init: true })
    for (let i = 0; i < ROUNDS / 2; i += 1) {
      for (const name of [`a${i}`, `b${i}`]) {
        await rest(users.bob, 'POST', '/repos/bob/renames/branches', { new_branch_name: name })
      }
    }
    const rename = async (from: string, to: string) =>
      (await rest(users.bob, 'PATCH', `/repos/bob/renames/branches/${from}`, { name: to })).status
    const rounds = await Promise.all(
      Array.from({ length: ROUNDS / 2 }, (_, i) =>
        Promise.all([rename(`a${i}`, `w${i}`), rename(`b${i}`, `w${i}/x`)]),
      ),
    )
    for (const status of rounds.flat()) expect([204, 409, 422]).toContain(status)
  })

  it('do not block a branch after a refused push', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'pushed', auto_init: true })
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'bob/pushed', 'bob', PASSWORD),
      'pushed',
    )
    await client.git('pushed', 'push', '-q', 'origin', 'HEAD:refs/heads/w')
    await expect(
      client.git('pushed', 'push', '-q', 'origin', 'HEAD:refs/heads/w/x'),
    ).rejects.toThrow('rejected')
    await client.git('pushed', 'push', '-q', 'origin', ':refs/heads/w')
    await client.git('pushed', 'push', '-q', 'origin', 'HEAD:refs/heads/w/x')
  })
})
