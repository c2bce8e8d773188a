/** Runs work for a key while no other work for that key runs, in the order of the calls. */
export type Exclusive = <T>(key: string, work: () => Promise<T>) => Promise<T>

/** Limits of the calls that wait. */
export interface ExclusiveLimits {
  /** Calls of one key that wait at a time. Default: no limit. */
  readonly maxWaitingPerKey?: number
  /** Creates the error of a call that exceeds `maxWaitingPerKey`. */
  readonly full?: (key: string) => Error
}

/** Creates a mutex for each key. */
export function createExclusive({
  maxWaitingPerKey = Number.POSITIVE_INFINITY,
  full = (key) => new Error(`too many wait for ${key}`),
}: ExclusiveLimits = {}): Exclusive {
  /** The calls that wait, for each key that is in use. */
  const waiting = new Map<string, Array<() => void>>()

  async function enter(key: string): Promise<void> {
    const line = waiting.get(key)
    if (!line) {
      waiting.set(key, [])
      return
    }
    if (line.length >= maxWaitingPerKey) throw full(key)
    await new Promise<void>((start) => line.push(start))
  }

  function leave(key: string): void {
    const start = waiting.get(key)?.shift()
    if (start) start()
    else waiting.delete(key)
  }

  return async (key, work) => {
    await enter(key)
    try {
      return await work()
    } finally {
      leave(key)
    }
  }
}
