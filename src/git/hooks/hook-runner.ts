import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ProcessLimit } from '../processes/process-limits.ts'
import { HOME_FOLDER, type HookLauncher, LAUNCHERS } from './hook-launchers.ts'
import { sweep } from './hook-processes.ts'
import {
  type HookResult,
  type HookRun,
  INPUT_FILE,
  markOf,
  superviseHook,
} from './hook-supervision.ts'

/** Scripts are work of their own beside Git's; more of them at a time take longer each. */
const MAX_RUNNING = 8

/** Each is a push, or a call, that waits. */
const MAX_WAITING = 64

/** What every script may count on: Git, and both ways to each of its streams. */
const PROBE = '#!/bin/sh\ngit --version >/dev/stderr && cat </dev/stdin\n'
const PROBE_TIMEOUT_MS = 10_000

/** How scripts are started, and why they are not in tighter ways. */
export interface HookReadiness {
  readonly kind: HookLauncher['kind']
  readonly failures: readonly string[]
}

/** Runs scripts of people, so many at a time, each in the tightest way that the machine has. */
export class HookRunner {
  readonly #scratch: string
  readonly #limit = new ProcessLimit(MAX_RUNNING, MAX_WAITING)
  #launcher: HookLauncher | undefined

  /**
   * @param scratch folder for the files of runs. It need not exist yet; what a crash leaves in
   *   there is others' to remove.
   */
  constructor(scratch: string) {
    this.#scratch = scratch
  }

  /**
   * Finds out how scripts can be started here, and ends those that a server has left that was
   * killed. Until then none is run.
   *
   * @param kinds to choose from.
   * @throws Error when they cannot be at all.
   */
  async prepare(
    kinds: readonly HookLauncher['kind'][] = ['bubblewrap', 'plain'],
  ): Promise<HookReadiness> {
    sweep(undefined, markOf(join(this.#scratch, '/')))
    const failures: string[] = []
    for (const launcher of LAUNCHERS.filter(({ kind }) => kinds.includes(kind))) {
      const { ending, output, stderr } = await this.#runBy(launcher, {
        hook: 'probe',
        script: PROBE,
        args: [],
        input: '',
        repository: this.#scratch,
        quarantine: undefined,
        env: {},
        timeoutMs: PROBE_TIMEOUT_MS,
        signal: undefined,
      })
      if (ending === 'passed') {
        this.#launcher = launcher
        return { kind: launcher.kind, failures }
      }
      failures.push(`${launcher.kind}: ${stderr.trim() || output.trim() || ending}`)
    }
    throw new Error(`Git hooks cannot be run on this machine (${failures.join('; ')})`)
  }

  /**
   * Runs a script to its end, and ends whatever it leaves behind.
   *
   * @throws GitError BUSY when too many wait already.
   */
  async run(order: HookRun): Promise<HookResult> {
    const launcher = this.#launcher
    if (!launcher) throw new Error('nobody has found out how hooks can be run')
    const leave = await this.#limit.acquire()
    try {
      return await this.#runBy(launcher, order)
    } finally {
      leave()
    }
  }

  /**
   * Everything is written for one run and removed behind it: what a script does to its files does
   * not reach the next run.
   */
  async #runBy(launcher: HookLauncher, order: HookRun): Promise<HookResult> {
    const { hook, script, input, repository, timeoutMs } = order
    const folder = join(this.#scratch, randomUUID())
    try {
      await mkdir(join(folder, HOME_FOLDER), { recursive: true, mode: 0o700 })
      await writeFile(join(folder, hook), script, { mode: 0o500 })
      await writeFile(join(folder, INPUT_FILE), input)
      const launch = launcher.launch({ folder, script: hook, repository, timeoutMs })
      const { output, ...result } = await superviseHook(folder, launch, order)
      return {
        ...result,
        output: output.replaceAll(folder, '/hook').replaceAll(repository, '/repository.git'),
      }
    } finally {
      // A script can make folders that cannot be removed so. The next start of the server sees to
      // them.
      await rm(folder, { recursive: true, force: true }).catch(() => {})
    }
  }
}
