/**
 * Tells those who wait that there is something new to look for. It carries nothing, so nothing
 * piles up in it.
 */
export interface Signal {
  /** Wakes everyone who waits. */
  notify(): void
  /**
   * How often `notify` was called so far. Read it before looking, and wait from there: nothing is
   * missed in between.
   */
  readonly count: number
  /**
   * Resolves once `notify` was called more often than `seen` times, which may be at once.
   *
   * @param seen an earlier `count`.
   * @param until gives up, without an error, when it aborts.
   */
  after(seen: number, until: AbortSignal): Promise<void>
}

/** @returns a signal that was never given. */
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
