import { AsyncLocalStorage } from 'node:async_hooks'

/** A lock that its holder can lose, such as one that a server holds by a connection. */
export interface Lease {
  /** The number of the server that holds the lock; undefined once the lock was released. */
  readonly holder: number | undefined
  /** @throws the error of a lock that was lost. A lock that was released is not lost. */
  check(): void
}

const leases = new AsyncLocalStorage<Lease>()

/** Runs work that must not change anything after it has lost a lock. */
export function withLease<T>(lease: Lease, work: () => T): T {
  const outer = leases.getStore()
  const both: Lease = {
    // A process with two different holders has lost one of the locks.
    get holder() {
      return lease.holder ?? outer?.holder
    },
    check() {
      outer?.check()
      lease.check()
    },
  }
  return leases.run(both, work)
}

/**
 * Checks the locks of the current work by what this process knows.
 *
 * @returns the number of the server that holds them; undefined without a lock.
 * @throws the error of a lock that was lost.
 */
export function checkLeases(): number | undefined {
  const lease = leases.getStore()
  lease?.check()
  return lease?.holder
}
