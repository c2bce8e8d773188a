/**
 * Wakes waiters when there may be something new to read. A signal carries no data, so nothing
 * queues up.
 */
export interface Signal {
  /** Wakes all waiters. */
  notify(): void
  /**
   * The number of calls of `notify`. Read the count before reading data, and wait from that count,
   * so that no change is missed.
   */
  readonly count: number
  /**
   * Resolves once `notify` has been called more than `seen` times, possibly immediately.
   *
   * @param seen an earlier `count`.
   * @param until stops waiting, without an error, when it aborts.
   */
  after(seen: number, until: AbortSignal): Promise<void>
}

export function createSignal(): Signal {
  let count = 0
  const waiting = new Set<() => void>()
  return {
    notify() {
      count += 1
      for (const wake of [...waiting]) wake()
    },
    get count() {
      return count
    },
    after(seen, until) {
      if (count > seen || until.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = () => {
          waiting.delete(wake)
          until.removeEventListener('abort', wake)
          resolve()
        }
        waiting.add(wake)
        until.addEventListener('abort', wake)
      })
    },
  }
}
