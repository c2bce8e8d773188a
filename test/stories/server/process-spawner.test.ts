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

/** The process that starts gits for a server. */
async function starterOf({ child }: ServerProcess): Promise<{ pid: number; folder: string }> {
  return eventually(() => {
    for (const pid of childrenOf(child.pid ?? 0)) {
      const [, program, socket = ''] = commandLineOf(pid)
      if (program === PROCESS_SPAWNER && existsSync(socket)) return { pid, folder: dirname(socket) }
    }
    throw new Error('there is none')
  })
}

async function expectGone({ pid, folder }: { pid: number; folder: string }): Promise<void> {
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
  it('ignores signals to the process group, and ends with the server', async () => {
    const server = await serveProcess(data)
    const { bob } = await createTestUsers(server.url)
    await restAt(server.url)(bob, 'POST', '/user/repos', { name: 'hello', auto_init: true })
    const starter = await starterOf(server)
    expect(groupOf(starter.pid)).toBe(starter.pid)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(starter.pid, signal)
    await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/hello', 'bob', PASSWORD), 'mine')
    await client.commit('mine', 'second')
    await client.git('mine', 'push', '-q', 'origin', 'HEAD')
    expect(isAlive(starter.pid)).toBe(true)
    server.child.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    await expectGone(starter)
  })

  it('ends with a server that is killed', async () => {
    const server = await serveProcess(data)
    const starter = await starterOf(server)
    server.child.kill('SIGKILL')
    await server.exited
    await expectGone(starter)
  })

  it('is replaced when it is killed, with a log line and without an effect on clients', async () => {
    const server = await serveProcess(data)
    const remote = remoteOf(server.url, 'bob/hello')
    const first = await starterOf(server)
    process.kill(first.pid, 'SIGKILL')
    await server.logged('the process spawner has ended')
    await expectGone(first)
    const tip = await clone(remote)
    const second = await eventually(async () => {
      await clone(remote)
      const [pid = 0] = childrenOf(server.child.pid ?? 0).filter(
        (child) => commandLineOf(child)[1] === PROCESS_SPAWNER,
      )
      expect(pid).toBeGreaterThan(0)
      return pid
    })
    expect(await clone(remote)).toBe(tip)
    server.child.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    await eventually(() => expect(isAlive(second)).toBe(false))
  })

  it('is optional: if it cannot listen, the server starts Git processes itself', async () => {
    await withFolder(async (folder) => {
      // Longer than the path of a socket can be.
      const deep = join(folder, 'd'.repeat(120))
      await mkdir(deep)
      const server = await serveProcess(data, [], { TMPDIR: deep })
      await server.logged('the process spawner has ended')
      expect(await clone(remoteOf(server.url, 'bob/hello'))).toMatch(/^[0-9a-f]{40}$/)
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    })
  })
})
