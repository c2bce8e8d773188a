/** The shell sets a memory limit (setrlimit(2), RLIMIT_DATA) and replaces itself with Git. */
const LIMITED = ['-c', 'ulimit -d "$0" 2>/dev/null; exec git "$@"']

/**
 * Returns the command that runs Git with a memory limit. A lower limit that exists already stays.
 *
 * The limit is on writable memory. Mapped files, such as packs, do not count.
 *
 * @param maxBytes limit of each process that the command starts.
 * @param args arguments of Git, which the shell does not interpret.
 * @returns a program and its arguments.
 */
export function limitedCommand(
  maxBytes: number,
  args: readonly string[],
): readonly [string, readonly string[]] {
  return ['sh', [...LIMITED, String(Math.floor(maxBytes / 1024)), ...args]]
}
