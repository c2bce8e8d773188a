import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { postgresPrograms } from '../../../../scripts/checks/postgres-programs.mjs'
import { withLease } from '../../../../src/platform/concurrency/leases.ts'
import {
  createSharedExclusive,
  SharedLocks,
} from '../../../../src/platform/database/coordination/locks.ts'
import { ServerSession } from '../../../../src/platform/database/coordination/session.ts'
import { runOnOneServer } from '../../../../src/platform/database/coordination/workers.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { openPostgres } from '../../../../src/platform/database/postgres.ts'
import { DatabaseUnavailableError } from '../../../../src/platform/database/postgres-failures.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { type PostgresServer, startPostgres } from '../../../support/postgres-server.ts'
import { startForwarder, type TcpForwarder } from '../../../support/tcp-forwarder.ts'

const TIMEOUT_MS = 120_000
const TITLE = 'a session in PostgreSQL (skipped without its programs)'

describe.skipIf(!postgresPrograms)(TITLE, { timeout: TIMEOUT_MS }, () => {
  let postgres: PostgresServer
  let admin: pg.Client
  const ends: (() => unknown)[] = []

  beforeAll(async () => {
    postgres = await startPostgres()
    admin = new pg.Client({
      host: '127.0.0.1',
      port: postgres.port,
      user: 'branchline',
      database: 'postgres',
      password: postgres.password,
    })
    await admin.connect()
  }, TIMEOUT_MS)

  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })

  afterAll(async () => {
    await admin.end()
    await postgres.remove()
  }, TIMEOUT_MS)

  /** Registers what ends after the test. Tests that run beside others pass that of their context. */
  type AtEnd = (end: () => Promise<void>) => void
  const afterTest: AtEnd = (end) => void ends.push(end)
  const openServer = async (url = postgres.url('postgres'), atEnd = afterTest) => {
    const address = { url, passwordFile: postgres.passwordFile }
    const session = await ServerSession.open(address, 'server', {
      onLost: () => {},
      onFailure: () => {},
    })
    atEnd(() => session.end())
    const db = openPostgres({ ...address, session, onError: () => {} })
    atEnd(() => db.destroy())
    return { session, db, locks: new SharedLocks(session) }
  }
  const forward = async (atEnd: AtEnd): Promise<TcpForwarder> => {
    const forwarder = await startForwarder(postgres.port)
    atEnd(() => forwarder.stop())
    return forwarder
  }
  const addressOf = ({ port }: TcpForwarder) => `postgres://branchline@127.0.0.1:${port}/postgres`
  const write = (db: Db) => transaction(db, (tx) => sql`select 1`.execute(tx))
  /** Ends the session of a server, and resolves when the server has another one. */
  const endSession = async (session: ServerSession) => {
    const renewed = new Promise<void>((resolve) => session.onRenewal(resolve))
    const { rows } = await admin.query(
      'select pid from pg_locks where locktype = $1 and objid::bigint = $2 and objsubid = 2',
      ['advisory', session.serverId],
    )
    await admin.query('select pg_terminate_backend($1)', [rows[0].pid])
    await renewed
  }

  it('work that holds a lock cannot commit after the session was replaced', async () => {
    const { session, db, locks } = await openServer()
    const work = locks.exclusive('tulips', async () => {
      await write(db)
      await endSession(session)
      await write(db)
    })
    await expect(work).rejects.toThrow(DatabaseUnavailableError)
    await locks.exclusive('tulips', () => write(db))
  })

  it('work cannot commit when only PostgreSQL knows that the session has ended', async () => {
    const { session, db } = await openServer()
    const relyOn = (holder: number) =>
      withLease({ holder, check() {} }, () => transaction(db, (tx) => sql`select 1`.execute(tx)))
    const { serverId } = session
    await relyOn(serverId)
    await endSession(session)
    // The process relies on its locks, as after a failover that it has not noticed yet.
    await expect(relyOn(serverId)).rejects.toThrow('a lock of this server was lost')
  })

  it('a lock that was lost with its session is not released for its next holder', async () => {
    const { session, locks } = await openServer()
    const other = await openServer()
    const lost = await locks.take('tulips')
    await endSession(session)
    lost.release()
    const next = await locks.take('tulips')
    next.lease.check()
    expect(await other.locks.tryTake('tulips')).toBeUndefined()
  })

  it('a worker whose session is lost while it starts stops, and starts again', async () => {
    const { session, locks } = await openServer()
    let starts = 0
    const stopped = new Promise<void>((resolve) => {
      const worker = runOnOneServer(
        { session, locks },
        'gardener',
        async () => {
          starts += 1
          if (starts === 1) await endSession(session)
          return { stop: () => resolve() }
        },
        () => {},
      )
      ends.push(() => worker.stop())
    })
    await stopped
    while (starts < 2) await sleep(20)
  })

  it('the connections of a server end with its session', async () => {
    const { session, db } = await openServer()
    const pidOf = async () => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
      return rows[0]?.pid
    }
    const before = await pidOf()
    await endSession(session)
    expect(await pidOf()).not.toBe(before)
  })

  it("a statement beyond the operator's time limit fails as if PostgreSQL were away", async () => {
    const url = `${postgres.url('postgres')}?options=-c%20statement_timeout%3D100`
    const { db } = await openServer(url)
    await expect(sql`select pg_sleep(60)`.execute(db)).rejects.toThrow(DatabaseUnavailableError)
  })

  it('locks that are wanted at the same moment are taken, or not, by each on its own', async () => {
    const [first, second] = [await openServer(), await openServer()]
    const held = await first.locks.tryTake('ada')
    const wanted = ['ada', 'bob', 'carol'].map((key) => second.locks.tryTake(key))
    const taken = await Promise.all(wanted)
    expect(taken.map((lock) => lock !== undefined)).toEqual([false, true, true])
    for (const lock of [held, ...taken]) lock?.release()
  })

  // The next three run beside each other, since they wait for limits of the server and of PostgreSQL.
  it.concurrent('PostgreSQL ends the transaction of a process that stops answering', async ({
    onTestFinished,
  }) => {
    const { db } = await openServer(undefined, onTestFinished)
    const work = transaction(db, async (tx) => {
      await sql`select pg_advisory_xact_lock(11)`.execute(tx)
      // What other servers wait for: the lock is free although the transaction has not ended here.
      await admin.query('select pg_advisory_lock(11)')
      await admin.query('select pg_advisory_unlock(11)')
      await sql`select 1`.execute(tx)
    })
    await expect(work).rejects.toThrow(DatabaseUnavailableError)
  })

  it.concurrent('calls fail, and the locks are free, when the network loses all packets', async ({
    onTestFinished,
  }) => {
    const forwarder = await forward(onTestFinished)
    const { db, locks, session } = await openServer(addressOf(forwarder), onTestFinished)
    const other = await openServer(undefined, onTestFinished)
    await locks.take('tulips')
    forwarder.hang()
    const calls = [write(db), session.query('select 1', [])]
    await Promise.all([
      ...calls.map((call) => expect(call).rejects.toThrow(DatabaseUnavailableError)),
      other.locks.take('tulips'),
    ])
    const renewed = new Promise<void>((resolve) => session.onRenewal(resolve))
    forwarder.leadTo(postgres.port)
    await renewed
    await write(db)
  })

  it.concurrent('a server refuses to read from a standby until that is the primary', async ({
    onTestFinished,
  }) => {
    const standby = await postgres.startStandby()
    onTestFinished(() => standby.remove())
    const forwarder = await forward(onTestFinished)
    const { db, session } = await openServer(addressOf(forwarder), onTestFinished)
    await write(db)
    forwarder.leadTo(standby.port)
    const refusal = () => sql`select 1`.execute(db).then(() => '', String)
    // The first calls may meet connections to the earlier server that end.
    while (!(await refusal()).includes('the server is a standby')) await sleep(10)
    const renewed = new Promise<void>((resolve) => session.onRenewal(resolve))
    await standby.promote()
    await renewed
    await write(db)
  })

  it('locks of several servers are handed over while all of them want it', async () => {
    const servers = await Promise.all([openServer(), openServer()])
    const order: number[] = []
    let isOver = false
    const take = async (index: number) => {
      const exclusive = createSharedExclusive(servers[index]?.locks as SharedLocks, 'beds')
      while (!isOver) await exclusive('tulips', async () => void order.push(index))
    }
    const takers = [take(0), take(0), take(1), take(1)]
    const changes = () => order.filter((taker, i) => i > 0 && taker !== order[i - 1]).length
    while (changes() < 10) await sleep(5)
    isOver = true
    await Promise.all(takers)
  })
})
