import type { Logger } from 'pino'
import { withoutDeadline } from '../../storage/database/call-deadlines.ts'
import { deletionError } from './errors.ts'

/** Work that no answer waits for. */
export interface Background {
  /**
   * Starts work now. Its failure is logged and goes no further.
   *
   * @param name what the log calls the work.
   */
  run(name: string, work: () => Promise<unknown>): void
  /** Resolves once nothing is under way: before the database is closed, and in tests. */
  settled(): Promise<void>
}

/** @returns a place to run work that no answer waits for. */
export function createBackground(log: Logger): Background {
  const underWay = new Set<Promise<unknown>>()
  return {
    run(name, work) {
      const running = withoutDeadline(() => Promise.resolve().then(work))
        .catch((err: unknown) => {
          // What it is about may be deleted before it is done, which is no fault.
          log[deletionError(err) ? 'warn' : 'error']({ err, work: name }, 'background work failed')
        })
        .finally(() => underWay.delete(running))
      underWay.add(running)
    },
    async settled() {
      // Work may start more work.
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}
