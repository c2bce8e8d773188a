/** A process that the next caller can use. */
export interface PooledProcess {
  /** Ends the process. Further calls have no effect. */
  end(): Promise<void>
}

/**
 * Idle processes, at most one for each repository. Starting a process takes longer than most of
 * its work.
 */
export class ProcessPool<T extends PooledProcess> {
  readonly #idle = new Map<number, { readonly process: T; readonly timer: NodeJS.Timeout }>()
  readonly #maxIdle: number
  readonly #maxIdleMs: number

  /**
   * @param maxIdle number of idle processes. The least recently used process is ended first.
   * @param maxIdleMs time after which an unused process is ended.
   */
  constructor(maxIdle: number, maxIdleMs: number) {
    this.#maxIdle = maxIdle
    this.#maxIdleMs = maxIdleMs
  }

  /** Removes the idle process of a repository from the pool and returns it, if there is one. */
  take(id: number): T | undefined {
    const entry = this.#idle.get(id)
    if (!entry) return undefined
    clearTimeout(entry.timer)
    this.#idle.delete(id)
    return entry.process
  }

  /** Adds an idle process. The pool ends the previous one of the repository, if there is one. */
  add(id: number, process: T): void {
    void this.drop(id)
    // The timer does not delay the end of the server.
    const timer = setTimeout(() => void this.drop(id), this.#maxIdleMs).unref()
    this.#idle.set(id, { process, timer })
    // A Map has the order of insertion, so the least recently used process comes first.
    const [oldest] = this.#idle.keys()
    if (this.#idle.size > this.#maxIdle && oldest !== undefined) void this.drop(oldest)
  }

  /** Ends the idle process of a repository. The next start of the server removes its leftovers. */
  async drop(id: number): Promise<void> {
    await this.take(id)
      ?.end()
      .catch(() => {})
  }

  /** Ends all idle processes. */
  async dropAll(): Promise<void> {
    await Promise.all([...this.#idle.keys()].map((id) => this.drop(id)))
  }
}
