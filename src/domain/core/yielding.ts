import { setImmediate } from 'node:timers/promises'

/** The time that a computation may hold up the event loop at once. */
const MAX_BLOCKING_MS = 10

/** Lets the event loop run in the middle of a long computation. */
export interface Yielder {
  /**
   * Waits for one round of the event loop if the computation has run for `MAX_BLOCKING_MS` since
   * the last wait. Returns undefined otherwise.
   */
  yield(): Promise<void> | undefined
  /** Returns the milliseconds that the computation has run, up to the latest wait. */
  spentMs(): number
}

/** Returns a yielder of a computation that starts now. */
export function createYielder(): Yielder {
  let startedMs = performance.now()
  let spentMs = 0
  return {
    yield() {
      const elapsedMs = performance.now() - startedMs
      if (elapsedMs < MAX_BLOCKING_MS) return undefined
      spentMs += elapsedMs
      return setImmediate().then(() => {
        startedMs = performance.now()
      })
    },
    spentMs: () => spentMs,
  }
}
