import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runGit, spawnGit } from '../../../../src/platform/git/processes/child-process.ts'
import { ProcessSpawner } from '../../../../src/platform/git/processes/process-spawner.ts'
import { GitProcesses } from '../../../../src/platform/git/processes/running-processes.ts'
import { repositoryPath } from '../../../../src/platform/git/repositories/repositories.ts'
import { childrenOf, eventually, isAlive, testSpawner } from '../../../support/process-spawner.ts'
import { testRepositories } from '../fixture.ts'

/** Gits after which something that leaks shows. */
const MANY = 200
const AT_ONCE = 20

const MIB = 1024 * 1024

const processes = new GitProcesses()

async function emptyRepository(): Promise<string> {
  const repositories = await testRepositories(1)
  return repositoryPath(repositories, 1)
}

/** Arguments that make git run a program of the shell. */
const shell = (program: string) => ['-c', `alias.x=!${program}`, 'x']

/** Who has started a git: the shell is its child. */
async function parentOfGit(repository: string): Promise<number> {
  return Number(
    (await runGit(shell('cut -d" " -f4 /proc/$PPID/stat'), { processes, repository })).stdout,
  )
}

const descriptorsOf = (pid: number) => readdirSync(`/proc/${pid}/fd`).length

/** The socket that a starter listens on, by its command line. */
const socketOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[2] ?? ''

describe('the process spawner', () => {
  it('starts Git processes instead of the server', async () => {
    const repository = await emptyRepository()
    expect(await parentOfGit(repository)).toBe(process.pid)
    const starter = await testSpawner(processes)
    expect(await parentOfGit(repository)).toBe(starter.pid)
  })

  it('gets no environment of the server and protects its socket', async () => {
    vi.stubEnv('BRANCHLINE_SECRET', 'of the server')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { pid = 0 } = await testSpawner(processes)
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('SECRET')
    expect(statSync(join(socketOf(pid), '..')).mode & 0o777).toBe(0o700)
  })

  it('gives an unknown process that connects only a number', async () => {
    const repository = await emptyRepository()
    const { pid = 0 } = await testSpawner(processes)
    const stranger = connect(socketOf(pid))
    stranger.write('{"kind":"start"}\n')
    const [text] = await once(stranger, 'data')
    expect(String(text)).toMatch(/^\d+\n$/)
    expect(await parentOfGit(repository)).toBe(pid)
    stranger.destroy()
  })

  it('transfers input and output completely', async () => {
    const repository = await emptyRepository()
    await testSpawner(processes)
    const input = randomBytes(20 * MIB)
    const git = spawnGit(shell('cat'), { processes, repository })
    git.stdin.end(input)
    const hash = createHash('sha256')
    for await (const chunk of git.stdout) hash.update(chunk)
    expect(await git.exited).toEqual({ code: 0, stderr: '' })
    expect(hash.digest('hex')).toBe(createHash('sha256').update(input).digest('hex'))
  })

  it('applies back pressure when no one reads the output', async () => {
    const repository = await emptyRepository()
    await testSpawner(processes)
    const git = spawnGit(shell('dd if=/dev/zero bs=1M count=64 2>/dev/null; echo end >&3'), {
      processes,
      repository,
      hooks: true,
    })
    git.stdin.end()
    let isWritten = false
    git.hooks?.on('data', () => {
      isWritten = true
    })
    await once(git.stdout, 'readable')
    expect(isWritten).toBe(false)
    expect(git.stdout.readableLength).toBeLessThan(MIB)
    let bytes = 0
    for await (const chunk of git.stdout) bytes += chunk.length
    expect(bytes).toBe(64 * MIB)
    expect((await git.exited).code).toBe(0)
    expect(isWritten).toBe(true)
  })

  it('leaves a process to the server when its connection pool is empty', async () => {
    const repository = await emptyRepository()
    const { pid } = await testSpawner(processes)
    const parents = await Promise.all(Array.from({ length: 50 }, () => parentOfGit(repository)))
    expect(new Set(parents)).toEqual(new Set([pid, process.pid]))
  })

  it('leaks no descriptors and no processes', async () => {
    const repository = await emptyRepository()
    const starter = await testSpawner(processes)
    const { pid = 0 } = starter
    await runGit(['version'], { processes, repository })
    const settled = () => eventually(() => expect(starter.idleConnections).toBe(64))
    await settled()
    const before = { own: descriptorsOf(process.pid), spawner: descriptorsOf(pid) }
    const start = [
      () => runGit(['version'], { processes, repository }),
      () => runGit(shell('exit 3'), { processes, repository, hooks: true }),
    ]
    for (let i = 0; i < MANY; i += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, nth) => start[nth % start.length]?.()))
    }
    await settled()
    await eventually(() => {
      expect(descriptorsOf(pid)).toBe(before.spawner)
      // This process may still close what an earlier test left open.
      expect(descriptorsOf(process.pid)).toBeLessThanOrEqual(before.own)
    })
    expect(childrenOf(pid)).toEqual([])
  })
})

describe('after the process spawner is killed', () => {
  it('running processes fail, and the spawner is started again', async () => {
    const repository = await emptyRepository()
    const warn = vi.fn()
    const starter = await testSpawner(processes, warn)
    const { pid = 0 } = starter
    const git = spawnGit(shell('echo started; cat'), { processes, repository })
    await once(git.stdout, 'data')
    git.stdout.resume()
    process.kill(pid, 'SIGKILL')
    expect(await git.exited).toMatchObject({ code: null })
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('SIGKILL'))
    expect(await parentOfGit(repository)).toBe(process.pid)
    await eventually(async () =>
      expect([process.pid, pid]).not.toContain(await parentOfGit(repository)),
    )
  })

  it('running processes can still be stopped', async () => {
    const repository = await emptyRepository()
    const { pid = 0 } = await testSpawner(processes)
    const git = spawnGit(shell('echo started; sleep 1000'), { processes, repository })
    await once(git.stdout, 'data')
    process.kill(pid, 'SIGKILL')
    await eventually(() => expect(isAlive(pid)).toBe(false))
    git.stop()
    expect(await git.exited).toMatchObject({ code: null })
  })
})

it('another spawner replaces one that accepts no connections', async () => {
  const repository = await emptyRepository()
  const warn = vi.fn()
  const starter = await testSpawner(processes, warn)
  const { pid = 0 } = starter
  const git = spawnGit(shell('echo started; cat; exit 3'), { processes, repository })
  await once(git.stdout, 'data')
  git.stdout.resume()
  await rm(join(socketOf(pid), '..'), { recursive: true })
  await eventually(async () =>
    expect([process.pid, pid]).not.toContain(await parentOfGit(repository)),
  )
  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('no way to connect'))
  // The old one has a git to look after.
  expect(isAlive(pid)).toBe(true)
  git.stdin.end()
  expect(await git.exited).toMatchObject({ code: 3 })
  await eventually(() => expect(isAlive(pid)).toBe(false))
})

it('the server starts processes when no spawner can', async () => {
  const repository = await emptyRepository()
  const warned = new Promise((resolve) => {
    const starter = new ProcessSpawner(join(tmpdir(), 'there-is-no-such-program'), (message) => {
      starter.stop()
      resolve(message)
    })
    processes.spawner = starter
  })
  expect(await parentOfGit(repository)).toBe(process.pid)
  expect(await warned).toContain('Cannot find module')
})
