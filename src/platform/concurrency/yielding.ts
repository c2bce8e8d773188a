import { setImmediate as atNextTurn } from 'node:timers'
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

/** When `yieldLongTurn` was first called in the present turn of the event loop; undefined before. */
let turnBegunMs: number | undefined

/**
 * Yields if the present turn of the event loop has lasted for long enough. Returns undefined otherwise.
 *
 * For work whose steps wait for nothing but each other, such as transactions of SQLite one after the
 * other: without pauses, the process would do nothing else until the last one.
 */
export function yieldLongTurn(): Promise<void> | undefined {
  const now = performance.now()
  if (turnBegunMs !== undefined)
    return now - turnBegunMs < MAX_BLOCKING_MS ? undefined : setImmediate()
  turnBegunMs = now
  atNextTurn(() => {
    turnBegunMs = undefined
  })
  return undefined
}
