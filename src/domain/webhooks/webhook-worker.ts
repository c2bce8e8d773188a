import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { listDueWebhooks, nextDueTime } from '../../storage/webhook-deliveries.ts'
import type { App } from '../app.ts'
import { attemptDelivery } from './webhook-attempts.ts'

/** Requests under way at once. Each holds a socket and at most one answer of 64 KiB. */
const MAX_UNDER_WAY = 32

/** Of which for the webhooks of one account, so that nobody's slow targets take all the places. */
const MAX_UNDER_WAY_PER_OWNER = 4

/** After a fault of our own, such as a full disk: it will hardly be gone sooner, and the log must not fill up. */
const FAULT_PAUSE_MS = 5_000

/** Timers of Node are good for 24 days; looking once an hour costs nothing. */
const MAX_SLEEP_MS = 60 * 60 * 1000

/** The sending side of the outbox. */
export interface DeliveryWorker {
  /** Gives up what is under way, which is sent again after the next start, and resolves when nothing is left of it. */
  stop(): Promise<void>
}

/**
 * Sends deliveries as they fall due, until it is stopped. Rows are all it works from: what was queued before the start
 * is sent like everything else.
 *
 * @param userAgent what requests call us.
 */
export function startDeliveries(app: App, userAgent: string): DeliveryWorker {
  const stopping = new AbortController()
  // Every attempt listens; the usual warning about many listeners would be about many webhooks.
  setMaxListeners(0, stopping.signal)
  const attempts = createAttempts(app, userAgent, stopping.signal)
  let round = new AbortController()
  const work = async () => {
    while (!stopping.signal.aborted) {
      round = new AbortController()
      const seen = app.signals.deliveries.count
      const timer = setTimeout(() => round.abort(), await attempts.startDue())
      await app.signals.deliveries.after(seen, round.signal)
      clearTimeout(timer)
    }
    await attempts.settled()
  }
  const working = work()
  return {
    stop() {
      stopping.abort()
      round.abort()
      return working
    },
  }
}

/**
 * Sends what is due, until nothing is: for tests, whose time does not pass by itself.
 *
 * @param userAgent what requests call us.
 */
export async function deliverDue(app: App, userAgent: string): Promise<void> {
  const attempts = createAttempts(app, userAgent, new AbortController().signal)
  do await attempts.startDue()
  while (await attempts.settled())
}

/** Attempts under way, at most one for each webhook. */
function createAttempts(app: App, userAgent: string, until: AbortSignal) {
  const underWay = new Map<number, { readonly ownerId: number; readonly done: Promise<void> }>()

  const start = (webhookId: number, ownerId: number) => {
    const done = attemptDelivery(app, userAgent, webhookId, until)
      .catch((err: unknown) => {
        app.log.error({ err }, 'a webhook delivery could not be made or recorded')
        // Its webhook counts as busy meanwhile, or it would be tried again at once.
        return pause(FAULT_PAUSE_MS, undefined, { signal: until }).catch(() => {})
      })
      .then(() => {
        underWay.delete(webhookId)
        app.signals.deliveries.notify()
      })
    underWay.set(webhookId, { ownerId, done })
  }

  return {
    /** Starts attempts for what is due, as far as there are places. @returns milliseconds until there may be more. */
    async startDue(): Promise<number> {
      const now = app.clock.now()
      try {
        while (!until.aborted && underWay.size < MAX_UNDER_WAY) {
          const [next] = await listDueWebhooks(app.db, now, busy(underWay), 1)
          if (!next) break
          start(next.id, next.user_id)
        }
        return Math.min(((await nextDueTime(app.db, now)) ?? Number.POSITIVE_INFINITY) - now, MAX_SLEEP_MS)
      } catch (err) {
        app.log.error({ err }, 'webhook deliveries could not be looked up')
        return FAULT_PAUSE_MS
      }
    },
    /** Resolves once all attempts under way have ended. @returns whether there were any. */
    async settled(): Promise<boolean> {
      const running = [...underWay.values()]
      await Promise.all(running.map(({ done }) => done))
      return running.length > 0
    },
  }
}

function busy(underWay: ReadonlyMap<number, { readonly ownerId: number }>) {
  const owners = [...underWay.values()].map(({ ownerId }) => ownerId)
  const places = (id: number) => owners.filter((ownerId) => ownerId === id).length
  const ownerIds = [...new Set(owners)].filter((id) => places(id) >= MAX_UNDER_WAY_PER_OWNER)
  return { webhookIds: [...underWay.keys()], ownerIds }
}
