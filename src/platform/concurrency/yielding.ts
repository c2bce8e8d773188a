import { setImmediate } from 'node:timers/promises'

/** The longest time that a computation may block the event loop. */
const MAX_BLOCKING_MS = 10

/** Lets a long computation yield to the event loop at regular intervals. */
export interface Yielder {
  /**
   * Yields if the computation has blocked the event loop for long enough. Returns undefined
   * otherwise.
   */
  yield(): Promise<void> | undefined
  /** Returns the computing time in milliseconds up to the latest yield, without the pauses. */
  spentMs(): number
}

export function createYielder(): Yielder {
  let begun = performance.now()
  let spentMs = 0
  return {
    yield() {
      const lasted = performance.now() - begun
      if (lasted < MAX_BLOCKING_MS) return undefined
      spentMs += lasted
      return setImmediate().then(() => {
        begun = performance.now()
      })
    },
    spentMs: () => spentMs,
  }
}
