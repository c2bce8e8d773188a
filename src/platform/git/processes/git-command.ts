import { NICENESS, type Priority } from './priority.ts'

/** Limits of a Git process. */
export interface GitLimits {
  /** Limit of each process that the command starts. A lower limit that exists already stays. */
  readonly maxMemoryBytes: number
  readonly priority: Priority
}

/**
 * Returns the command that runs Git with a memory limit and a priority. The shell sets the limit
 * (setrlimit(2), RLIMIT_DATA) and replaces itself with Git.
 *
 * The limit is on writable memory. Mapped files, such as packs, do not count.
 *
 * @param args arguments of Git, which the shell does not interpret.
 * @returns a program and its arguments.
 */
export function limitedCommand(
  { maxMemoryBytes, priority }: GitLimits,
  args: readonly string[],
): readonly [string, readonly string[]] {
  const niceness = NICENESS[priority]
  const git = niceness === 0 ? 'git' : `nice -n ${niceness} git`
  const script = `ulimit -d "$0" 2>/dev/null; exec ${git} "$@"`
  return ['sh', ['-c', script, String(Math.floor(maxMemoryBytes / 1024)), ...args]]
}
