/** Runs work for a key. A caller that asks while work for the same key runs shares its result. */
export type Once = <T>(key: string, work: () => Promise<T>) => Promise<T>

/**
 * Creates a single flight: at most one run of work for each key at a time. All work for one key
 * must have results of one type.
 *
 * When a run fails, all its callers fail. The next caller starts a new run.
 */
export function createOnce(): Once {
  const running = new Map<string, Promise<unknown>>()
  return <T>(key: string, work: () => Promise<T>) => {
    const present = running.get(key)
    // The caller promises one type for each key.
    if (present) return present as Promise<T>
    const run = Promise.resolve()
      .then(work)
      .finally(() => running.delete(key))
    running.set(key, run)
    return run
  }
}
