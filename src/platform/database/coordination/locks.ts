import { setImmediate } from 'node:timers/promises'
import {
  createExclusive,
  type Exclusive,
  type ExclusiveLimits,
} from '../../concurrency/exclusive.ts'
import { withLease } from '../../concurrency/leases.ts'
import { unavailable } from '../postgres-failures.ts'
import { lockNumber } from '../postgres-transactions.ts'
import type { Locks, SharedLock } from './ports.ts'
import type { ServerSession } from './session.ts'

/** The longest time between two attempts to take a lock. A message usually comes before. */
const MAX_RETRY_MS = 250
const FIRST_RETRY_MS = 4

/** The time for which a server leaves a lock to another one that wants it. */
const HANDOVER_MS = 20

/** Locks that one statement acquired. */
interface Attempt {
  readonly serverId: number
  readonly taken: ReadonlySet<string>
}

/** The locks of the servers of a PostgreSQL database: advisory locks of their sessions. */
export class SharedLocks implements Locks {
  readonly #session: ServerSession
  /** Locks that this process holds, and whether another server waits for them. */
  readonly #held = new Map<string, { isWanted: boolean }>()
  /** When this process has left a lock to another one, by key. */
  readonly #leftAtMs = new Map<string, number>()
  /** The waiters of this process, by key. */
  readonly #waiting = new Map<string, Set<() => void>>()
  /** The next statement that tries to take locks, once one was asked for. */
  #next: { readonly names: string[]; readonly result: Promise<Attempt> } | undefined

  constructor(session: ServerSession) {
    this.#session = session
    session.onMessage((message) => this.#hear(message))
  }

  async tryTake(key: string): Promise<SharedLock | undefined> {
    const name = lockNumber(key)
    // PostgreSQL would give a session a lock that the session holds.
    if (this.#held.has(name)) return undefined
    this.#held.set(name, { isWanted: false })
    const serverId = await this.#tryLock(name).catch((error: unknown) => {
      this.#held.delete(name)
      throw error
    })
    if (serverId === undefined) {
      this.#held.delete(name)
      return undefined
    }
    const lease = this.#session.lease(serverId)
    return {
      lease,
      release: () => {
        lease.release()
        this.#release(name, serverId)
      },
    }
  }

  /** Returns the number of the session that holds the lock now; undefined if another one does. */
  async #tryLock(name: string): Promise<number | undefined> {
    await this.#session.ready()
    const { serverId, taken } = await this.#tryTogether(name)
    if (!taken.has(name)) return undefined
    if (!this.#session.holds(serverId)) {
      this.#unlock(name, serverId)
      throw unavailable('a lock of this server was lost')
    }
    return serverId
  }

  /** Tries to take a lock, with all others that are asked for at the same moment. */
  #tryTogether(name: string): Promise<Attempt> {
    this.#next ??= this.#planAttempt()
    this.#next.names.push(name)
    return this.#next.result
  }

  #planAttempt() {
    const names: string[] = []
    const result = setImmediate().then(async () => {
      this.#next = undefined
      const { serverId } = this.#session
      const rows = await this.#session.query<{ name: string; taken: boolean }>(
        'select name, pg_try_advisory_lock(name) as taken from unnest($1::bigint[]) as name',
        [names],
        serverId,
      )
      const taken = rows.filter((row) => row.taken).map((row) => row.name)
      return { serverId, taken: new Set(taken) }
    })
    return { names, result }
  }

  /**
   * Takes a lock as soon as no other process holds it.
   *
   * @param maxRetryMs the longest time between two attempts, which matters when a holder was killed.
   * @throws DatabaseUnavailableError
   */
  async take(key: string, maxRetryMs = MAX_RETRY_MS): Promise<SharedLock> {
    const name = lockNumber(key)
    await this.#leave(name)
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
      const lock = await this.tryTake(key)
      if (lock) return lock
      this.#session.tell(`wanted ${name}`)
      await this.#freed(name, retryMs)
    }
  }

  /** PostgreSQL tells of no lock that is free, so that a wait would be made of attempts, too. */
  standBy(key: string): Promise<SharedLock | undefined> {
    return this.tryTake(key)
  }

  async exclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
    const lock = await this.take(key)
    try {
      return await withLease(lock.lease, work)
    } finally {
      lock.release()
    }
  }

  /** Leaves a lock that another server wanted to that server. */
  async #leave(name: string): Promise<void> {
    const leftAtMs = this.#leftAtMs.get(name)
    if (leftAtMs === undefined) return
    this.#leftAtMs.delete(name)
    const restMs = leftAtMs + HANDOVER_MS - performance.now()
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
  }

  /** Resolves when a lock may be free. */
  #freed(name: string, retryMs: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(name) ?? new Set()
      this.#waiting.set(name, waiting)
      const wake = () => {
        clearTimeout(timer)
        waiting.delete(wake)
        if (waiting.size === 0) this.#waiting.delete(name)
        resolve()
      }
      const timer = setTimeout(wake, retryMs)
      waiting.add(wake)
    })
  }

  #release(name: string, serverId: number): void {
    const isWanted = this.#held.get(name)?.isWanted === true
    this.#held.delete(name)
    this.#unlock(name, serverId)
    if (!isWanted) return
    this.#leftAtMs.set(name, performance.now())
    this.#session.tell(`freed ${name}`)
  }

  /**
   * Releases a lock of one session. With a lost session, all of its locks were lost, and another
   * work of this process may hold the lock in the next session.
   */
  #unlock(name: string, serverId: number): void {
    this.#session.query('select pg_advisory_unlock($1)', [name], serverId).catch(() => {})
  }

  #hear(message: string): void {
    const [kind, name = ''] = message.split(' ', 2)
    const held = this.#held.get(name)
    if (kind === 'wanted' && held) held.isWanted = true
    if (kind === 'freed') for (const wake of [...(this.#waiting.get(name) ?? [])]) wake()
  }
}

/** Creates a mutex of all servers for each key. The limits are those of each server. */
export function createSharedExclusive(
  locks: Locks,
  prefix: string,
  limits: ExclusiveLimits = {},
): Exclusive {
  const local = createExclusive(limits)
  return (key, work) => local(key, () => locks.exclusive(`${prefix} ${key}`, work))
}
