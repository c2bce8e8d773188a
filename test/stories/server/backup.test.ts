import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openDataAsItIs } from '../../../src/app/data-folder.ts'
import { runCommand } from '../../support/commands.ts'
import { databaseOf, isOnPostgres } from '../../support/database.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import {
  branchline,
  environmentOf,
  MAIN,
  type ServerProcess,
  serveProcess,
  withFolder,
} from '../../support/process.ts'
import { execFileSync } from '../../support/programs.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, signIn, startTestServer } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

/** Stops a server as its operator does. */
async function stop({ child, exited }: ServerProcess): Promise<void> {
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
}

/** The folder of a repository in a data folder, by its id. */
const folderOf = (data: string, id: number) =>
  join(data, 'repositories', (id % 256).toString(16).padStart(2, '0'), `${id}.git`)

function fsck(data: string, id: number): void {
  execFileSync('git', ['-C', folderOf(data, id), 'fsck', '--full', '--strict'])
}

describe('a backup', () => {
  let client: GitClient

  beforeEach(async () => {
    client = await openGitClient()
  })
  afterEach(() => client.remove())

  // `moving.test.ts` takes a backup of a server in one process.
  it.each(isLongTier ? ['1', '2'] : ['2'])(
    'of a busy server with --workers %s contains every write acknowledged before, and a server starts on it',
    async (workers) => {
      await withFolder(async (folder) => {
        const [data, archive, copy] = ['data', 'backup.tar', 'copy'].map((name) =>
          join(folder, name),
        ) as [string, string, string]
        const server = await serveProcess(data, ['--workers', workers])
        const users = await createTestUsers(server.url)
        const rest = restAt(server.url)
        const { id } = (
          await rest(users.bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
        ).body
        const secret = (
          await rest(users.bob, 'POST', '/user/repos', { name: 'secret', private: true })
        ).body
        const remote = remoteOf(server.url, 'bob/engine', 'bob', PASSWORD)
        await client.git('.', 'clone', '-q', remote, 'engine')
        const acknowledged = await client.commit('engine', 'before')
        await client.git(
          'engine',
          'push',
          '-q',
          'origin',
          'HEAD:refs/heads/before',
          'HEAD:refs/tags/v1',
        )

        let isDone = false
        const pushing = (async () => {
          for (let i = 0; !isDone; i++) {
            await client.commit('engine', `meanwhile ${i}`)
            await client.git(
              'engine',
              'push',
              '-q',
              'origin',
              `HEAD:refs/heads/meanwhile-${i}`,
              '+HEAD:refs/heads/main',
            )
          }
        })()
        const made = await branchline(['backup', '--data', data, '--output', archive])
        isDone = true
        await pushing
        expect(made).toEqual({
          code: 0,
          stdout: expect.stringMatching(/\d+ rows, 2 repositories with \d+ files/),
          stderr: expect.any(String),
        })
        expect((await stat(archive)).mode & 0o777).toBe(0o600)
        expect((await readdir(folder)).sort()).toEqual(['backup.tar', 'data'])
        await stop(server)
        const restored = await runCommand(['restore', '--data', copy, '--input', archive])
        expect(restored).toEqual({
          code: 0,
          stdout: expect.stringContaining(`restored ${copy} as it was at`),
          stderr: expect.any(String),
        })
        const again = await startTestServer({ data: copy })
        const bob = await signIn(again.url, 'bob')
        const asBob = restAt(again.url)
        expect((await asBob(bob, 'GET', '/repos/bob/secret')).body).toMatchObject({
          id: secret.id,
          empty: true,
        })
        await client.git('.', 'clone', '-q', remoteOf(again.url, 'bob/engine'), 'copied')
        expect(await client.git('copied', 'rev-parse', 'origin/before', 'v1')).toBe(
          `${acknowledged}\n${acknowledged}`,
        )
        const branches = (
          await client.git('copied', 'for-each-ref', 'refs/remotes/origin', '--format=%(refname)')
        ).split('\n')
        // HEAD is listed too.
        expect((await asBob(bob, 'GET', '/repos/bob/engine')).body.branch_count).toBe(
          branches.length - 1,
        )
        await again.stop()
        fsck(copy, id)
        expect((await runCommand(['doctor', '--data', copy, '--fsck'])).stdout).toBe(
          'nothing is wrong\n',
        )
      })
    },
  )

  it('can be written to and read from a pipe', async () => {
    await withFolder(async (folder) => {
      const [data, copy] = [join(folder, 'data'), join(folder, 'copy')]
      const server = await startTestServer({ data })
      await createTestUsers(server.url)
      await server.stop()
      const run = async (...args: string[]) =>
        spawn(process.execPath, [MAIN, ...args], { env: await environmentOf(args) })
      const backup = await run('backup', '--data', data, '--output', '-')
      const restore = await run('restore', '--data', copy, '--input', '-')
      await Promise.all([pipeline(backup.stdout, restore.stdin), exitOf(backup), exitOf(restore)])
      const again = await startTestServer({ data: copy })
      await signIn(again.url, 'bob')
      await again.stop()
    })
  })

  it('is not restored into a folder that is not empty', async () => {
    await withFolder(async (folder) => {
      await writeFile(join(folder, 'mine'), '')
      const refused = await runCommand(['restore', '--data', folder, '--input', '/dev/null'])
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('not empty')])
      expect(await readdir(folder)).toEqual(['mine'])
    })
  })
})

describe('a data folder', () => {
  it.skipIf(isOnPostgres)(
    'is used by one process at a time, until that is killed (skipped on PostgreSQL, which serves several)',
    () =>
      withFolder(async (data) => {
        const server = await serveProcess(data)
        await expect(startTestServer({ data })).rejects.toThrow('another branchline works on')
        const fixing = await runCommand(['doctor', '--data', data, '--fix'])
        expect([fixing.code, fixing.stderr]).toEqual([1, expect.stringContaining('stop it first')])
        server.child.kill('SIGKILL')
        await server.exited
        await (await startTestServer({ data })).stop()
      }),
  )
})

describe('the doctor', () => {
  let data: string
  const ids: Record<string, number> = {}

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'branchline-'))
    const server = await startTestServer({ data })
    const { bob } = await createTestUsers(server.url)
    for (const name of ['moved', 'locked', 'lost', 'broken', 'sound']) {
      const made = await restAt(server.url)(bob, 'POST', '/user/repos', { name, auto_init: true })
      ids[name] = made.body.id
    }
    await server.stop()
  })
  afterAll(() => rm(data, { recursive: true }))

  const doctor = (...args: string[]) => runCommand(['doctor', '--data', data, ...args])
  const folder = (name: string) => folderOf(data, ids[name] ?? 0)

  it('finds no fault in intact data', async () => {
    expect(await doctor('--fsck')).toMatchObject({ code: 0, stdout: 'nothing is wrong\n' })
  })

  it('finds changes made without the server, and repairs what it can', async () => {
    const moved = execFileSync(
      'git',
      ['-C', folder('moved'), 'commit-tree', 'HEAD^{tree}', '-m', 'by hand'],
      {
        env: {
          ...process.env,
          GIT_AUTHOR_NAME: 'x',
          GIT_AUTHOR_EMAIL: 'x@y',
          GIT_COMMITTER_NAME: 'x',
          GIT_COMMITTER_EMAIL: 'x@y',
        },
        encoding: 'utf8',
      },
    ).trim()
    execFileSync('git', ['-C', folder('moved'), 'update-ref', 'refs/heads/main', moved])
    execFileSync('git', ['-C', folder('moved'), 'update-ref', 'refs/heads/another', moved])
    const lock = join(folder('locked'), 'refs/heads/main.lock')
    await writeFile(lock, '')
    await utimes(lock, 0, 0)
    await mkdir(folderOf(data, 4711), { recursive: true })
    const found = await doctor()
    expect(found.code).toBe(1)
    expect(found.stdout).toContain(`repository ${ids.moved}: branch "main"`)
    expect(found.stdout).toContain(`repository ${ids.moved}: branch "another"`)
    expect(found.stdout).toContain(`repository ${ids.locked}: refs/heads/main.lock is the lock`)
    expect(found.stdout).toContain('repository 4711: nothing leads to its folder')
    expect(found.stdout).toMatch(/0 repaired, 4 left\n$/)

    const fixed = await doctor('--fix')
    expect([fixed.code, fixed.stdout]).toEqual([0, expect.stringMatching(/4 repaired, 0 left\n$/)])
    expect((await doctor('--fsck')).stdout).toBe('nothing is wrong\n')
    const server = await startTestServer({ data })
    expect((await restAt(server.url)(undefined, 'GET', '/repos/bob/moved')).body.branch_count).toBe(
      2,
    )
    await server.stop()
  })

  it('finds counters that differ from the rows, and corrects them', async () => {
    const db = await openDataAsItIs({ data, database: await databaseOf(data) })
    await db
      .updateTable('repositories')
      .set({ branch_count: 7 })
      .where('name', '=', 'sound')
      .execute()
    await db.destroy()
    const found = await doctor()
    expect([found.code, found.stdout]).toEqual([
      1,
      expect.stringContaining(
        `the row ${ids.sound} of repositories: its branch_count is 7, and there are 1 (--fix repairs it)`,
      ),
    ])
    expect((await doctor('--fix')).code).toBe(0)
    expect((await doctor()).stdout).toContain('nothing is wrong')
  })

  it('reports damage that only a backup can repair', async () => {
    await rm(folder('lost'), { recursive: true })
    const tree = execFileSync('git', ['-C', folder('broken'), 'rev-parse', 'HEAD^{tree}'], {
      encoding: 'utf8',
    }).trim()
    await rm(join(folder('broken'), 'objects', tree.slice(0, 2), tree.slice(2)))
    const { code, stdout } = await doctor('--fsck', '--fix')
    expect(code).toBe(1)
    expect(stdout).toContain(`repository ${ids.lost}: its folder is missing (cannot be repaired`)
    expect(stdout).toContain(`repository ${ids.broken}: missing tree ${tree}`)
    expect(stdout).not.toContain(`repository ${ids.sound}`)
  })
})

async function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode === null) await once(child, 'exit')
  expect(child.exitCode).toBe(0)
}
