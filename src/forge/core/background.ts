import type { Logger } from 'pino'
import { withoutDeadline } from '../../platform/concurrency/call-deadlines.ts'
import { deletionError } from './errors.ts'

/** Runs work that no response waits for. */
export interface Background {
  /**
   * Starts work immediately. A failure is logged and not rethrown.
   *
   * @param name name of the work in the log.
   */
  run(name: string, work: () => Promise<unknown>): void
  /** Resolves once no work is running. Used before the database closes, and by tests. */
  settled(): Promise<void>
}

export function createBackground(log: Logger): Background {
  const running = new Set<Promise<unknown>>()
  return {
    run(name, work) {
      const task = withoutDeadline(() => Promise.resolve().then(work))
        .catch((err: unknown) => {
          // Deleting what the work is about while the work runs is not a fault.
          log[deletionError(err) ? 'warn' : 'error']({ err, work: name }, 'background work failed')
        })
        .finally(() => running.delete(task))
      running.add(task)
    },
    async settled() {
      // Work may start more work.
      while (running.size > 0) await Promise.all(running)
    },
  }
}
