import type { Writable } from 'node:stream'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { LogLevel } from './config.ts'

/**
 * Creates a log of JSON lines on stderr. Stdout is for the output of commands.
 *
 * Lines are written in batches, at the latest after half a second and when the process exits. A
 * process that is killed may lose the last lines.
 */
export function createLog(level: LogLevel): Logger {
  const writer = new LogWriter(process.stderr)
  process.on('exit', () => writer.flush())
  return createLogTo(writer, level)
}

/**
 * Creates the log of one of several processes with one stderr. Each line has the number of the
 * process.
 */
export function createSharedLog(level: LogLevel, worker: number): Logger {
  const writer = new LogWriter(process.stderr, ATOMIC_BYTES)
  process.on('exit', () => writer.flush())
  return createLogTo(writer, level).child({ worker })
}

/** The kernel writes so many bytes into a pipe in one piece (PIPE_BUF, pipe(7)). */
const ATOMIC_BYTES = 4096

/** Creates a log that writes to a stream. */
export function createLogTo(destination: DestinationStream, level: LogLevel): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: createTimestamp(),
      formatters: { level: (label) => ({ level: label }) },
      // No line contains these on purpose. A request that is logged by mistake must not leak
      // credentials.
      redact: {
        paths: [
          'authorization',
          'cookie',
          'password',
          'token',
          '*.authorization',
          '*.cookie',
          '*.password',
          '*.token',
        ],
        censor: '[redacted]',
      },
    },
    destination,
  )
}

/**
 * Creates a function that prints the time as pino's `isoTime` does. The text is cached for a
 * millisecond, since many lines share one under load.
 */
function createTimestamp(): () => string {
  let printedMs = Number.NaN
  let text = ''
  return () => {
    const nowMs = Date.now()
    if (nowMs !== printedMs) {
      printedMs = nowMs
      text = `,"time":"${new Date(nowMs).toISOString()}"`
    }
    return text
  }
}

/** Size of a batch, about sixty lines. Each write is a system call. */
const BATCH_CHARACTERS = 12 * 1024

/** Longest delay of a line. */
const FLUSH_INTERVAL_MS = 500

/** Unread bytes beyond which lines are dropped, so that the log does not fill the memory. */
const MAX_WAITING_BYTES = 1024 * 1024

/**
 * Writes log lines in batches. A reader that stops reading or closes loses lines, but the server
 * continues.
 *
 * Pino's own destination does not work here: `flushSync` of sonic-boom 4 repeats a write that fails
 * with EPIPE forever, so that a server whose log reader has closed never ends. Node's stderr does
 * not block on pipes and sockets, and emits `error` when its reader has closed.
 */
class LogWriter {
  readonly #stream: Writable
  readonly #maxBatchBytes: number
  #batch = ''
  #droppedLines = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * @param stream whose `error` events the caller handles.
   * @param maxBatchBytes largest write of several lines.
   */
  constructor(stream: Writable, maxBatchBytes = Number.POSITIVE_INFINITY) {
    this.#stream = stream
    this.#maxBatchBytes = maxBatchBytes
  }

  /** Adds a line, which ends in a line break. */
  write(line: string): void {
    if (this.#stream.writableLength > MAX_WAITING_BYTES) {
      this.#droppedLines += 1
      return
    }
    const added = this.#droppedLines > 0 ? this.#droppedNotice() + line : line
    if (this.#exceedsBatch(added)) this.flush()
    this.#batch += added
    if (this.#batch.length >= BATCH_CHARACTERS) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_INTERVAL_MS).unref()
  }

  /** Writes the current batch to the stream. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#batch !== '') this.#stream.write(this.#batch)
    this.#batch = ''
  }

  #exceedsBatch(line: string): boolean {
    if (this.#maxBatchBytes === Number.POSITIVE_INFINITY || this.#batch === '') return false
    return Buffer.byteLength(this.#batch) + Buffer.byteLength(line) > this.#maxBatchBytes
  }

  #droppedNotice(): string {
    const notice = {
      level: 'warn',
      time: new Date().toISOString(),
      lines: this.#droppedLines,
      msg: 'log lines were dropped',
    }
    this.#droppedLines = 0
    return `${JSON.stringify(notice)}\n`
  }
}
