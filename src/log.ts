import pino, { type DestinationStream, type Logger } from 'pino'
import type { LogLevel } from './config.ts'

/** Bytes gathered before a write: a line for each call would otherwise be a system call for each call. */
const BUFFERED_BYTES = 4096

/** Longest that a line stays in the buffer. */
const FLUSH_INTERVAL_MS = 500

/**
 * A log of JSON lines on stderr. Stdout belongs to the command's answer.
 *
 * Lines are written in batches, at the latest after half a second and when the process exits; a process that is killed
 * may lose the last of them.
 */
export function createLog(level: LogLevel): Logger {
  const destination = pino.destination({ dest: 2, sync: false, minLength: BUFFERED_BYTES })
  setInterval(() => destination.flush(), FLUSH_INTERVAL_MS).unref()
  process.on('exit', () => destination.flushSync())
  return createLogTo(destination, level)
}

/** The same log, written to a stream. */
export function createLogTo(destination: DestinationStream, level: LogLevel): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Nothing logs these on purpose; whoever logs a whole request by mistake must not leak a credential.
      redact: {
        paths: ['authorization', 'cookie', 'password', 'token', '*.authorization', '*.cookie', '*.password', '*.token'],
        censor: '[redacted]',
      },
    },
    destination,
  )
}
