import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { DataLock } from './data-lock.ts'
import { connectionSettings, type PostgresAddress, UnsuitableDatabaseError } from './postgres.ts'

/** The number of the advisory lock of a server: the letters "BRNC". */
const SERVER_LOCK = 0x42524e43

/** PostgreSQL may notice the end of a killed server a moment later. */
const ATTEMPTS = 10
const ATTEMPT_DELAY_MS = 200
/** The time between two attempts to take the lock again. */
const RENEWAL_DELAY_MS = 1_000

/** Another server uses the database. */
export class DatabaseBusyError extends Error {
  override readonly name = 'DatabaseBusyError'

  constructor() {
    super('another branchline works on this PostgreSQL database: stop it first')
  }
}

/**
 * Locks a PostgreSQL database for this process. A connection of its own holds an advisory lock, which
 * PostgreSQL releases when the connection ends
 * (https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS).
 *
 * When the connection ends, the lock is taken again as soon as PostgreSQL is back.
 *
 * @param onLost called when another process has taken the lock meanwhile. This process must end.
 * @throws DatabaseBusyError; UnsuitableDatabaseError when the database is unreachable.
 */
export async function lockPostgres(
  address: PostgresAddress,
  onLost: (error: Error) => void,
): Promise<DataLock> {
  let isReleased = false
  const onEnd = async () => {
    while (!isReleased) {
      await sleep(RENEWAL_DELAY_MS, undefined, { ref: false })
      try {
        if (!isReleased) client = await take(address, onEnd)
        return
      } catch (error) {
        if (error instanceof DatabaseBusyError) {
          onLost(error)
          return
        }
      }
    }
  }
  let client = await take(address, onEnd).catch((error: unknown) => {
    if (error instanceof DatabaseBusyError) throw error
    throw UnsuitableDatabaseError.because(error)
  })
  return {
    async release() {
      isReleased = true
      await client.end()
    },
  }
}

/** Connects and takes the lock. */
async function take(address: PostgresAddress, onEnd: () => void): Promise<pg.Client> {
  const client = new pg.Client(connectionSettings(address))
  // The end of the connection follows.
  client.on('error', () => {})
  await client.connect()
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { rows } = await client.query<{ taken: boolean }>(
      'select pg_try_advisory_lock($1) as taken',
      [SERVER_LOCK],
    )
    if (rows[0]?.taken === true) {
      client.on('end', onEnd)
      return client
    }
    await sleep(ATTEMPT_DELAY_MS)
  }
  await client.end()
  throw new DatabaseBusyError()
}
