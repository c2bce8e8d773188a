import type { Worker } from '../../core/coordination.ts'
import type { ReposApp } from '../ports.ts'
import { isSettled } from './pending-ref-updates.ts'
import { reconcilePendingUpdates } from './ref-index.ts'

/**
 * The time between two searches for pending updates of servers that have ended. Readers of their
 * repositories do not wait for the search.
 */
const INTERVAL_MS = 5_000

/**
 * Starts the worker that reconciles the pending updates of other servers that have ended, so that
 * watchers and webhooks learn of them: once, and again when no process of that server can move refs
 * any more. A server that is alone does this at its start.
 */
export function startReconciling(app: ReposApp): Worker {
  if (app.coordination.serverId === null) return { stop() {} }
  const seen = new Set<number>()
  let running = Promise.resolve()
  let isRunning = false
  const timer = setInterval(() => {
    if (isRunning) return
    isRunning = true
    running = reconcilePendingUpdates(app, (update) => {
      const isKnown = seen.has(update.id)
      seen.add(update.id)
      return !isKnown || isSettled(app, update)
    })
      .catch((err: unknown) => app.log.warn({ err }, 'pending updates cannot be read'))
      .finally(() => {
        isRunning = false
      })
  }, INTERVAL_MS)
  return {
    stop() {
      clearInterval(timer)
      return running
    },
  }
}
