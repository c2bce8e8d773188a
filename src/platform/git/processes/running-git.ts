import type { Duplex, Readable, Writable } from 'node:stream'

/** The end of a child process. */
export interface Exit {
  /** Exit status; null when a signal ended it. */
  readonly code: number | null
  /** Beginning of stderr. For the log only, since the text may contain paths of this machine. */
  readonly stderr: string
}

/** A running Git process with its limits. */
export interface GitProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** The server's end of the hook channel, for a process that runs hooks. */
  readonly hooks: Duplex | undefined
  /**
   * Resolves when the process and its output have ended. Rejects when the process could not be
   * started, and with a GitError when it exceeded a limit (TIMEOUT, OUT_OF_MEMORY, or BUSY when all
   * Git processes together took too much memory) or the repository does not exist (NO_REPOSITORY).
   */
  readonly exited: Promise<Exit>
  /** Ends the process and its descendants. */
  stop(): void
}

/** A Git process, started by this process or by the process spawner. */
export interface RunningGit extends Pick<GitProcess, 'stdin' | 'stdout' | 'hooks'> {
  /** Returns the process id. Undefined until the process runs, and after its end. */
  pid(): number | undefined
  /** Resolves when the process and its output have ended. Rejects when it could not be started. */
  readonly exited: Promise<Exit>
  /**
   * Signals the process group. Returns false without a signal when the group is empty, since its id
   * may belong to another group by then.
   */
  signal(name: NodeJS.Signals): boolean
}
