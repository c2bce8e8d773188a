/** Runs work for a key. A caller that asks while work for the same key runs gets its result. */
export type Once<T> = (key: string, work: () => Promise<T>) => Promise<T>

/**
 * A single flight: at most one run of work for each key at a time.
 *
 * A failure is the failure of every caller of that run. The next caller starts a new one.
 */
export function createOnce<T>(): Once<T> {
  const running = new Map<string, Promise<T>>()
  return (key, work) => {
    const present = running.get(key)
    if (present) return present
    const run = Promise.resolve()
      .then(work)
      .finally(() => running.delete(key))
    running.set(key, run)
    return run
  }
}
