import { spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Number of lines to show of the output of a failed command. The last lines explain the failure.
 */
const TAIL_LINES = 60

/**
 * Several tools treat a build machine as a terminal. Node warns if colours are both requested and
 * disabled.
 */
const PLAIN = { NO_COLOR: '1', FORCE_COLOR: undefined }

/** npm needs some time to roll back after a signal. */
const STOP_GRACE_MS = 10_000

/**
 * A shell that becomes the command, and a guard process that waits for the end of standard input,
 * whose other end this process holds. If this process is killed, the guard ends the process group
 * of the command: a surviving npm would break the next set-up.
 */
const GUARDED =
  'exec 3<&0 </dev/null; (trap "" INT TERM; cat <&3; kill -KILL 0) >/dev/null 2>&1 & exec 3<&-; exec "$@"'

/** Process groups of the running commands. @type {Set<number>} */
const groups = new Set()
/** @type {NodeJS.Signals | undefined} */
let stoppingBy

/**
 * Forwards a signal. This process ends by the signal when the commands have ended, or at once at a
 * second signal.
 */
function stop(/** @type {NodeJS.Signals} */ signal) {
  if (stoppingBy !== undefined) return endBy(signal)
  stoppingBy = signal
  for (const group of groups) {
    try {
      process.kill(-group, signal)
    } catch {
      // The group has ended meanwhile.
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
 * Runs a command in the project, with the binaries of the project first in the path, without input,
 * and with both outputs joined. A missing command has the code 127, as in a shell. A command that a
 * signal ended has the code null.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, show?: boolean }} [options] `show` prints
 *   the output and does not store it
 * @returns {Promise<{ code: number | null, output: string }>}
 */
export function run(command, args, { cwd = root, env = {}, show = false } = {}) {
  return new Promise((resolve, reject) => {
    const path = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
    const out = show ? 'inherit' : 'pipe'
    // A separate process group, so that the descendants can be ended too.
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
 * Returns the last lines of the output of a command.
 * @param {string} output
 */
export function lastLines(output) {
  return output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n')
}
