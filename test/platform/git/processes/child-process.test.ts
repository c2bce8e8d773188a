import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import { deflateSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { runGit, spawnGit } from '../../../../src/platform/git/processes/child-process.ts'
import type { ProcessSpawner } from '../../../../src/platform/git/processes/process-spawner.ts'
import { GitProcesses } from '../../../../src/platform/git/processes/running-processes.ts'
import { repositoryPath } from '../../../../src/platform/git/repositories/repositories.ts'
import { readySpawner } from '../../../support/process-spawner.ts'
import { scratchFolder, testRepositories } from '../fixture.ts'

const processes = new GitProcesses()

async function emptyRepository(): Promise<string> {
  const repositories = await testRepositories(1)
  return repositoryPath(repositories, 1)
}

/** Arguments that make git run a program of the shell. */
const shell = (program: string) => ['-c', `alias.x=!${program}`, 'x']

/** Most that one instruction of a delta copies (gitformat-pack(5), "Deltified representation"). */
const MAX_COPY = 0xffffff

/** A pack of a blob, and of a delta that has it some times over. */
function deltaOf(blob: Buffer, times: number): Buffer {
  const id = createHash('sha1').update(`blob ${blob.length}\0`).update(blob).digest()
  const copy = Buffer.from([0b11110000, 0xff, 0xff, 0xff])
  const delta = Buffer.concat([
    ...[blob.length, blob.length * times].map(size7),
    ...Array<Buffer>(times).fill(copy),
  ])
  const objects = [
    entryHeader(3, blob.length),
    deflateSync(blob),
    entryHeader(7, delta.length),
    id,
    deflateSync(delta),
  ]
  const pack = Buffer.concat([Buffer.from('PACK\0\0\0\x02\0\0\0\x02', 'latin1'), ...objects])
  return Buffer.concat([pack, createHash('sha1').update(pack).digest()])
}

/** A number in groups of seven bits, the lowest first. */
function size7(size: number): Buffer {
  const bytes = [size % 128]
  for (let rest = Math.floor(size / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.push(rest % 128)
  return Buffer.from(bytes.map((byte, i) => (i < bytes.length - 1 ? byte | 128 : byte)))
}

/** Type and size of an object; the first byte has four bits of the size. */
function entryHeader(type: number, size: number): Buffer {
  return Buffer.concat([
    Buffer.from([128 | (type << 4) | (size % 16)]),
    size7(Math.floor(size / 16)),
  ])
}

/** Stores a pack as a push does. */
async function receive(repository: string, pack: Buffer) {
  const git = spawnGit(['index-pack', '--stdin', '--strict'], { processes, repository })
  git.stdout.resume()
  git.stdin.end(pack)
  return git.exited
}

describe.each([
  ['this process', false],
  ['a process for that', true],
])('a Git process that %s starts', (_, hasStarter) => {
  let starter: ProcessSpawner | undefined
  beforeAll(async () => {
    if (hasStarter) starter = await readySpawner(processes)
  })
  afterAll(() => starter?.stop())
  afterEach(() => vi.unstubAllEnvs())

  it('gets no configuration or environment of the machine', async () => {
    vi.stubEnv('GIT_CONFIG_PARAMETERS', "'user.name=environment'")
    vi.stubEnv('GIT_DIR', '/elsewhere')
    vi.stubEnv('BRANCHLINE_SECRET', 'of the server')
    const repository = await emptyRepository()
    const { stdout } = await runGit(['config', '--list', '--show-scope'], { processes, repository })
    expect(new Set(stdout.match(/^\w+/gm))).toEqual(new Set(['command', 'local']))
    const environment = await runGit(shell('env'), { processes, repository })
    expect(environment.stdout).not.toMatch(/SECRET|elsewhere|user\.name/)
  })

  it('takes input and reports its end', async () => {
    const repository = await emptyRepository()
    const good = await runGit(['hash-object', '--stdin'], { processes, repository }, 'hello\n')
    expect(good).toEqual({
      code: 0,
      stdout: 'ce013625030ba8dba906f756967f9e9ca394464a\n',
      stderr: '',
    })
    const bad = await runGit(['cat-file', '-t', 'nothing'], { processes, repository })
    expect(bad).toMatchObject({ code: 128, stdout: '', stderr: expect.stringContaining('nothing') })
  })

  it('can end before it has read its input', async () => {
    const repository = await emptyRepository()
    const { code } = await runGit(
      ['rev-parse', '--is-bare-repository'],
      { processes, repository },
      'x'.repeat(1_000_000),
    )
    expect(code).toBe(0)
  })

  it('can print any number of errors, of which the beginning is stored', async () => {
    const repository = await emptyRepository()
    const { stderr } = await runGit(shell('yes | head -c 1000000 >&2'), { processes, repository })
    expect(stderr).toHaveLength(8192)
  })

  it('is stopped with its descendants', async () => {
    const repository = await emptyRepository()
    const git = spawnGit(shell('sleep 1000 & echo started; wait'), { processes, repository })
    await once(git.stdout, 'data')
    git.stop()
    // It has not ended before its output has, and a helper that lived on would hold that open.
    expect((await git.exited).code).not.toBe(0)
  })

  it('can be stopped after its end', async () => {
    const repository = await emptyRepository()
    const git = spawnGit(['version'], { processes, repository })
    git.stdout.resume()
    await git.exited
    expect(() => git.stop()).not.toThrow()
  })

  it('talks to the server over descriptor 3 when it runs hooks', async () => {
    const repository = await emptyRepository()
    const git = spawnGit(shell('read -r question <&3; echo "no $question" >&3'), {
      processes,
      repository,
      hooks: true,
    })
    git.hooks?.write('way\n')
    expect(String((await once(git.hooks ?? git.stdout, 'data'))[0])).toBe('no way\n')
    git.stdout.resume()
    expect((await git.exited).code).toBe(0)
  })

  it('does not allocate the content of a small pack that expands to many GiB', async () => {
    const repository = await emptyRepository()
    await expect(receive(repository, deltaOf(Buffer.alloc(MAX_COPY), 80))).rejects.toMatchObject({
      kind: 'OUT_OF_MEMORY',
      message: expect.stringContaining('over limit 1073741824'),
    })
    expect(await receive(repository, deltaOf(Buffer.alloc(MAX_COPY), 2))).toMatchObject({ code: 0 })
  })

  it('has a memory limit and a time limit', async () => {
    const repository = await emptyRepository()
    const limit = 64 * 1024 ** 2
    expect(
      (await runGit(shell('ulimit -d'), { processes, repository, maxMemoryBytes: limit })).stdout,
    ).toBe(`${limit / 1024}\n`)
    await expect(
      runGit(shell('sleep 1000'), { processes, repository, timeoutMs: 50 }),
    ).rejects.toMatchObject({
      kind: 'TIMEOUT',
    })
  })

  it('shares the memory of all processes with other servers: its part, or what they leave', async () => {
    const repository = await emptyRepository()
    const limit = 64 * 1024 ** 2
    const reports: number[] = []
    const shared = {
      share: 0.5,
      bytesOfOthers: 0,
      report: (bytes: number) => reports.push(bytes),
    }
    const sharing = new GitProcesses()
    sharing.limitMemory(limit, () => {}, shared)
    // Keeps 40 MB in memory for a moment, which is more than its part.
    const fill = shell('(head -c 40000000 /dev/zero; sleep 1) | tail -c 40000000 | wc -c')
    const run = () => runGit(fill, { processes: sharing, repository })
    expect((await run()).stdout).toBe('40000000\n')
    expect(Math.max(...reports)).toBeGreaterThan(limit / 2)
    expect(reports.at(-1)).toBe(0)
    shared.bytesOfOthers = limit / 2
    expect((await run()).stderr).toContain('Killed')
  })

  it.each(['call', 'transfer'] as const)(
    'has a higher niceness than the server, for a %s, and no session behind those of others',
    async (priority) => {
      const repository = await emptyRepository()
      const git = spawnGit(shell('echo $$; read line'), { processes, repository, priority })
      const child = Number(String((await once(git.stdout, 'data'))[0]))
      const added = (hasStarter ? 5 : 0) + (priority === 'transfer' ? 10 : 0)
      const niceness = Math.min(getPriority() + added, constants.priority.PRIORITY_LOW)
      expect(getPriority(child)).toBe(niceness)
      // The niceness of a session counts against all other sessions of the machine (sched(7)).
      const autogroup = `/proc/${child}/autogroup`
      if (existsSync(autogroup)) expect(readFileSync(autogroup, 'utf8')).toContain(' nice 0\n')
      git.stop()
      await git.exited
    },
  )

  it('does not start in a folder that does not exist', async () => {
    const repository = `${await scratchFolder()}/nothing`
    await expect(runGit(['version'], { processes, repository })).rejects.toMatchObject({
      kind: 'NO_REPOSITORY',
    })
  })
})
