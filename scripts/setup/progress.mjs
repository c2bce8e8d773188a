/** A build machine that prints nothing for some minutes is taken for dead, and so is a terminal. */
const REMINDER_MS = 30_000

/**
 * A failure with a sentence that says what to do, and optionally the output of the command that
 * failed.
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

const colours = { ok: 32, FAIL: 31, skip: 33, '..': 90 }

/**
 * Prints one line, `mark text`, in colour when `out` is a terminal.
 * @param {keyof typeof colours} mark
 * @param {string} text
 * @param {NodeJS.WriteStream} [out] standard output belongs to the server's ready line, hence the
 *   default
 */
export function printLine(mark, text, out = process.stderr) {
  const padded = mark.padEnd(4)
  const coloured =
    out.isTTY && !process.env.NO_COLOR ? `\x1b[${colours[mark]}m${padded}\x1b[0m` : padded
  out.write(`${coloured} ${text}\n`)
}

/**
 * The time since `startedAtMs` (of `performance.now()`) in seconds, such as `1.2 s`.
 * @param {number} startedAtMs
 */
export function secondsSince(startedAtMs) {
  return `${((performance.now() - startedAtMs) / 1000).toFixed(1)} s`
}

/**
 * Does one step of the set-up and prints its result with the time it took. `work` gets a function
 * that prints what it is about to do.
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
 * Runs a script's work. A `Failure`, or a file that may not be written, ends the process with a
 * sentence and exit code 1; any other error is a mistake in the script and keeps its stack.
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
 * The one mistake of the file system's own that people make: a clone that belongs to someone else,
 * a cache on a read-only disk.
 */
function refusedWrite(/** @type {unknown} */ error) {
  if (!(error instanceof Error) || !('path' in error) || !('code' in error)) return undefined
  if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(String(error.code))) return undefined
  return new Failure(
    `${error.path} cannot be written (${error.code}): run this as the owner of the clone, and for a cache elsewhere set XDG_CACHE_HOME.`,
  )
}
