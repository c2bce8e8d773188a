import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createProcessSlots } from '../processes/process-slots.ts'
import { currentHolder } from '../processes/readers.ts'
import { HOME_FOLDER, type HookLauncher, LAUNCHERS } from './hook-launchers.ts'
import {
  type HookResult,
  type HookRun,
  INPUT_FILE,
  markOf,
  superviseHook,
  sweep,
} from './hook-supervision.ts'

/** Scripts at a time. */
const MAX_RUNNING = 8

/** Waiting scripts. A push or a call waits for each. */
const MAX_WAITING = 64

/** Checks what every script needs: Git, and standard streams that can be opened by name. */
const PROBE = '#!/bin/sh\ngit --version >/dev/stderr && cat </dev/stdin\n'
const PROBE_TIMEOUT_MS = 10_000

/** The launcher in use, and why more restrictive ones failed. */
interface HookReadiness {
  readonly kind: HookLauncher['kind']
  readonly failures: readonly string[]
}

/** Ends the scripts of a killed server, by its scratch folder. */
export function endScripts(scratch: string): void {
  sweep(undefined, markOf(join(scratch, '/')))
}

/** Runs hook scripts of users with the most restrictive launcher that the system supports. */
export class HookRunner {
  readonly #scratch: string
  readonly #slots = createProcessSlots({ max: MAX_RUNNING, maxWaiting: MAX_WAITING })
  #launcher: HookLauncher | undefined

  /**
   * @param scratch folder for the files of runs. It need not exist yet. The caller removes files
   *   that a crash has left in the folder.
   */
  constructor(scratch: string) {
    this.#scratch = scratch
  }

  /**
   * Selects the launcher and ends the scripts of a killed server. Must be called before `run`.
   *
   * @param kinds launchers to choose from.
   * @throws Error when none of them works.
   */
  async prepare(
    kinds: readonly HookLauncher['kind'][] = ['bubblewrap', 'plain'],
  ): Promise<HookReadiness> {
    endScripts(this.#scratch)
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
   * Runs a script to its end and ends all its processes.
   *
   * @throws GitError BUSY when too many scripts wait.
   */
  async run(run: HookRun): Promise<HookResult> {
    const launcher = this.#launcher
    if (!launcher) throw new Error('hooks cannot run before the launcher is selected')
    const release = await this.#slots.acquire({ holder: currentHolder() })
    try {
      return await this.#runBy(launcher, run)
    } finally {
      release()
    }
  }

  /** Runs a script in a new folder, so changes of its files do not affect the next run. */
  async #runBy(launcher: HookLauncher, run: HookRun): Promise<HookResult> {
    const { hook, script, input, repository, timeoutMs } = run
    const folder = join(this.#scratch, randomUUID())
    try {
      await mkdir(join(folder, HOME_FOLDER), { recursive: true, mode: 0o700 })
      await writeFile(join(folder, hook), script, { mode: 0o500 })
      await writeFile(join(folder, INPUT_FILE), input)
      const launch = launcher.launch({ folder, script: hook, repository, timeoutMs })
      const { output, ...result } = await superviseHook(folder, launch, run)
      return {
        ...result,
        output: output.replaceAll(folder, '/hook').replaceAll(repository, '/repository.git'),
      }
    } finally {
      // A script can create folders that cannot be removed. The next start of the server tries
      // again.
      await rm(folder, { recursive: true, force: true }).catch(() => {})
    }
  }
}
