import pino, { type DestinationStream, type Logger } from 'pino'
import type { LogLevel } from './config.ts'
import { LogWriter } from './log-writer.ts'

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
