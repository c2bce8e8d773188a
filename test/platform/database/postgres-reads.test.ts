import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import {
  isUnavailable,
  isUniqueViolation,
  transaction,
} from '../../../src/platform/database/database.ts'
import { prepareFirst } from '../../../src/platform/database/prepared.ts'
import { isOnPostgres, openTestDatabase } from '../../support/database.ts'

const db = await openTestDatabase()
afterAll(() => db.destroy())

/** Returns a prepared query of an expression with one parameter. */
const readOf = (text: string) => {
  const [before, after] = text.split('?')
  return prepareFirst((handle, value: number) =>
    handle.selectNoFrom(
      sql<number>`${sql.raw(before ?? '')}${value}${sql.raw(after ?? '')}`.as('n'),
    ),
  )
}
const double = readOf('2 * ?::bigint')
const half = readOf('2 / ?::bigint')
const waitFor = readOf('(select 1 from pg_advisory_xact_lock_shared(?::bigint))')

const LOCK = 1234
/** More than the time after which a query counts as slow. */
const LONG_MS = 50

/** Runs work while queries by `waitFor` wait. */
function whileLocked<T>(work: () => Promise<T>): Promise<T> {
  return db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx)
    return work()
  })
}

/** Waits until a query waits for the lock, and returns the process of its connection. */
async function waiter(): Promise<number> {
  const waiting = () =>
    sql<{ pid: number }>`select pid from pg_locks
      where locktype = 'advisory' and objid = ${LOCK} and not granted`.execute(db)
  await expect.poll(async () => (await waiting()).rows.length).toBe(1)
  return (await waiting()).rows[0]?.pid ?? 0
}

describe.skipIf(!isOnPostgres)('queries that PostgreSQL gets together', () => {
  it('return their own rows, whether the connection knows them or not', async () => {
    const numbers = Array.from({ length: 100 }, (_, i) => i + 1)
    for (let round = 0; round < 2; round++) {
      const rows = await Promise.all(numbers.flatMap((n) => [double(db, n), half(db, n)]))
      expect(rows.map((row) => row?.n)).toEqual(numbers.flatMap((n) => [2 * n, Math.floor(2 / n)]))
    }
  })

  it('fail alone', async () => {
    const results = await Promise.allSettled([half(db, 1), half(db, 0), half(db, 0), half(db, 2)])
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect(await double(db, 4)).toEqual({ n: 8 })
  })

  it('do not wait for one that was slow before', async () => {
    let slow: Promise<unknown> = Promise.resolve()
    await whileLocked(async () => {
      slow = waitFor(db, LOCK)
      await waiter()
      const startMs = performance.now()
      while (performance.now() - startMs < LONG_MS) await sql`select 1`.execute(db)
    })
    await slow
    await whileLocked(async () => {
      slow = waitFor(db, LOCK)
      expect(await double(db, 3)).toEqual({ n: 6 })
    })
    await slow
  })

  it('fail as unavailable when their connection ends, and others get a new one', async () => {
    const failure = await whileLocked(async () => {
      const failed = waitFor(db, LOCK).catch((error: unknown) => error)
      await sql`select pg_terminate_backend(${await waiter()}::integer)`.execute(db)
      return failed
    })
    expect(isUnavailable(failure)).toBe(true)
    expect(await double(db, 5)).toEqual({ n: 10 })
  })
})

describe.skipIf(!isOnPostgres)('a statement on PostgreSQL', () => {
  it('runs again after its first run on a connection has failed', async () => {
    await sql`create table once (n bigint primary key)`.execute(db)
    try {
      const insert = (n: number) => sql`insert into once values (${n})`.execute(db)
      await sql`insert into once values (1)`.execute(db)
      expect(isUniqueViolation(await insert(1).catch((error: unknown) => error))).toBe(true)
      await insert(2)
      expect((await sql`select * from once`.execute(db)).rows).toEqual([{ n: 1 }, { n: 2 }])
    } finally {
      await sql`drop table once`.execute(db)
    }
  })

  it('is not answered before its commit', async () => {
    await sql`create table named (n bigint unique deferrable initially deferred)`.execute(db)
    try {
      const insert = (n: number) => sql`insert into named values (${n})`.execute(db)
      await insert(1)
      expect(isUniqueViolation(await insert(1).catch((error: unknown) => error))).toBe(true)
    } finally {
      await sql`drop table named`.execute(db)
    }
  })

  it('that is the first of a transaction and fails undoes the transaction', async () => {
    await expect(transaction(db, (tx) => sql`select 1 / 0::bigint`.execute(tx))).rejects.toThrow(
      'division by zero',
    )
    expect(await transaction(db, async () => 'nothing')).toBe('nothing')
    await sql`create table kept (n bigint)`.execute(db)
    try {
      await transaction(db, async (tx) => {
        await sql`insert into kept values (1)`.execute(tx)
        throw new Error('no')
      }).catch(() => {})
      const { rows } = await sql`select * from kept`.execute(db)
      expect(rows).toEqual([])
      const level = await transaction(db, (tx) => sql`show transaction_isolation`.execute(tx))
      expect(level.rows).toEqual([{ transaction_isolation: 'serializable' }])
    } finally {
      await sql`drop table kept`.execute(db)
    }
  })
})
