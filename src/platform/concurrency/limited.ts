/** Runs work for a key as soon as the limits allow. Calls run in the order in which they came. */
export type Limited = <T>(key: string, work: () => Promise<T>) => Promise<T>

/** Limits of the calls that run and of those that wait. */
export interface Limits {
  /** Calls of all keys that run at a time. Default: no limit. */
  readonly maxRunning?: number
  /** Calls of one key that run at a time. Default: no limit. */
  readonly maxRunningPerKey?: number
  /** Calls of one key that wait at a time. Default: no limit. */
  readonly maxWaitingPerKey?: number
  /** Creates the error of a call that exceeds `maxWaitingPerKey`. */
  readonly full?: (key: string) => Error
}

/** A waiting call. */
interface Waiting {
  readonly key: string
  readonly start: () => void
}

/**
 * Creates a semaphore with one limit for all keys together and one for each key.
 *
 * A call waits behind earlier calls, except behind those whose key has reached its own limit.
 */
export function createLimited({
  maxRunning = Number.POSITIVE_INFINITY,
  maxRunningPerKey = Number.POSITIVE_INFINITY,
  maxWaitingPerKey = Number.POSITIVE_INFINITY,
  full = (key) => new Error(`too many wait for ${key}`),
}: Limits): Limited {
  const waiting = new Set<Waiting>()
  const waitingOf = new Map<string, number>()
  const runningOf = new Map<string, number>()
  let running = 0

  const mayStart = (key: string) =>
    running < maxRunning && (runningOf.get(key) ?? 0) < maxRunningPerKey

  function start(key: string): void {
    running += 1
    add(runningOf, key, 1)
  }

  function end(key: string): void {
    running -= 1
    add(runningOf, key, -1)
    for (const entry of waiting) {
      if (running >= maxRunning) return
      if (!mayStart(entry.key)) continue
      waiting.delete(entry)
      start(entry.key)
      entry.start()
    }
  }

  async function wait(key: string): Promise<void> {
    if ((waitingOf.get(key) ?? 0) >= maxWaitingPerKey) throw full(key)
    add(waitingOf, key, 1)
    await new Promise<void>((resolve) => waiting.add({ key, start: resolve }))
    add(waitingOf, key, -1)
  }

  return async (key, work) => {
    if (mayStart(key)) start(key)
    else await wait(key)
    try {
      return await work()
    } finally {
      end(key)
    }
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
