import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { WriteTurns } from '../../../../src/platform/database/coordination/write-turns.ts'
import { openDatabase, transaction } from '../../../../src/platform/database/database.ts'
import { prepareQuery } from '../../../../src/platform/database/prepared.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { Sqlite } from '../../../../src/platform/database/sqlite.ts'
import { TestGroup, type TestMember } from '../../../support/process-group.ts'

let group: TestGroup
let folder: string
const databases: Db[] = []

beforeEach(async () => {
  group = new TestGroup()
  folder = await mkdtemp(join(tmpdir(), 'branchline-'))
})

afterEach(async () => {
  for (const db of databases.splice(0)) await db.destroy()
  group.end()
  await rm(folder, { recursive: true })
})

/** Opens the database as a worker process does. */
const open = ({ channel }: TestMember, now?: () => number): Db => {
  const db = openDatabase(join(folder, 'test.db'), new WriteTurns(channel, now))
  databases.push(db)
  return db
}
const insert = (db: Db, text: string) => sql`insert into flowers values (${text})`.execute(db)
const flowers = async (db: Db) => {
  const { rows } = await sql<{ name: string }>`select name from flowers order by rowid`.execute(db)
  return rows.map(({ name }) => name)
}
const createTable = (db: Db) => sql`create table flowers (name text unique)`.execute(db)
const settled = () => new Promise((resolve) => setImmediate(resolve))

it('a transaction waits for that of another process, and its thread goes on', async () => {
  const [a, b] = [open(group.join()), open(group.join())]
  await createTable(a)
  let end = () => {}
  const isOpen = new Promise<void>((begun) => {
    void transaction(a, async (tx) => {
      await insert(tx, 'tulip')
      begun()
      await new Promise<void>((resolve) => {
        end = resolve
      })
    })
  })
  await isOpen
  // SQLite would block the thread here, for which the other transaction waits.
  const second = transaction(b, (tx) => insert(tx, 'rose'))
  const alone = insert(b, 'lily')
  await settled()
  end()
  await Promise.all([second, alone])
  const [first, ...others] = await flowers(a)
  expect([first, others.sort()]).toEqual(['tulip', ['lily', 'rose']])
})

it('a process leaves its turn when nothing of it waits to write', async () => {
  const { channel } = group.join()
  const sent: string[] = []
  const turns = new WriteTurns({
    ...channel,
    send(message) {
      sent.push(message.kind)
      channel.send(message)
    },
  })
  const db = openDatabase(join(folder, 'test.db'), turns)
  databases.push(db)
  await createTable(db)
  await settled()
  await Promise.all([insert(db, 'tulip'), insert(db, 'rose'), flowers(db)])
  await settled()
  await flowers(db)
  const turn = ['want turn', 'leave turn']
  expect(sent).toEqual([...turn, ...turn])
})

it('processes that write all the time have their turns alternately', async () => {
  // Each look at the clock ends the slice.
  let nowMs = 0
  const now = () => {
    nowMs += 60_000
    return nowMs
  }
  const all = [open(group.join(), now), open(group.join(), now), open(group.join(), now)]
  await createTable(all[0] as Db)
  const writers = all.flatMap((db, index) =>
    Array.from({ length: 4 }, (_, i) => transaction(db, (tx) => insert(tx, `${index} ${i}`))),
  )
  await Promise.all(writers)
  const order = (await flowers(all[0] as Db)).map((name) => name[0])
  for (let round = 0; round < 4; round++)
    expect(order.slice(round * 3, round * 3 + 3).sort()).toEqual(['0', '1', '2'])
})

it('a process runs the transactions that wait before it leaves its turn, for a time', async () => {
  const all = [open(group.join(), () => 0), open(group.join(), () => 0)]
  await createTable(all[0] as Db)
  const writers = all.flatMap((db, index) =>
    Array.from({ length: 4 }, (_, i) => transaction(db, (tx) => insert(tx, `${index} ${i}`))),
  )
  await Promise.all(writers)
  const order = (await flowers(all[0] as Db)).map((name) => name[0]).join('')
  expect(order).toBe('00001111')
})

it('a transaction that fails ends the turn', async () => {
  const [a, b] = [open(group.join(), () => 0), open(group.join(), () => 0)]
  await createTable(a)
  await insert(a, 'tulip')
  const failing = transaction(a, async (tx) => {
    await insert(tx, 'tulip')
  })
  await expect(failing).rejects.toThrow('UNIQUE')
  await expect(insert(a, 'tulip')).rejects.toThrow('UNIQUE')
  await insert(b, 'rose')
})

it('the turn of a process that was killed goes to the next one', async () => {
  const killed = group.join()
  const turns = new WriteTurns(killed.channel)
  await turns.begin()
  const db = open(group.join())
  const waiting = createTable(db)
  await settled()
  group.kill(killed)
  await waiting
})

it('processes write without turns when the primary process has ended', async () => {
  const [a, b] = [open(group.join()), open(group.join())]
  await createTable(a)
  const waiting = transaction(b, (tx) => insert(tx, 'tulip'))
  group.endHost()
  await waiting
  await insert(a, 'rose')
  expect(await flowers(b)).toEqual(['tulip', 'rose'])
})

it('a read sees what another process has committed before the call of the read came', async () => {
  const db = open(group.join())
  await createTable(db)
  const other = new Sqlite(join(folder, 'test.db'))
  const names = prepareQuery((handle) => ({
    compile: () => sql<{ name: string }>`select name from flowers`.compile(handle),
  }))
  const rows = await new Promise((resolve) => {
    // Two callbacks of one iteration of the event loop, as of two calls.
    setImmediate(async () => {
      await names(db)
      other.exec("insert into flowers values ('tulip')")
    })
    setImmediate(() => resolve(names(db)))
  })
  other.close()
  expect(rows).toEqual([{ name: 'tulip' }])
})
