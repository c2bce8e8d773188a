import { createExclusive } from './exclusive.ts'
import { waitAtMost } from './wait-at-most.ts'

/** Lets work that others keep disturbing run before work that has not begun. */
export interface Precedence {
  /** Waits while work has precedence, but for a limited time. Call it before other work begins. */
  giveWay(): Promise<void>
  /** Runs work that has precedence, one at a time. Work that has begun before goes on beside it. */
  take<T>(work: () => Promise<T>): Promise<T>
}

/**
 * Creates a precedence.
 *
 * @param maxGiveWayMs the longest time for which work waits for other work that has precedence.
 */
export function createPrecedence(maxGiveWayMs: number): Precedence {
  const inTurn = createExclusive()
  let held: Promise<unknown> = Promise.resolve()
  let holders = 0
  return {
    async giveWay() {
      if (holders > 0) await waitAtMost(held, maxGiveWayMs)
    },
    async take(work) {
      const result = inTurn('', work)
      holders += 1
      held = result.catch(() => {})
      try {
        return await result
      } finally {
        holders -= 1
      }
    },
  }
}
