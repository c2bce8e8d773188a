/** A process that somebody else may need in a moment. */
export interface PooledProcess {
  /** Ends it. Twice is the same as once. */
  end(): Promise<void>
}

/**
 * Processes that have done what they were started for, one of each repository: the next who wants
 * the same need not start one, which takes longer than most of what they do.
 */
export class ProcessPool<T extends PooledProcess> {
  readonly #idle = new Map<number, { readonly item: T; readonly timer: NodeJS.Timeout }>()
  readonly #maxKept: number
  readonly #keptMs: number

  /**
   * @param maxKept repositories of which one is kept, those used last.
   * @param keptMs after which one that nobody wants is ended.
   */
  constructor(maxKept: number, keptMs: number) {
    this.#maxKept = maxKept
    this.#keptMs = keptMs
  }

  /** The one of a repository, if there is one; it is the caller's from then on. */
  take(id: number): T | undefined {
    const kept = this.#idle.get(id)
    if (!kept) return undefined
    clearTimeout(kept.timer)
    this.#idle.delete(id)
    return kept.item
  }

  /**
   * Keeps what the caller is done with. Of two of a repository the one that was there before is
   * ended.
   */
  keep(id: number, item: T): void {
    void this.drop(id)
    // Whatever else is going on, the server may end before that.
    const timer = setTimeout(() => void this.drop(id), this.#keptMs).unref()
    this.#idle.set(id, { item, timer })
    // A Map keeps the order of insertion: the one used longest ago comes first.
    const [oldest] = this.#idle.keys()
    if (this.#idle.size > this.#maxKept && oldest !== undefined) void this.drop(oldest)
  }

  /**
   * Ends the one of a repository. What it fails to clear away is cleared when the server starts.
   */
  async drop(id: number): Promise<void> {
    await this.take(id)
      ?.end()
      .catch(() => {})
  }

  /** Ends all of them. */
  async dropAll(): Promise<void> {
    await Promise.all([...this.#idle.keys()].map((id) => this.drop(id)))
  }
}
