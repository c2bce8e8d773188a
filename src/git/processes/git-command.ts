/**
 * Starts git with a limit of what it may allocate (setrlimit(2), RLIMIT_DATA), which the shell sets
 * and goes.
 */
const LIMITED = ['-c', 'ulimit -d "$0" 2>/dev/null; exec git "$@"']

/**
 * The command that runs git with a limit of its memory. Where the limit is lower already it stays.
 *
 * The limit is on what is written to: files that are mapped, such as packs, do not count.
 *
 * @param maxBytes of each process of this git.
 * @param args the arguments of git, none of which the shell looks at.
 * @returns a program and its arguments.
 */
export function limitedCommand(
  maxBytes: number,
  args: readonly string[],
): readonly [string, readonly string[]] {
  return ['sh', [...LIMITED, String(Math.floor(maxBytes / 1024)), ...args]]
}
