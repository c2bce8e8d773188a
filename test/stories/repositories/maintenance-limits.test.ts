import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { sweepLeftovers } from '../../../src/platform/git/repositories/leftovers.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

const MIB = 1024 ** 2
const DAY_MS = 24 * 60 * 60_000
const WAIT = { timeout: 120_000, interval: 50 }

/** The contract has 20 forks of 200 MB. */
const FORKS = isLongTier ? 20 : 3
const FORKED_FILES = isLongTier ? 100 : 2

const forge = await openForge({ settings: { maintenance: true, maxPushBytes: 1024 * MIB } })
const { users, ask, client, server } = forge
afterAll(forge.checkObjects)

const pathOf = ({ app }: typeof server, id: number) => repositoryPath(app.git, id)

async function createClone(name: string): Promise<number> {
  const { id } = await ask(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  const remote = remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD)
  await client.git('.', 'clone', '-q', remote, name)
  return id
}

/** Pushes a commit with files that no compression makes small. */
async function pushFiles(name: string, prefix: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    writeFileSync(join(client.home, name, `${prefix}-${i}.bin`), randomBytes(2 * MIB))
  await client.git(name, 'add', '.')
  await client.commit(name, prefix)
  await client.git(name, 'push', '-q', 'origin', 'HEAD')
}

/** Asks for steps and waits until they have ended. Returns the state then. */
async function run(fullName: string, steps: readonly string[]) {
  const path = `/repos/${fullName}/maintenance`
  const { failures } = await ask(users.ada, 'GET', path)
  await ask(users.ada, 'POST', path, { steps })
  const look = async () => {
    const state = await ask(users.ada, 'GET', path)
    return state.requested.length === 0 || state.failures > failures
  }
  await expect.poll(look, WAIT).toBe(true)
  return ask(users.ada, 'GET', path)
}

describe('a step of maintenance', () => {
  /** A Git whose `repack` has a limit, before the real one. */
  const LIMITED_GIT = `#!/bin/sh
here=$(dirname "$0")
PATH=\${PATH#*:}
case " $* " in *" repack "*) trap '' XFSZ; ulimit $(cat "$here/limit");; esac
exec git "$@"
`
  let programs = ''

  beforeAll(async () => {
    programs = await mkdtemp(join(tmpdir(), 'branchline-programs-'))
    await writeFile(join(programs, 'git'), LIMITED_GIT)
    await chmod(join(programs, 'git'), 0o755)
  })
  afterAll(() => rm(programs, { recursive: true }))

  it.each([
    // Files larger than some MiB cannot be written, as on a full disk.
    ['no room on the disk', '-f 2048', /^full: .*(write error|File too large)/],
    // What Git says depends on the allocation that fails first.
    ['too little memory', '-d 1024', /^full: ./],
  ])('that has %s fails, and the repository is whole', async (_name, limit, reason) => {
    const name = `limited${limit.replaceAll(/\W/g, '')}`
    const id = await createClone(name)
    await pushFiles(name, 'first', 2)
    const packs = join(pathOf(server, id), 'objects/pack')
    const before = readdirSync(packs).filter((file) => /^pack-.*(pack|idx)$/.test(file))
    await writeFile(join(programs, 'limit'), limit)
    vi.stubEnv('PATH', programs + delimiter + process.env.PATH)
    try {
      const state = await run(`bob/${name}`, ['full'])
      expect(state).toMatchObject({ failures: 1, error: expect.stringMatching(reason) })
    } finally {
      vi.unstubAllEnvs()
    }
    expect(readdirSync(packs)).toEqual(expect.arrayContaining(before))
    await client.git('.', '-C', pathOf(server, id), 'fsck', '--full', '--strict')
    await pushFiles(name, 'second', 1)
    await client.git('.', 'clone', '-q', `${server.url}/bob/${name}`, `${name}-again`)
    await sweepLeftovers(server.app.git, Date.now() + DAY_MS, new AbortController().signal)
    expect(readdirSync(packs).filter((file) => /tmp/.test(file))).toEqual([])
    expect(await run(`bob/${name}`, ['full'])).toMatchObject({ failures: 0, error: '', packs: 1 })
  })
})

describe('maintenance of many forks', { timeout: 600_000 }, () => {
  /** Returns the bytes of repositories on the disk. A file with several names counts once. */
  const bytesOf = (ids: readonly number[]) => {
    const paths = ids.map((id) => pathOf(server, id))
    const sizes = execFileSync('du', ['-scb', ...paths], { encoding: 'utf8' })
    return Number(/^(\d+)\ttotal$/m.exec(sizes)?.[1])
  }
  const packsOf = (id: number) => {
    const folder = join(pathOf(server, id), 'objects/pack')
    return readdirSync(folder).filter(
      (file) => file.endsWith('.pack') && statSync(join(folder, file)).size > MIB,
    )
  }

  it('takes less than a tenth of a repository, and the full pack of the parent reaches all', async () => {
    const root = await createClone('forked')
    await pushFiles('forked', 'first', FORKED_FILES)
    await run('bob/forked', ['geometric', 'bitmap', 'commit-graph'])
    const forks: { readonly id: number; readonly name: string }[] = []
    for (let i = 0; i < FORKS; i++) {
      const organization = `group-${i}`
      await ask(users.bob, 'POST', '/orgs', { username: organization })
      const { id } = await ask(users.bob, 'POST', '/repos/bob/forked/forks', { organization })
      forks.push({ id, name: `${organization}/forked` })
    }
    const all = [root, ...forks.map(({ id }) => id)]
    const before = bytesOf(all)
    for (const { name } of forks) {
      const content = Buffer.from(name).toString('base64')
      await ask(users.bob, 'POST', `/repos/${name}/contents/own.txt`, { content })
      const state = await run(name, ['geometric', 'bitmap', 'commit-graph', 'refs', 'full'])
      expect(state).toMatchObject({ error: '', shared_packs: 1 })
    }
    expect(bytesOf(all)).toBeLessThan(before * 1.1 + FORKS * 100_000)
    // The new pack of the parent replaces the old one everywhere.
    await pushFiles('forked', 'second', 1)
    await run('bob/forked', ['full'])
    const [pack = ''] = packsOf(root)
    for (const { id } of forks) expect(packsOf(id)).toEqual([pack])
    expect(statSync(join(pathOf(server, root), 'objects/pack', pack)).nlink).toBe(all.length)
    const after = bytesOf(all)
    await ask(users.bob, 'DELETE', '/repos/bob/forked')
    const left = forks.map(({ id }) => id)
    await expect.poll(() => bytesOf(left), WAIT).toBeLessThanOrEqual(after)
    for (const id of left) {
      await client.git('.', '-C', pathOf(server, id), 'fsck', '--connectivity-only')
      expect(readFileSync(join(pathOf(server, id), 'HEAD'), 'utf8')).toContain('main')
    }
  })
})
