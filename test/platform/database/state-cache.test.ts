import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { openDatabase, transaction } from '../../../src/platform/database/database.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { StateCache } from '../../../src/platform/database/state-cache.ts'
import { withFolder } from '../../support/process.ts'

interface Value {
  readonly text: string
}

const always = () => true
const readText = (text: string) => async (): Promise<Value> => ({ text })

function withDatabase(work: (db: Db) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const db = openDatabase(`${folder}/a.db`)
    await sql`create table changes (number integer)`.execute(db)
    await work(db).finally(() => db.destroy())
  })
}

async function change(db: Db): Promise<void> {
  await sql`insert into changes values (1)`.execute(db)
}

describe('a cache of what was read', () => {
  it('returns a value until the next commit', () =>
    withDatabase(async (db) => {
      const cache = new StateCache<string, Value>(10)
      const value = await cache.read(db, 'a', readText('first'), always)
      expect(cache.get(db, 'a')).toBe(value)
      expect(cache.get(db, 'b')).toBeUndefined()
      await change(db)
      expect(cache.get(db, 'a')).toBeUndefined()
      await cache.read(db, 'b', readText('second'), always)
      expect(cache.get(db, 'a')).toBeUndefined()
      expect(cache.get(db, 'b')).toEqual({ text: 'second' })
    }))

  it('keeps no value that was read before a commit', () =>
    withDatabase(async (db) => {
      const cache = new StateCache<string, Value>(10)
      const read = async () => {
        await change(db)
        return { text: 'old' }
      }
      expect(await cache.read(db, 'a', read, always)).toEqual({ text: 'old' })
      expect(cache.get(db, 'a')).toBeUndefined()
    }))

  it('keeps no value that may not be returned again', () =>
    withDatabase(async (db) => {
      const cache = new StateCache<string, Value>(10)
      await cache.read(db, 'a', readText('once'), () => false)
      expect(cache.get(db, 'a')).toBeUndefined()
    }))

  it('drops the oldest of too many values', () =>
    withDatabase(async (db) => {
      const cache = new StateCache<string, Value>(2)
      for (const key of ['a', 'b', 'c']) await cache.read(db, key, readText(key), always)
      expect(['a', 'b', 'c'].map((key) => cache.get(db, key)?.text)).toEqual([undefined, 'b', 'c'])
    }))

  it('is not used in transactions, which see their own changes', () =>
    withDatabase(async (db) => {
      const cache = new StateCache<string, Value>(10)
      await cache.read(db, 'a', readText('outside'), always)
      await transaction(db, async (tx) => {
        expect(cache.get(tx, 'a')).toBeUndefined()
        await cache.read(tx, 'b', readText('inside'), always)
      })
      expect(cache.get(db, 'b')).toBeUndefined()
    }))
})
