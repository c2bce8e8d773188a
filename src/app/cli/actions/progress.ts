import type { Progress } from '../../../forge/administration/archive.ts'

/** The time between two lines on a terminal, and in a log. */
const TERMINAL_INTERVAL_MS = 1_000
const LOG_INTERVAL_MS = 10_000

/** Prints how far a command has come on standard error, until it is stopped. */
export function reportProgress(): { readonly progress: Progress; stop(): void } {
  const progress: Progress = { rows: 0, checkedRows: 0, repositories: 0, files: 0, attachments: 0 }
  const intervalMs = process.stderr.isTTY ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS
  const timer = setInterval(() => {
    process.stderr.write(`so far: ${describeProgress(progress)}\n`)
  }, intervalMs)
  return { progress, stop: () => clearInterval(timer) }
}

/** Describes what an archive has, or what was restored of it. */
export function describeProgress(progress: Progress): string {
  const { rows, checkedRows, repositories, files, attachments } = progress
  const checked = checkedRows > 0 ? ` (${checkedRows} compared with the backup)` : ''
  return `${rows} rows${checked}, ${repositories} repositories with ${files} files, ${attachments} attachments`
}
