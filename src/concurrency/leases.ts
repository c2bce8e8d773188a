import { AsyncLocalStorage } from 'node:async_hooks'

/** A lock that its holder can lose, such as one that a server holds by a connection. */
export interface Lease {
  /** @throws the error of a lock that was lost. A lock that was released is not lost. */
  check(): void
}

const leases = new AsyncLocalStorage<Lease>()

/** Runs work that must not change anything after it has lost a lock. */
export function withLease<T>(lease: Lease, work: () => T): T {
  const outer = leases.getStore()
  const check = () => {
    outer?.check()
    lease.check()
  }
  return leases.run({ check }, work)
}

/**
 * Checks the locks of the current work.
 *
 * @throws the error of a lock that was lost.
 */
export function checkLeases(): void {
  leases.getStore()?.check()
}
