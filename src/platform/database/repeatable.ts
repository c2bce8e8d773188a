import { AsyncLocalStorage } from 'node:async_hooks'

/** The changes that nobody waits for, because rows on the disk say how to make them again. */
const repeatable = new AsyncLocalStorage<true>()

/** Runs a change of the database that the server makes again when a power failure has undone it. */
export function runRepeatable<T>(change: () => T): T {
  return repeatable.run(true, change)
}

/** Returns whether the current change is made again when a power failure has undone it. */
export function isRepeatable(): boolean {
  return repeatable.getStore() === true
}
