import type { Duplex, Readable, Writable } from 'node:stream'
/** How a child process ended. */
export interface Exit {
  /** Exit status; null when a signal ended it. */
  readonly code: number | null
  /**
   * What it wrote to stderr, as far as it is kept. For the log: it may name paths of this machine.
   */
  readonly stderr: string
}

/** A running git. */
export interface GitProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** The other end of the hooks' descriptor, on a process that runs hooks. */
  readonly hooks: Duplex | undefined
  /**
   * Resolves when it and its output have ended. Rejects when it could not be started, and by a
   * GitError when it was ended or failed for a reason of ours: NO_REPOSITORY when there is no
   * repository, TIMEOUT, OUT_OF_MEMORY, BUSY when all gits together took too much memory.
   */
  readonly exited: Promise<Exit>
  /** Ends it and everything it started. */
  stop(): void
}

/** A git, by whomever it was started. */
export interface RunningGit extends Pick<GitProcess, 'stdin' | 'stdout' | 'hooks'> {
  /** Its process, once it has one. */
  pid(): number | undefined
  /** Resolves when it and its output have ended. Rejects when it could not be started. */
  readonly exited: Promise<Exit>
  /**
   * Signals it and everything it started. Returns whether there was anything to signal: a group
   * that is empty may not be, since its id can be anybody's by now.
   */
  signal(name: NodeJS.Signals): boolean
}
