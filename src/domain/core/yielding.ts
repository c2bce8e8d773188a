import { setImmediate } from 'node:timers/promises'

/** How long a computation may hold up everybody else at a time. */
const MAX_TURN_MS = 10

/**
 * The turns that a long computation takes, between which the process does what else there is to do.
 */
export interface Turns {
  /**
   * Ends this turn if it has lasted long enough; undefined, and nothing to wait for, if it has not.
   */
  yield(): Promise<void> | undefined
  /**
   * How long the computation has been at it, in milliseconds of its own turns, up to the latest
   * that ended.
   */
  spentMs(): number
}

/** Begins the first turn. */
export function takeTurns(): Turns {
  let begun = performance.now()
  let spentMs = 0
  return {
    yield() {
      const lasted = performance.now() - begun
      if (lasted < MAX_TURN_MS) return undefined
      spentMs += lasted
      return setImmediate().then(() => {
        begun = performance.now()
      })
    },
    spentMs: () => spentMs,
  }
}
