import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Lease } from '../../concurrency/leases.ts'
import { connectionSettings, type PostgresAddress, UnsuitableDatabaseError } from '../postgres.ts'
import { asUnavailable, unavailable } from '../postgres-failures.ts'
import { SERVER_LOCKS } from '../postgres-transactions.ts'
import type { Alone, Membership } from './ports.ts'

/**
 * How a process uses a database: a server together with other servers, a command such as `migrate`
 * alone.
 */
export type UseOfDatabase = 'server' | 'alone'

/** The advisory lock of all processes: servers share it. The letters "BRNC". */
const USE_LOCK = 0x42524e43
/** Numbers of servers are below this. */
const MAX_SERVER = 2 ** 31 - 1

/** PostgreSQL may notice the end of a killed process a moment later. */
const ATTEMPTS = 10
const ATTEMPT_DELAY_MS = 200
/** Another server that starts may migrate the database, for up to a minute. */
const ATTEMPTS_AT_START = 300
const ATTEMPTS_ALONE = 100
/** The time between two attempts to connect again. */
const RENEWAL_DELAY_MS = 1_000
/** The longest time for which a statement waits for a new session. */
const RENEWAL_WAIT_MS = 2_000

/** The time between two signs of life. */
const HEARTBEAT_MS = 5_000
/**
 * The time without a sign of life after which the process no longer relies on its locks. It is
 * shorter than the time after which PostgreSQL releases them.
 */
const LEASE_MS = 15_000
/** The time without a sign of life after which PostgreSQL ends the session. */
const SESSION_TIMEOUT_MS = 20_000

/** The channel of all notifications. */
const CHANNEL = 'branchline'

/** Other processes use the database. */
export class DatabaseBusyError extends Error {
  override readonly name = 'DatabaseBusyError'

  constructor(use: UseOfDatabase) {
    super(
      use === 'alone'
        ? 'another branchline works on this PostgreSQL database: stop it first'
        : 'a command such as `migrate` works alone on this PostgreSQL database: wait for its end',
    )
  }
}

/** Events of a session for its owner. */
export interface SessionEvents {
  /** Called when a command that works alone has taken the database. This process must end. */
  readonly onLost: (error: Error) => void
  /** Called with failures to connect again. */
  readonly onFailure: (error: unknown) => void
}

/**
 * The membership of a process in the group of servers of one database: a connection of its own, with
 * advisory locks and notifications. PostgreSQL releases the locks when the connection ends
 * (https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS).
 *
 * A session that was lost is replaced by one with another number, as if another server had started.
 */
export class ServerSession implements Membership, Alone {
  readonly #address: PostgresAddress
  readonly #use: UseOfDatabase
  readonly #events: SessionEvents
  readonly #beats = new Set<() => void>()
  readonly #losses = new Set<() => void>()
  readonly #renewals = new Set<() => void>()
  readonly #listeners = new Set<(message: string) => void>()
  #client: pg.Client | undefined
  /** The end of the last statement: a connection runs one at a time. */
  #last: Promise<void> = Promise.resolve()
  #serverId = 0
  #aliveAtMs = 0
  #isEnded = false
  #heartbeat: NodeJS.Timeout | undefined

  private constructor(address: PostgresAddress, use: UseOfDatabase, events: SessionEvents) {
    this.#address = address
    this.#use = use
    this.#events = events
  }

  /** @throws DatabaseBusyError; UnsuitableDatabaseError when the database is unreachable. */
  static async open(
    address: PostgresAddress,
    use: UseOfDatabase,
    events: SessionEvents,
  ): Promise<ServerSession> {
    const session = new ServerSession(address, use, events)
    const attempts = use === 'server' ? ATTEMPTS_AT_START : ATTEMPTS
    await session.#connect(attempts).catch((error: unknown) => {
      if (error instanceof DatabaseBusyError) throw error
      throw UnsuitableDatabaseError.because(error)
    })
    session.#heartbeat = setInterval(() => void session.#beat(), HEARTBEAT_MS).unref()
    return session
  }

  /** The number of this server, until the session is lost. */
  get serverId(): number {
    return this.#serverId
  }

  /**
   * Runs a statement, after the earlier ones. The statement must not wait for locks.
   *
   * @param serverId runs the statement in the session with this number only. Default: the present
   *   session, for which a statement waits a moment.
   * @throws DatabaseUnavailableError
   */
  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[],
    serverId?: number,
  ): Promise<Row[]> {
    if (serverId === undefined) await this.ready()
    const client = this.#client
    const isOther = serverId !== undefined && serverId !== this.#serverId
    if (!client || isOther) throw unavailable('the session of this server was lost')
    const result = this.#last.then(() => client.query<Row>(text, values))
    this.#last = result.then(
      () => {},
      () => {},
    )
    const { rows } = await result.catch(asUnavailable)
    return rows
  }

  /** Whether the session is lost and not replaced yet. */
  get isLost(): boolean {
    return this.#client === undefined
  }

  /** Waits a moment for the replacement of a lost session. */
  async ready(): Promise<void> {
    if (this.isLost) await this.#renewal(RENEWAL_WAIT_MS)
  }

  /** Returns whether the locks of a session are still held. */
  holds(serverId: number): boolean {
    const isAlive = performance.now() - this.#aliveAtMs < LEASE_MS
    return isAlive && this.#client !== undefined && this.#serverId === serverId
  }

  /** Returns a lease of the locks of a session. Default: of the present one. */
  lease(serverId = this.#serverId): Lease & { release(): void } {
    let isReleased = false
    return {
      get holder() {
        return isReleased ? undefined : serverId
      },
      check: () => {
        if (!isReleased && !this.holds(serverId))
          throw unavailable('a lock of this server was lost')
      },
      release: () => {
        isReleased = true
      },
    }
  }

  /** Returns which of some servers have a session. */
  async running(serverIds: readonly number[]): Promise<ReadonlySet<number>> {
    if (serverIds.length === 0) return new Set()
    const rows = await this.query<{ id: number }>(
      `select objid::bigint::int as id from pg_locks
        where locktype = 'advisory' and objsubid = 2 and granted and classid = $1
          and mode = 'ExclusiveLock'
          and database = (select oid from pg_database where datname = current_database())
          and objid::bigint = any($2::bigint[])`,
      [SERVER_LOCKS, serverIds],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /**
   * Runs work while no other process uses the database.
   *
   * @param isNeeded returns whether the work must still be done. Another process may have done it.
   * @throws DatabaseBusyError
   */
  async alone(isNeeded: () => Promise<boolean>, work: () => Promise<unknown>): Promise<void> {
    // Servers that keep their share while they wait would wait for each other.
    await this.query('select pg_advisory_unlock_shared($1)', [USE_LOCK])
    try {
      for (let attempt = 1; await isNeeded(); attempt++) {
        if (attempt > ATTEMPTS_ALONE) throw new DatabaseBusyError('alone')
        if (!(await this.#tryAlone(work))) await sleep(ATTEMPT_DELAY_MS * (1 + Math.random()))
      }
    } finally {
      await this.query('select pg_advisory_lock_shared($1)', [USE_LOCK])
    }
  }

  /** Runs work if no other process uses the database. Returns whether it has. */
  async #tryAlone(work: () => Promise<unknown>): Promise<boolean> {
    const [row] = await this.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      USE_LOCK,
    ])
    if (!row?.taken) return false
    try {
      await work()
      return true
    } finally {
      await this.query('select pg_advisory_unlock($1)', [USE_LOCK])
    }
  }

  /** Tells other servers something. Does nothing while the session is lost. */
  tell(message: string): void {
    this.query('select pg_notify($1, $2)', [CHANNEL, message]).catch(() => {})
  }

  /** Calls a function with what other servers tell, until the returned function is called. */
  onMessage(listener: (message: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls a function every few seconds. */
  onBeat(listener: () => void): () => void {
    this.#beats.add(listener)
    return () => this.#beats.delete(listener)
  }

  /** Calls a function when the session is lost. */
  onLoss(listener: () => void): () => void {
    this.#losses.add(listener)
    return () => this.#losses.delete(listener)
  }

  /** Calls a function after a lost session was replaced. Messages may be lost meanwhile. */
  onRenewal(listener: () => void): () => void {
    this.#renewals.add(listener)
    return () => this.#renewals.delete(listener)
  }

  async end(): Promise<void> {
    this.#isEnded = true
    clearInterval(this.#heartbeat)
    await this.#disconnect()
  }

  async #disconnect(): Promise<void> {
    await this.#client?.end()
  }

  async #connect(attempts = ATTEMPTS): Promise<void> {
    const client = new pg.Client(connectionSettings(this.#address))
    // The end of the connection follows.
    client.on('error', () => {})
    await client.connect()
    const maxWaitMs = SESSION_TIMEOUT_MS + attempts * ATTEMPT_DELAY_MS
    const deadline = setTimeout(() => client.connection.stream.destroy(), maxWaitMs)
    try {
      const serverId = await prepare(client, this.#use, attempts)
      client.on('end', () => void this.#renew(client))
      client.on('notification', ({ processId, payload = '' }) => {
        // A process need not be told what it has said.
        if (processId !== ownProcess(client)) for (const tell of [...this.#listeners]) tell(payload)
      })
      this.#client = client
      this.#serverId = serverId
      this.#aliveAtMs = performance.now()
    } catch (error) {
      await client.end()
      throw error
    } finally {
      clearTimeout(deadline)
    }
  }

  /** Resolves when a lost session is replaced, or after a time. */
  #renewal(maxWaitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        stop()
        resolve()
      }
      const timer = setTimeout(done, maxWaitMs)
      const stop = this.onRenewal(done)
    })
  }

  /** Proves to both sides that the other one is alive. */
  async #beat(): Promise<void> {
    for (const beat of [...this.#beats]) beat()
    const client = this.#client
    if (!client) return
    const sentAtMs = performance.now()
    if (sentAtMs - this.#aliveAtMs > SESSION_TIMEOUT_MS) {
      // The other side does not respond. A new connection finds out whether it is back.
      client.connection.stream.destroy()
      return
    }
    await this.query('select 1', []).then(
      () => {
        if (client === this.#client) this.#aliveAtMs = sentAtMs
      },
      () => {},
    )
  }

  /** Replaces a lost session. */
  async #renew(lost: pg.Client): Promise<void> {
    if (this.#isEnded || this.#client !== lost) return
    this.#client = undefined
    for (const lose of [...this.#losses]) lose()
    while (!this.#isEnded) {
      try {
        await this.#connect()
        if (this.#isEnded) await this.#disconnect()
        else for (const renewed of [...this.#renewals]) renewed()
        return
      } catch (error) {
        if (error instanceof DatabaseBusyError) {
          this.#events.onLost(error)
          return
        }
        this.#events.onFailure(error)
        await sleep(RENEWAL_DELAY_MS, undefined, { ref: false })
      }
    }
  }
}

/** Takes the locks of a session, and returns its number. */
async function prepare(client: pg.Client, use: UseOfDatabase, attempts: number): Promise<number> {
  await client.query(`set idle_session_timeout = ${SESSION_TIMEOUT_MS}`)
  // A stopped process that reads no notifications would keep the session busy.
  await client.query(`set tcp_user_timeout = ${SESSION_TIMEOUT_MS}`)
  // Notifications need not survive a crash of PostgreSQL.
  await client.query('set synchronous_commit = off')
  await client.query(`listen ${CHANNEL}`)
  const take = use === 'server' ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock'
  for (let attempt = 1; !(await isTrue(client, `${take}(${USE_LOCK})`)); attempt++) {
    if (attempt === attempts) throw new DatabaseBusyError(use)
    await sleep(ATTEMPT_DELAY_MS)
  }
  for (;;) {
    const id = randomInt(1, MAX_SERVER)
    if (await isTrue(client, `pg_try_advisory_lock(${SERVER_LOCKS}, ${id})`)) return id
  }
}

async function isTrue(client: pg.Client, expression: string): Promise<boolean> {
  const { rows } = await client.query<{ is: boolean }>(`select ${expression} as is`)
  return rows[0]?.is === true
}

/** Returns the number of the process of PostgreSQL that serves a connection. */
function ownProcess(client: pg.Client): number | null {
  return (client as unknown as { readonly processID: number | null }).processID
}
