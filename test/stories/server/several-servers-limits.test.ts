import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresPrograms } from '../../../scripts/checks/postgres-programs.mjs'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, type TestUsers } from '../../support/server.ts'
import { type ServerGroup, startServerGroup } from '../../support/server-group.ts'

const MIB = 2 ** 20
const TIMEOUT_MS = 240_000
const TITLE = 'limits of two servers (skipped without the programs of PostgreSQL)'

describe.skipIf(!postgresPrograms)(TITLE, { timeout: TIMEOUT_MS }, () => {
  let group: ServerGroup
  let users: TestUsers
  let client: GitClient

  beforeAll(async () => {
    group = await startServerGroup(2, ['--max-repositories', '4', '--quota-account', '5MiB'])
    users = await createTestUsers(group.url())
    client = await openGitClient()
  }, TIMEOUT_MS)

  afterAll(async () => {
    expect(await group.doctor()).toBe('nothing is wrong\n')
    await group.stop()
    await client.remove()
  }, TIMEOUT_MS)

  const url = (number: number) => group.servers[number % 2]?.url ?? ''

  it('let nobody have more repositories, though they are created at once', async () => {
    const create = (_: unknown, number: number) =>
      restAt(url(number))(users.carol, 'POST', '/user/repos', { name: `r${number}` })
    const answers = await Promise.all(Array.from({ length: 12 }, create))
    const created = answers.filter(({ status }) => status === 201)
    const refused = answers.filter(({ status }) => status === 422)
    expect([created.length, refused.length]).toEqual([4, 8])
    const { body } = await restAt(url(0))(users.carol, 'GET', '/users/carol/repos')
    expect(body).toHaveLength(4)
  })

  it('let nobody store more bytes, though they are pushed at once', async () => {
    const names = ['a', 'b', 'c', 'd']
    const pushes: (() => Promise<string>)[] = []
    for (const [number, name] of names.entries()) {
      const path = `bob/${name}`
      await restAt(url(0))(users.bob, 'POST', '/user/repos', { name })
      await client.git('.', 'init', '-q', '-b', 'main', name)
      await writeFile(join(client.home, name, 'file'), randomBytes(2 * MIB))
      await client.git(name, 'add', '.')
      await client.git(name, 'commit', '-q', '-m', 'all')
      const remote = remoteOf(url(number), path, 'bob', PASSWORD)
      pushes.push(() =>
        client.git(name, 'push', '-q', remote, 'HEAD:main').then(
          () => 'stored',
          (error: Error) => error.message,
        ),
      )
    }
    const ends = await Promise.all(pushes.map((push) => push()))
    const refusals = ends.filter((end) => end !== 'stored')
    expect(refusals).toHaveLength(2)
    for (const refusal of refusals) expect(refusal).toContain('Quota exceeded: account bob uses')
    const sizes = await Promise.all(
      names.map(async (name) => {
        const { body } = await restAt(url(1))(users.bob, 'GET', `/repos/bob/${name}`)
        return Number(body.owned_size)
      }),
    )
    const stored = sizes.reduce((sum, size) => sum + size, 0)
    expect(stored).toBeGreaterThanOrEqual(4 * 1024)
    expect(stored).toBeLessThanOrEqual(5 * 1024)
  })
})
