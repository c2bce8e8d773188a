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

/**
 * Lets the event loop go on between steps that wait for nothing but each other, such as transactions of
 * SQLite one after the other. Without pauses, the process would do nothing else until the last step.
 */
export class LongTurns {
  /** When the first step of the present turn of the event loop began; undefined before. */
  #begunMs: number | undefined

  /** Yields if the present turn has lasted for long enough. Returns undefined otherwise. */
  yield(): Promise<void> | undefined {
    const now = performance.now()
    if (this.#begunMs !== undefined)
      return now - this.#begunMs < MAX_BLOCKING_MS ? undefined : setImmediate()
    this.#begunMs = now
    atNextTurn(() => {
      this.#begunMs = undefined
    })
    return undefined
  }
}
