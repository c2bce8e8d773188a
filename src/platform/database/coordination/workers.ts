import { setTimeout as sleep } from 'node:timers/promises'
import { withLease } from '../../concurrency/leases.ts'
import type { Locks, Membership } from './ports.ts'

/** A background worker. */
interface Worker {
  /** Resolves when the work in progress has ended. */
  stop(): unknown
}

/**
 * The time after which a server looks whether a worker runs nowhere. All workers of a server look at
 * the same moments, so that one statement answers for all.
 */
const STANDBY_MS = 1_000

/**
 * Runs a worker on one of the servers. Another server starts the worker when this one stops or loses
 * its session.
 *
 * @param onFailure called with failures to start or stop the worker, which is tried again.
 */
export function runOnOneServer(
  { session, locks }: { readonly session: Membership; readonly locks: Locks },
  name: string,
  start: () => Worker | Promise<Worker>,
  onFailure: (error: unknown) => void,
): Worker {
  const stopping = new AbortController()
  const runUnderLock = async () => {
    const lock = await locks.standBy(`worker ${name}`, stopping.signal)
    if (!lock) return
    // The session can be lost while the worker starts.
    const lost = untilLost(session, stopping.signal)
    try {
      const worker = await withLease(lock.lease, start)
      await lost
      await worker.stop()
    } finally {
      lock.release()
    }
  }
  const run = async () => {
    while (!stopping.signal.aborted) {
      if (!session.isLost) await runUnderLock().catch(onFailure)
      const restMs = STANDBY_MS - (performance.now() % STANDBY_MS)
      await sleep(restMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
  }
  const running = run()
  return {
    stop() {
      stopping.abort()
      return running
    },
  }
}

/** Resolves when the session is lost, or `until` aborts. */
function untilLost(session: Membership, until: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stop()
      until.removeEventListener('abort', done)
      resolve()
    }
    const stop = session.onLoss(done)
    until.addEventListener('abort', done)
    if (until.aborted) done()
  })
}
