import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { dropDatabaseOf } from '../../support/database.ts'
import { openGitClient } from '../../support/git-client.ts'
import { MAIN, type ServerProcess, startServer } from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, startTestServer } from '../../support/server.ts'

let data: string

beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'branchline-'))
})
afterEach(async () => {
  await dropDatabaseOf(data)
  await rm(data, { recursive: true })
})

/** Starts a server whose parent lets others access what it creates. */
function serve(): Promise<ServerProcess> {
  const command = [process.execPath, MAIN, 'serve', '--data', data, '--listen', '127.0.0.1:0']
  return startServer(['sh', '-c', 'umask 0000; exec "$@"', 'sh', ...command], {})
}

async function stop({ child, exited }: ServerProcess): Promise<void> {
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
}

/** Returns the paths below the data folder that others may access. */
async function openPaths(): Promise<string[]> {
  const paths = [
    data,
    ...(await readdir(data, { recursive: true })).map((name) => join(data, name)),
  ]
  const modes = await Promise.all(paths.map(async (path) => ({ path, entry: await lstat(path) })))
  return modes
    .filter(({ entry }) => !entry.isSymbolicLink() && (entry.mode & 0o077) !== 0)
    .map(({ path }) => path)
}

describe('a data folder', () => {
  it('has nothing that others may access, whatever the umask', async () => {
    const server = await serve()
    const { bob } = await createTestUsers(server.url)
    const rest = restAt(server.url)
    await rest(bob, 'POST', '/user/repos', { name: 'notes', auto_init: true })
    const git = await openGitClient()
    const remote = new URL('/bob/notes.git', server.url)
    Object.assign(remote, { username: 'bob', password: PASSWORD })
    await git.git('.', 'clone', '-q', remote.href, 'notes')
    await git.git('notes', 'commit', '-q', '--allow-empty', '-m', 'pushed')
    await git.git('notes', 'push', '-q', 'origin', 'HEAD')
    await rest(bob, 'POST', '/repos/bob/notes/releases', { tag_name: 'v1' })
    expect(await openPaths()).toEqual([])
    await stop(server)
    expect(await openPaths()).toEqual([])
    await git.remove()
  })

  it('that others may access is reported by doctor, and corrected at the start', async () => {
    await (await startTestServer({ data })).stop()
    const opened = [data, join(data, 'repositories')]
    for (const path of opened) await chmod(path, 0o755)
    const report = await runCommand(['doctor', '--data', data])
    expect(report).toMatchObject({ code: 1, stdout: expect.stringContaining('mode 0755') })
    const server = await startTestServer({ data })
    const lines = server.logged.filter(({ msg }) => String(msg).startsWith('other users could'))
    expect(lines.map(({ paths }) => paths)).toEqual([opened.map((path) => `${path} (0755)`)])
    expect(await openPaths()).toEqual([])
    await server.stop()
  })

  it('that others may access is corrected by doctor --fix', async () => {
    await (await startTestServer({ data })).stop()
    await chmod(data, 0o750)
    expect((await runCommand(['doctor', '--data', data, '--fix'])).stdout).toContain('1 repaired')
    expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
  })
})
