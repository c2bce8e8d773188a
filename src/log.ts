import pino, { type DestinationStream, type Logger } from 'pino'
import type { LogLevel } from './config.ts'

/**
 * Bytes gathered before a write, some sixty lines. A write takes a thread of the pool that hashes passwords and a turn
 * of the event loop. sonic-boom, which writes, wants less than 16 KiB.
 */
const BUFFERED_BYTES = 12 * 1024

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
      timestamp: createTimestamp(),
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

/** Prints the time as pino's `isoTime` does, anew only when a millisecond has passed: under load many lines share one. */
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
