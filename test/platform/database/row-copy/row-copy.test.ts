import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresPrograms } from '../../../../scripts/checks/postgres-programs.mjs'
import { migrate } from '../../../../src/forge/migrations/index.ts'
import { openPostgres } from '../../../../src/platform/database/postgres.ts'
import {
  loadRows,
  readRows,
  summarize,
} from '../../../../src/platform/database/row-copy/row-copy.ts'
import { type RowText, rowText } from '../../../../src/platform/database/row-copy/row-text.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openDatabaseFile } from '../../../support/database.ts'
import { type PostgresServer, startPostgres } from '../../../support/postgres-server.ts'

const TIMEOUT_MS = 120_000

/** Texts that databases, JSON or lines could change. */
const TEXTS = [
  '',
  ' ',
  'tulips',
  'Zoë 🌷 𝄞',
  'e\u0301',
  '\0',
  'a\0b\0\0',
  '\uFDD0',
  '\uFDD00',
  '\0\uFDD0\uFDD0\0',
  '\\u0000',
  '\\\\u0000\0',
  '\\',
  '"\'`',
  'line\nline\r\nline\u2028line\u2029',
  '\uFEFF\uFFFD\uFFFF',
  '{"base64":"AA=="}',
  '\\x00',
  '%_~?$1:x',
  'x'.repeat(1_500_000),
]

const BYTES = [
  Buffer.alloc(0),
  Buffer.from([0]),
  Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
  Buffer.alloc(300_000, 0xff),
]

const NUMBERS = [
  0,
  1,
  -1,
  2 ** 31,
  -(2 ** 31) - 1,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
]

/** A table like those of the schema, and one with a self-reference in no good order. */
async function createTables(db: Db): Promise<void> {
  await migrate(db)
  await db.schema
    .createTable('values_of_all_kinds')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('text', 'text')
    .addColumn('bytes', 'blob')
    .addColumn('number', 'integer')
    .addColumn('parent_id', 'integer', (c) => c.references('values_of_all_kinds.id'))
    .execute()
}

/** Opens an SQLite database with these tables, in a folder of its own in a folder. */
async function openSqlite(folder: string): Promise<Db> {
  const db = await openDatabaseFile(await mkdtemp(join(folder, 'data-')))
  await createTables(db)
  return db
}

async function fill(db: Db): Promise<void> {
  const count = Math.max(TEXTS.length, BYTES.length, NUMBERS.length)
  for (let i = 0; i < count; i++) {
    // Each row has the next one as its parent.
    await sql`insert into values_of_all_kinds (id, text, bytes, number)
      values (${i + 1}, ${TEXTS[i] ?? null}, ${BYTES[i] ?? null}, ${NUMBERS[i] ?? null})`.execute(
      db,
    )
  }
  await sql`update values_of_all_kinds set parent_id = id + 1 where id < ${count}`.execute(db)
  await sql`insert into values_of_all_kinds (number) values (9223372036854775807), (-9223372036854775808)`.execute(
    db,
  )
  await sql`delete from values_of_all_kinds where number = -9223372036854775808`.execute(db)
}

async function allRows(db: Db): Promise<RowText[]> {
  return readRows(db, async (reader) => {
    const rows: RowText[] = []
    for (const table of await reader.tables())
      for await (const group of reader.rows(table))
        rows.push(...group.map((row) => `${table.name} ${table.columns} ${row}`))
    return rows.sort()
  })
}

/** Copies all rows. Returns what the new database has, as it was compared. */
function copy(from: Db, to: Db): Promise<void> {
  return readRows(from, (reader) =>
    loadRows(to, async (loader) => {
      for (const table of await reader.tables()) {
        for await (const group of reader.rows(table)) await loader.insert(table, group)
        expect(await summarize(loader, table, () => {})).toEqual(
          await summarize(reader, table, () => {}),
        )
      }
      await loader.continueAfter(await reader.lastIds())
    }),
  )
}

describe('rows in SQLite', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'branchline-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('have values that a move leaves as they are, and ids that are given out once', async () => {
    const [from, to] = [await openSqlite(folder), await openSqlite(folder)]
    await fill(from)
    // SQLite stores values of other types, too.
    await sql`insert into values_of_all_kinds (bytes, number) values (${'text'}, 0.1), (1e999, -1e999)`.execute(
      from,
    )
    await copy(from, to)
    expect(await allRows(to)).toEqual(await allRows(from))
    const next = (db: Db) =>
      sql<{ id: number }>`insert into values_of_all_kinds (number) values (1) returning id`.execute(
        db,
      )
    expect((await next(to)).rows).toEqual((await next(from)).rows)
    await Promise.all([from.destroy(), to.destroy()])
  })

  it('are read as they were at the start', async () => {
    const db = await openSqlite(folder)
    await fill(db)
    const before = await allRows(db)
    await readRows(db, async (reader) => {
      await sql`delete from values_of_all_kinds`.execute(db)
      const table = (await reader.tables()).find(({ name }) => name === 'values_of_all_kinds')
      if (!table) throw new Error('no table')
      expect((await summarize(reader, table, () => {})).rows).toBe(TEXTS.length + 1)
    })
    expect(await allRows(db)).not.toEqual(before)
    await db.destroy()
  })

  it('are refused when a row that they refer to is missing', async () => {
    const db = await openSqlite(folder)
    const table = { name: 'values_of_all_kinds', columns: ['id', 'parent_id'] }
    await expect(loadRows(db, (loader) => loader.insert(table, [rowText([1, 2])]))).rejects.toThrow(
      'refers to a missing row of values_of_all_kinds',
    )
    await db.destroy()
  })

  it.each([
    '{}',
    '[1]',
    '[1,2,3]',
    '[1,{"base64":1}]',
    '[1,true]',
    '[1,0.5]',
    '[1,{"x":"y"}]',
    '[',
  ])('are refused when they cannot be read: %s', async (row) => {
    const db = await openSqlite(folder)
    const table = { name: 'values_of_all_kinds', columns: ['id', 'parent_id'] }
    await expect(loadRows(db, (loader) => loader.insert(table, [row]))).rejects.toThrow(
      'a row that cannot be read',
    )
    await db.destroy()
  })
})

describe.skipIf(!postgresPrograms)('rows in PostgreSQL (skipped without its programs)', () => {
  let folder: string
  let postgres: PostgresServer
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'branchline-'))
    postgres = await startPostgres()
  }, TIMEOUT_MS)
  afterAll(async () => {
    await postgres.remove()
    await rm(folder, { recursive: true })
  }, TIMEOUT_MS)

  const openNew = async (name: string) => {
    await postgres.createDatabase(name)
    const { passwordFile } = postgres
    const db = openPostgres({ url: postgres.url(name), passwordFile, onError: () => {} })
    await createTables(db)
    return db
  }

  it(
    'are those of SQLite, and the same again in SQLite',
    async () => {
      const [from, back] = [await openSqlite(folder), await openSqlite(folder)]
      const to = await openNew('moved')
      await fill(from)
      await copy(from, to)
      expect(await allRows(to)).toEqual(await allRows(from))
      await copy(to, back)
      expect(await allRows(back)).toEqual(await allRows(from))
      for (const db of [from, to, back]) {
        const { rows } = await sql<{ id: number }>`
          insert into values_of_all_kinds (text) values ('next') returning id`.execute(db)
        expect(rows).toEqual([{ id: TEXTS.length + 3 }])
        await db.destroy()
      }
    },
    TIMEOUT_MS,
  )

  it(
    'are loaded completely or not at all, and triggers and references work afterwards',
    async () => {
      const db = await openNew('refused')
      await sql`insert into values_of_all_kinds (number) values (1)`.execute(db)
      const before = await allRows(db)
      const table = { name: 'values_of_all_kinds', columns: ['id', 'parent_id'] }
      const load = (row: RowText) => loadRows(db, (loader) => loader.insert(table, [row]))
      await expect(load(rowText([1, 2]))).rejects.toThrow('refers to a missing row')
      await expect(load(rowText([1, 'one']))).rejects.toThrow('which PostgreSQL cannot store')
      await expect(load(rowText([1, { integer: '9223372036854775808' }]))).rejects.toThrow(
        'do not fit',
      )
      expect(await allRows(db)).toEqual(before)
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from pg_trigger where not tgisinternal and tgenabled <> 'O'`.execute(
        db,
      )
      expect(rows).toEqual([{ count: 0 }])
      await expect(
        sql`update values_of_all_kinds set parent_id = 4711`.execute(db),
      ).rejects.toThrow('foreign key')
      await db.destroy()
    },
    TIMEOUT_MS,
  )
})
