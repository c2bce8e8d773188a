import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CompiledQuery, Kysely } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CommitLog } from '../../../src/platform/database/commit-log.ts'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { runRepeatable } from '../../../src/platform/database/repeatable.ts'
import { Sqlite } from '../../../src/platform/database/sqlite.ts'
import { WritingDialect } from '../../../src/platform/database/sqlite-dialect.ts'

let file: string
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commit-log-'))
  file = join(folder, 'a.db')
})
afterEach(() => rm(folder, { recursive: true }))

/** A disk whose flushes end when the test says so. */
function disk() {
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = []
  const flush = () => new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }))
  return { flush, waiting }
}

/** Returns whether a promise has resolved after all that is due now. */
async function isOver(work: Promise<unknown>): Promise<boolean> {
  let isOver = false
  work.then(
    () => {
      isOver = true
    },
    () => {},
  )
  await new Promise((resolve) => setImmediate(resolve))
  return isOver
}

/** A log whose file is there. */
async function logWith(flush: () => Promise<void>) {
  const sqlite = new Sqlite(file)
  sqlite.pragma('journal_mode = WAL')
  sqlite.exec('create table t (a integer)')
  const log = new CommitLog(file, flush)
  return { log, sqlite }
}

describe('the log of commits', () => {
  it('flushes once for all commits that came during a flush', async () => {
    const { flush, waiting } = disk()
    const { log, sqlite } = await logWith(flush)
    const first = log.flushed()
    const [second, third] = [log.flushed(), log.flushed()]
    expect(waiting).toHaveLength(1)
    waiting[0]?.resolve()
    await first
    expect(await isOver(second)).toBe(false)
    expect(waiting).toHaveLength(2)
    waiting[1]?.resolve()
    await Promise.all([second, third])
    const fourth = log.flushed()
    expect(waiting).toHaveLength(3)
    waiting[2]?.resolve()
    await fourth
    await log.close()
    sqlite.close()
  })

  it('fails for all commits after the disk has failed', async () => {
    const { flush, waiting } = disk()
    const { log, sqlite } = await logWith(flush)
    const [first, second] = [log.flushed(), log.flushed()]
    waiting[0]?.reject(new Error('EIO'))
    await expect(first).rejects.toThrow('was not written to the disk')
    await expect(second).rejects.toThrow('was not written to the disk')
    await expect(log.flushed()).rejects.toThrow('was not written to the disk')
    expect(waiting).toHaveLength(1)
    await log.close()
    sqlite.close()
  })
})

describe('a database with a log', () => {
  const open = async () => {
    const { flush, waiting } = disk()
    const { log, sqlite } = await logWith(flush)
    let changes = 0
    const hasChanged = () => {
      const now = sqlite.prepare<[], number>('select total_changes()').pluck().get() ?? 0
      const isMore = now !== changes
      changes = now
      return isMore
    }
    const own = { hasChanged, flushed: () => log.flushed(), close: () => log.close() }
    const db = new Kysely<{ t: { a: number } }>({
      dialect: new WritingDialect({ database: sqlite }, { log: own }),
    })
    return { db, waiting }
  }

  it('answers a write after the flush, and lets others read and write meanwhile', async () => {
    const { db, waiting } = await open()
    const first = db.transaction().execute((tx) => tx.insertInto('t').values({ a: 1 }).execute())
    expect(await isOver(first)).toBe(false)
    const second = db.insertInto('t').values({ a: 2 }).execute()
    expect(await isOver(second)).toBe(false)
    expect(await db.selectFrom('t').select('a').execute()).toEqual([{ a: 1 }, { a: 2 }])
    expect(waiting).toHaveLength(1)
    waiting[0]?.resolve()
    await first
    expect(await isOver(second)).toBe(false)
    waiting[1]?.resolve()
    await second
    await db.destroy()
  })

  it('answers a change that can be made again before the flush, and others after it', async () => {
    const { db, waiting } = await open()
    await runRepeatable(() =>
      db.transaction().execute((tx) => tx.insertInto('t').values({ a: 1 }).execute()),
    )
    expect(waiting).toHaveLength(1)
    const next = db.insertInto('t').values({ a: 2 }).execute()
    waiting[0]?.resolve()
    expect(await isOver(next)).toBe(false)
    waiting[1]?.resolve()
    await next
    await db.destroy()
  })

  it('tells the next writer that the flush of a change that can be made again has failed', async () => {
    const { db, waiting } = await open()
    await runRepeatable(() => db.insertInto('t').values({ a: 1 }).execute())
    waiting[0]?.reject(new Error('EIO'))
    await expect(db.insertInto('t').values({ a: 2 }).execute()).rejects.toThrow('was not written')
    await db.destroy()
  })

  it('flushes nothing for a transaction that has changed nothing', async () => {
    const { db, waiting } = await open()
    await db.transaction().execute((tx) => tx.selectFrom('t').selectAll().execute())
    await db.transaction().execute((tx) => tx.deleteFrom('t').execute())
    expect(waiting).toHaveLength(0)
    await db.destroy()
  })
})

it('leaves the log to the dialect for a file, and to SQLite for a database in memory', async () => {
  const synchronous = async (source: string) => {
    const db = openDatabase(source)
    const { rows } = await db.executeQuery<{ synchronous: number }>(
      CompiledQuery.raw('pragma synchronous'),
    )
    await db.destroy()
    return rows[0]?.synchronous
  }
  expect(await synchronous(file)).toBe(1)
  expect(await synchronous(':memory:')).toBe(2)
})
