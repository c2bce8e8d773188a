import { spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * What a failed command said last is what explains it; the rest of a compiler's output buries that.
 */
const TAIL_LINES = 60

/**
 * Several tools take a build machine for a terminal. Node warns when it is told to have colour and
 * to have none.
 */
const PLAIN = { NO_COLOR: '1', FORCE_COLOR: undefined }

/** npm takes its time to roll back when it is told to stop. */
const STOP_GRACE_MS = 10_000

/**
 * A shell that becomes the command, beside a guard that waits for the end of standard input, whose
 * other end this process holds. Should this process be killed outright, the guard ends the
 * command's whole group: an npm that lives on would spoil the next set-up.
 */
const GUARDED =
  'exec 3<&0 </dev/null; (trap "" INT TERM; cat <&3; kill -KILL 0) >/dev/null 2>&1 & exec 3<&-; exec "$@"'

/** Process groups of the commands that run. @type {Set<number>} */
const groups = new Set()
/** @type {NodeJS.Signals | undefined} */
let stoppingBy

/**
 * Passes a signal on; this process ends by it once the commands have ended. A second signal does
 * not wait.
 */
function stop(/** @type {NodeJS.Signals} */ signal) {
  if (stoppingBy !== undefined) return endBy(signal)
  stoppingBy = signal
  for (const group of groups) {
    try {
      process.kill(-group, signal)
    } catch {
      // It ended by itself meanwhile.
    }
  }
  setTimeout(endBy, STOP_GRACE_MS, signal)
}

function endBy(/** @type {NodeJS.Signals} */ signal) {
  stopForwarding()
  process.kill(process.pid, signal)
}

function startForwarding() {
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
}

function stopForwarding() {
  process.off('SIGINT', stop)
  process.off('SIGTERM', stop)
}

/**
 * Runs a command in the project, with the project's own binaries first on the path, nothing to
 * read, and its two outputs joined. A command that is not there has code 127, like in a shell, and
 * one that a signal ended has code null.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string>, show?: boolean }} [options] `show` passes
 *   the output on instead of keeping it
 * @returns {Promise<{ code: number | null, output: string }>}
 */
export function run(command, args, { cwd = root, env = {}, show = false } = {}) {
  return new Promise((resolve, reject) => {
    const path = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
    const out = show ? 'inherit' : 'pipe'
    // A process group of its own, so that the grandchildren can be ended too.
    const child = spawn('sh', ['-c', GUARDED, 'sh', command, ...args], {
      cwd,
      detached: true,
      env: { ...process.env, ...(process.stdout.isTTY ? {} : PLAIN), PATH: path, ...env },
      stdio: ['pipe', out, out],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        output += text
      })
    }
    const { pid } = child
    if (pid !== undefined) {
      if (groups.size === 0) startForwarding()
      groups.add(pid)
    }
    child.on('error', reject)
    child.on('close', (code) => {
      if (pid !== undefined) groups.delete(pid)
      if (stoppingBy === undefined) {
        if (groups.size === 0) stopForwarding()
        resolve({ code, output })
      } else if (groups.size === 0) endBy(stoppingBy)
    })
  })
}

/**
 * The last lines of a command's output.
 * @param {string} output
 */
export function lastLines(output) {
  return output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n')
}
