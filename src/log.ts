import pino, { type DestinationStream, type Logger } from 'pino'
import type { LogLevel } from './config.ts'
import { LogWriter } from './log-writer.ts'

/**
 * A log of JSON lines on stderr. Stdout belongs to the command's answer.
 *
 * Lines are written in batches, at the latest after half a second and when the process exits; a
 * process that is killed may lose the last of them.
 */
export function createLog(level: LogLevel): Logger {
  const writer = new LogWriter(process.stderr)
  process.on('exit', () => writer.flush())
  return createLogTo(writer, level)
}

/** The same log, written to a stream. */
export function createLogTo(destination: DestinationStream, level: LogLevel): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: createTimestamp(),
      formatters: { level: (label) => ({ level: label }) },
      // Nothing logs these on purpose; whoever logs a whole request by mistake must not leak a
      // credential.
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
 * Prints the time as pino's `isoTime` does, anew only when a millisecond has passed: under load
 * many lines share one.
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
