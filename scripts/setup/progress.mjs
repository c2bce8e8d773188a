/** Interval of reminders. Build machines end commands that print nothing for some minutes. */
const REMINDER_MS = 30_000

/**
 * A failure with a sentence that says what to do, and optionally with the output of the failed
 * command.
 */
export class Failure extends Error {
  /**
   * @param {string} sentence
   * @param {string} [output]
   */
  constructor(sentence, output = '') {
    super(sentence)
    this.output = output
  }
}

const colours = { ok: 32, cost: 90, FAIL: 31, UNSTABLE: 33, skip: 33, '..': 90 }

/**
 * Prints one line, `mark text`, in colour if `out` is a terminal.
 * @param {keyof typeof colours} mark
 * @param {string} text
 * @param {NodeJS.WriteStream} [out] standard error by default, because standard output has the
 *   ready line of the server
 */
export function printLine(mark, text, out = process.stderr) {
  const padded = mark.padEnd(4)
  const coloured =
    out.isTTY && !process.env.NO_COLOR ? `\x1b[${colours[mark]}m${padded}\x1b[0m` : padded
  out.write(`${coloured} ${text}\n`)
}

/**
 * Returns the time since `startedAtMs` (of `performance.now()`) in seconds, such as `1.2 s`.
 * @param {number} startedAtMs
 */
export function secondsSince(startedAtMs) {
  return `${((performance.now() - startedAtMs) / 1000).toFixed(1)} s`
}

/**
 * Runs one step of the set-up and prints its result and duration. `work` receives a function that
 * prints what it is about to do.
 * @param {string} name
 * @param {(say: (what: string) => void) => Promise<string>} work resolves to the result in a few
 *   words
 */
export async function step(name, work) {
  const startedAtMs = performance.now()
  const say = (/** @type {string} */ what) => printLine('..', `${name}: ${what}`)
  const reminder = setInterval(
    () => say(`still at work after ${secondsSince(startedAtMs)}`),
    REMINDER_MS,
  )
  try {
    const result = await work(say)
    printLine('ok', `${name}: ${result} (${secondsSince(startedAtMs)})`)
  } finally {
    clearInterval(reminder)
  }
}

/**
 * Runs the work of a script. A `Failure`, or a file that cannot be written, ends the process with a
 * sentence and the exit code 1. Any other error is a fault of the script and keeps its stack.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function explainFailure(work) {
  try {
    return await work()
  } catch (error) {
    const failure = error instanceof Failure ? error : refusedWrite(error)
    if (failure === undefined) throw error
    if (failure.output) process.stderr.write(`${failure.output}\n`)
    printLine('FAIL', failure.message)
    process.exit(1)
  }
}

/**
 * Returns a sentence for frequent errors of the file system: a clone of another user, a cache on a
 * read-only disk.
 */
function refusedWrite(/** @type {unknown} */ error) {
  if (!(error instanceof Error) || !('path' in error) || !('code' in error)) return undefined
  if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(String(error.code))) return undefined
  return new Failure(
    `${error.path} cannot be written (${error.code}): run this as the owner of the clone, and for a cache elsewhere set XDG_CACHE_HOME.`,
  )
}
