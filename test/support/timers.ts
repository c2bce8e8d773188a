/** Timers that run when the test lets time pass. */
export interface Timers {
  /** Starts one, and returns what stops it. */
  start(run: () => void, delayMs: number): () => void
  pass(ms: number): void
  /** How many have neither run nor been stopped. */
  readonly running: number
}

export function manualTimers(): Timers {
  const running = new Set<{ run: () => void; atMs: number }>()
  let nowMs = 0
  return {
    start(run, delayMs) {
      const timer = { run, atMs: nowMs + delayMs }
      running.add(timer)
      return () => running.delete(timer)
    },
    pass(ms) {
      nowMs += ms
      for (const timer of [...running]) {
        if (timer.atMs > nowMs) continue
        running.delete(timer)
        timer.run()
      }
    },
    get running() {
      return running.size
    },
  }
}
