import type { Worker } from '../../core/coordination.ts'
import type { ReposApp } from '../ports.ts'
import { isSettled } from './pending-ref-updates.ts'
import { reconcilePendingUpdates } from './ref-index.ts'
import type { PendingRefUpdate } from './schema.ts'

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
  const seen = new Set<number>()
  return reconcileOften(app, (update) => {
    const isKnown = seen.has(update.id)
    seen.add(update.id)
    return !isKnown || isSettled(app, update)
  })
}

/**
 * Starts the worker that records what this server could not record, for example while the database
 * was away. Other servers take such an update for one in progress. Each server runs this worker.
 */
export function startReconcilingOwn(app: ReposApp): Worker {
  return reconcileOften(app, ({ server_id }) => server_id === app.coordination.serverId)
}

function reconcileOften(app: ReposApp, isDue: (update: PendingRefUpdate) => boolean): Worker {
  if (app.coordination.serverId === null) return { stop() {} }
  let running = Promise.resolve()
  let isRunning = false
  const timer = setInterval(() => {
    if (isRunning) return
    isRunning = true
    running = reconcilePendingUpdates(app, isDue)
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
