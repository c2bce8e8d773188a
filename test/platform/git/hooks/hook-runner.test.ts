import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { HookLauncher } from '../../../../src/platform/git/hooks/hook-launchers.ts'
import { HookRunner } from '../../../../src/platform/git/hooks/hook-runner.ts'
import {
  familyOf,
  type HookResult,
  type HookRun,
} from '../../../../src/platform/git/hooks/hook-supervision.ts'
import { execFileSync } from '../../../support/programs.ts'
import { isLongTier } from '../../../support/tier.ts'
import { scratchFolder } from '../fixture.ts'

/** Runs that are stopped in the 32 milliseconds in which one starts. */
const STOPPED_RUNS = isLongTier ? 64 : 16
const STEP_MS = isLongTier ? 1 : 2

/**
 * Whether scripts can be run in a way on this machine; the reason why not, for the name of what is
 * skipped.
 */
async function whyNot(kind: HookLauncher['kind']): Promise<string> {
  const folder = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim()
  const failure = await new HookRunner(folder).prepare([kind]).then(
    () => '',
    (error: Error) => error.message,
  )
  execFileSync('rm', ['-r', folder])
  return failure
}

interface Machine {
  readonly folder: string
  readonly repository: string
  readonly runner: HookRunner
  run(script: string, order?: Partial<HookRun>): Promise<HookResult>
}

/** A repository with a quarantine, and a runner, for one test. */
async function machine(kind: HookLauncher['kind']): Promise<Machine> {
  const folder = await scratchFolder()
  const repository = join(folder, '1.git')
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', repository])
  const runner = new HookRunner(join(folder, 'scratch'))
  await runner.prepare([kind])
  const order: Omit<HookRun, 'script'> = {
    hook: 'pre-receive',
    args: [],
    input: '',
    repository,
    quarantine: undefined,
    env: {},
    timeoutMs: 20_000,
    signal: undefined,
  }
  return {
    folder,
    repository,
    runner,
    run: (script, more) => runner.run({ ...order, script, ...more }),
  }
}

afterEach(() => vi.unstubAllEnvs())

describe.each(['bubblewrap', 'plain'] as const)('a hook (%s)', async (kind) => {
  const obstacle = await whyNot(kind)
  const test = it.skipIf(obstacle !== '')
  const testSandbox = it.skipIf(obstacle !== '' || kind === 'plain')
  if (obstacle !== '') it.skip(obstacle, () => {})

  test('ends with all its processes, however early it is stopped', async () => {
    const { run } = await machine(kind)
    const times = Array.from({ length: STOPPED_RUNS }, (_, i) => 1 + ((i * STEP_MS) % 32))
    const results = await Promise.all(times.map((timeoutMs) => run('sleep 1000', { timeoutMs })))
    expect(new Set(results.map(({ ending }) => ending))).toEqual(new Set(['timeout']))
  })

  test('gets arguments and input, and its outputs stay in order', async () => {
    const { run } = await machine(kind)
    const script =
      '#!/bin/sh\necho "$(basename $0) $#: $2"\ncat /dev/stdin\necho two >/dev/stderr\necho three >&2\necho four\nexit 3\n'
    const result = await run(script, { args: ['a', 'b c'], input: 'one\n' })
    expect(result).toEqual({
      ending: 'failed',
      output: 'pre-receive 2: b c\none\ntwo\nthree\nfour\n',
      stderr: '',
    })
  })

  test.each([
    ['the shell, unless it says otherwise', 'exit 0', 'passed', ''],
    [
      'the interpreter of its first line',
      '#!/usr/bin/env -S awk -f\nBEGIN { print "awk"; exit 0 }\n',
      'passed',
      'awk\n',
    ],
    ['nothing that is not there', '#!/no/such/program\n', 'failed', '/hook/pre-receive: not found'],
  ])('is run by %s', async (_, script, ending, output) => {
    const { run } = await machine(kind)
    expect(await run(script)).toMatchObject({ ending, output: expect.stringContaining(output) })
  })

  test('gets a clean environment and no descriptors', async () => {
    vi.stubEnv('BRANCHLINE_TEST_SECRET', 'hidden')
    const { run } = await machine(kind)
    const { output } = await run('env; ls -l /proc/self/fd', { env: { GITEA_REPO_ID: '7' } })
    expect(output).toContain('GITEA_REPO_ID=7\n')
    expect(output).not.toContain('hidden')
    const open = [...output.matchAll(/ (\d+) -> (.*)/g)].flatMap(([, fd, target]) =>
      Number(fd) > 2 ? target : [],
    )
    // The shell has the script open, and `ls` what it lists.
    expect(
      open.filter(
        (target) => !/^(\/dev\/null|\/hook\/pre-receive|\/proc\/\d+\/fd)$/.test(target ?? ''),
      ),
    ).toEqual([])
    expect(output).toMatch(/ 2 -> /)
  })

  test('can read the repository and the quarantine', async () => {
    const { run, repository } = await machine(kind)
    const quarantine = join(repository, 'objects', 'tmp_objdir-incoming-x')
    await mkdir(quarantine)
    const env = { ...process.env, GIT_OBJECT_DIRECTORY: quarantine }
    const write = ['-C', repository, 'hash-object', '-w', '--stdin']
    const id = execFileSync('git', write, { env, input: 'new\n', encoding: 'utf8' }).trim()
    const script = `git cat-file -p ${id} && test -f $GIT_QUARANTINE_PATH/${id.replace(/^../, '$&/')} && pwd`
    const { ending, output } = await run(script, { quarantine })
    expect([ending, output]).toEqual(['passed', 'new\n/repository.git\n'])
    // Git itself lets nobody move refs from there.
    const moved = await run(`git update-ref refs/heads/x ${id}`, { quarantine })
    expect(moved).toMatchObject({ ending: 'failed', output: expect.stringContaining('quarantine') })
  })

  testSandbox(
    'cannot add files to the quarantine, where Git would follow symbolic links',
    async () => {
      const { run, repository } = await machine(kind)
      const quarantine = join(repository, 'objects', 'tmp_objdir-incoming-x')
      await mkdir(quarantine)
      const script =
        'ln -s ../../.. $GIT_QUARANTINE_PATH/loot; mkdir $GIT_QUARANTINE_PATH/info; : >$GIT_QUARANTINE_PATH/x'
      const { output } = await run(script, { quarantine })
      expect(output.match(/Read-only file system/g)).toHaveLength(3)
      expect(await readdir(quarantine)).toEqual([])
    },
  )

  test('leaves no files and finds no files of other runs', async () => {
    const { run, folder } = await machine(kind)
    await run('touch "$HOME/left" "$TMPDIR/left"; mkdir -m 0 "$HOME/closed"; echo exit 1 > "$0"')
    const { output } = await run('ls -A "$HOME"')
    expect(output).toBe('')
    expect(await readdir(join(folder, 'scratch'))).toEqual([])
  })

  test('is stopped with all its processes after the time limit', async () => {
    const { run } = await machine(kind)
    const sleeper = 'trap "" TERM INT HUP; sleep 1000 & echo started; read line; wait'
    // Longer than a busy machine takes to start the script.
    expect(await run(sleeper, { timeoutMs: 3_000 })).toMatchObject({
      ending: 'timeout',
      output: 'started\n',
    })
  })

  test('is stopped by its signal', async () => {
    const { run } = await machine(kind)
    const gone = new AbortController()
    const running = run('sleep 1000', { signal: gone.signal })
    gone.abort()
    expect(await running).toMatchObject({ ending: 'aborted' })
    expect(await run('exit 0', { signal: gone.signal })).toMatchObject({ ending: 'aborted' })
  })

  test.each([
    [
      'is cut',
      'yes | head -c 100000; echo end',
      'passed',
      65_536 + '\n(the rest is left out)\n'.length,
    ],
    ['that never ends ends it', 'yes', 'output', 65_536 + '\n(the rest is left out)\n'.length],
    [
      'of a gibibyte ends it',
      'head -c 1073741824 /dev/zero',
      'output',
      65_536 + '\n(the rest is left out)\n'.length,
    ],
  ])('prints what people read: output that is long %s', async (_, script, ending, length) => {
    const { run } = await machine(kind)
    const result = await run(script)
    expect([result.ending, result.output.length]).toEqual([ending, length])
  })

  test('leaves no processes', async () => {
    const { run } = await machine(kind)
    // One in the background, one that has left its session, one that has left and holds the output
    // open.
    const script = 'sleep 1000 & setsid sleep 1000 >/dev/null 2>&1 & (setsid sleep 1000 &)'
    const mark = randomUUID()
    expect((await run(script, { env: { HOOK_TEST: mark } })).ending).toBe('passed')
    // A killed process is there until the kernel has freed its memory.
    const marked = async () => {
      const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
      const environments = await Promise.all(
        pids.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')),
      )
      return environments.filter((text) => text.includes(mark))
    }
    await expect.poll(marked).toEqual([])
  })

  test('cannot fill the machine with processes', async () => {
    const { run } = await machine(kind)
    const before = familyOf(process.pid).length
    // Bounded, for the day on which nothing else bounds it.
    const bomb = 'f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 1000; }; f 10'
    expect((await run(bomb)).ending).toBe('processes')
    await expect.poll(() => familyOf(process.pid).length).toBeLessThanOrEqual(before)
  })

  test('cannot exceed the limits of memory, files and CPU time', async () => {
    const { run } = await machine(kind)
    const { output } = await run('ulimit -c; ulimit -n; ulimit -t; nice', { timeoutMs: 9_500 })
    expect(output.split('\n').slice(0, 3)).toEqual(['0', '1024', '11'])
    expect(Number(output.split('\n')[3])).toBeGreaterThanOrEqual(10)
    const hog = '#!/usr/bin/env perl\nmy $x = "x" x 2_000_000_000; exit 0;\n'
    expect((await run(hog)).ending).toBe('failed')
  })

  testSandbox('can write only to temporary folders in memory', async () => {
    const { run, folder, repository } = await machine(kind)
    await writeFile(join(folder, 'secret'), 'hidden')
    const places = [
      '/x',
      '/usr/x',
      '/etc/x',
      '/dev/x',
      '/hook/x',
      '/repository.git/x',
      '/repository.git/config',
    ]
    const script = `${places.map((place) => `(echo x >>${place}) 2>/dev/null && echo ${place};`).join(' ')}
      ls ${folder} /root /home /var /proc/1/root/var 2>/dev/null; cat ${join(folder, 'secret')} 2>/dev/null
      git update-ref refs/heads/x HEAD 2>/dev/null; git config core.fsmonitor x 2>/dev/null
      mount -o remount,rw /usr 2>/dev/null && echo mounted; unshare -Ur true 2>/dev/null && echo unshared
      echo x > /tmp/x && echo own`
    expect((await run(script)).output).toBe('own\n')
    expect(await readFile(join(repository, 'config'), 'utf8')).not.toContain('x\n')
  })

  testSandbox('has no network and does not see other processes', async () => {
    const { run } = await machine(kind)
    const { output } = await run(
      'tail -n +3 /proc/net/dev | grep -v "^ *lo:"; ls /proc | grep -c "^[0-9]"',
    )
    expect(Number(output.trim())).toBeLessThan(10)
  })

  test('waits for a slot when many run, and is refused when too many wait', async () => {
    const { run } = await machine(kind)
    const gone = new AbortController()
    const running = Array.from({ length: 8 + 64 }, () => run('sleep 1000', { signal: gone.signal }))
    await expect(run('exit 0')).rejects.toMatchObject({ kind: 'BUSY' })
    gone.abort()
    expect((await Promise.all(running)).every(({ ending }) => ending === 'aborted')).toBe(true)
    expect((await run('exit 0')).ending).toBe('passed')
  })
})

describe('the hook runner', () => {
  let folder: string
  beforeAll(async () => {
    folder = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim()
  })

  it('reports missing programs', async () => {
    vi.stubEnv('PATH', folder)
    await expect(new HookRunner(folder).prepare()).rejects.toThrow()
  })

  it('ends scripts that a killed server has left', async () => {
    const env = { PATH: process.env.PATH, HOOK_RUN: join(folder, randomUUID()) }
    const left = spawn('sleep', ['1000'], { env, detached: true })
    const ended = once(left, 'exit')
    await new HookRunner(folder).prepare()
    expect(await ended).toEqual([null, 'SIGKILL'])
  })

  it('runs no script before a launcher is selected', async () => {
    await expect(new HookRunner(folder).run({} as HookRun)).rejects.toThrow(
      'before the launcher is selected',
    )
  })
})
