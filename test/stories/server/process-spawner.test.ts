import { existsSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { remoteOf } from '../../support/git-client.ts'
import {
  PROCESS_SPAWNER,
  type ServerProcess,
  serveProcess,
  withFolder,
} from '../../support/process.ts'
import { childrenOf, eventually, isAlive } from '../../support/process-spawner.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD } from '../../support/server.ts'

/** What ps(1) shows of a process. */
const commandLineOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')

/** Id of the process group (proc_pid_stat(5)). */
const groupOf = (pid: number) => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[4])

interface Starter {
  readonly pid: number
  readonly folder: string
}

/** Returns the process that starts gits for a server. Throws if there is none. */
function findStarter({ child }: ServerProcess): Starter {
  for (const pid of childrenOf(child.pid ?? 0)) {
    const [, program, socket = ''] = commandLineOf(pid)
    if (program === PROCESS_SPAWNER && existsSync(socket)) return { pid, folder: dirname(socket) }
  }
  throw new Error('there is none')
}

const starterOf = (server: ServerProcess) => eventually(() => findStarter(server))

async function expectGone({ pid, folder }: Starter): Promise<void> {
  await eventually(() => expect(isAlive(pid)).toBe(false))
  expect(existsSync(folder)).toBe(false)
}

const { data, client } = await openProcessStory()
let copies = 0

/** Clones a repository, for which the server always starts a Git process. Returns the tip of main. */
async function clone(remote: string): Promise<string> {
  copies += 1
  const copy = `copy-${copies}`
  await client.git('.', 'clone', '-q', '--bare', remote, copy)
  return client.git(copy, 'rev-parse', 'refs/heads/main')
}

describe('the process that starts Git processes for a server', () => {
  let server: ServerProcess

  it('ignores signals to the process group', async () => {
    server = await serveProcess(data)
    const { bob } = await createTestUsers(server.url)
    await restAt(server.url)(bob, 'POST', '/user/repos', { name: 'hello', auto_init: true })
    const starter = await starterOf(server)
    expect(groupOf(starter.pid)).toBe(starter.pid)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(starter.pid, signal)
    await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/hello', 'bob', PASSWORD), 'mine')
    await client.commit('mine', 'second')
    await client.git('mine', 'push', '-q', 'origin', 'HEAD')
    expect(isAlive(starter.pid)).toBe(true)
  })

  it('is replaced when it is killed, with a log line and without an effect on clients', async () => {
    const remote = remoteOf(server.url, 'bob/hello')
    const first = await starterOf(server)
    process.kill(first.pid, 'SIGKILL')
    await server.logged('the process spawner has ended')
    await expectGone(first)
    const tip = await clone(remote)
    await eventually(async () => {
      await clone(remote)
      expect(findStarter(server).pid).not.toBe(first.pid)
    })
    expect(await clone(remote)).toBe(tip)
  })

  it('ends with the server', async () => {
    const starter = await starterOf(server)
    server.child.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    await expectGone(starter)
  })

  it('ends with a server that is killed', async () => {
    const killed = await serveProcess(data)
    const starter = await starterOf(killed)
    killed.child.kill('SIGKILL')
    await killed.exited
    await expectGone(starter)
  })

  it('is optional: if it cannot listen, the server starts Git processes itself', async () => {
    await withFolder(async (folder) => {
      // Longer than the path of a socket can be.
      const deep = join(folder, 'd'.repeat(120))
      await mkdir(deep)
      const other = await serveProcess(data, [], { TMPDIR: deep })
      await other.logged('the process spawner has ended')
      expect(await clone(remoteOf(other.url, 'bob/hello'))).toMatch(/^[0-9a-f]{40}$/)
      other.child.kill('SIGTERM')
      expect(await other.exited).toBe(0)
    })
  })
})
