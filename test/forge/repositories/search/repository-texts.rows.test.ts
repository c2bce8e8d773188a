import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  countRepositories,
  narrowByName,
  type RepositorySearch,
  searchRepositories,
} from '../../../../src/forge/repositories/search/repository-search.rows.ts'
import { findNamed } from '../../../../src/forge/repositories/search/repository-texts.rows.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { seededRandom } from '../../../platform/rpc/rest/random.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { addRepository } from '../../../support/forge-rows.ts'
import { plansOf } from '../../../support/query-plan.ts'

const READER = {
  userId: 1,
  needsSignIn: false,
  restricted: false,
  publicOnly: false,
  administrator: 'write',
} as const
const BY_ID = { column: 'id', direction: 'asc' } as const

let app: TestApp
let db: Db
let ownerId: number

beforeAll(async () => {
  app = await testApp()
  db = app.db
  ownerId = (await addUser(app, 'ada')).id
})
afterAll(() => db.destroy())

const searchFor = (name: string): RepositorySearch => ({
  reader: READER,
  texts: [{ name, ownerEnding: undefined, description: undefined }],
})

/** The names that a search by the index finds, and their number. */
async function found(text: string) {
  const search = await narrowByName(db, searchFor(text))
  const rows = await searchRepositories(db, search, BY_ID, 0, 5000)
  expect(await countRepositories(db, search)).toBe(rows.length)
  return { names: rows.map(({ name_key }) => name_key), isByIndex: search.named !== undefined }
}

describe('a search for a text in names', () => {
  it('finds the same as a look at every name, whatever is created, renamed and deleted', async () => {
    const random = seededRandom(7)
    const names = new Set<string>()
    const newName = () => {
      const length = 1 + random.below(8)
      return Array.from({ length }, () => random.pick(['a', 'b', '-', '.', '_'] as const)).join('')
    }
    for (let step = 0; step < 400; step++) {
      const name = newName()
      const old = random.pick(['', ...names] as [string, ...string[]])
      if (names.has(name)) continue
      const stored = db.updateTable('repositories').where('name_key', '=', old)
      const kind = old === '' ? 0 : random.below(4)
      if (kind === 1) {
        await stored.set({ name, name_key: name }).execute()
        names.add(name)
        names.delete(old)
      } else if (kind === 2) {
        await db.deleteFrom('repositories').where('name_key', '=', old).execute()
        names.delete(old)
      } else {
        await transaction(db, (tx) => addRepository(tx, { owner_id: ownerId, name }))
        names.add(name)
      }
    }
    expect(names.size).toBeGreaterThan(50)
    for (const text of [
      'a',
      '-',
      'ab',
      '.a',
      '__',
      'aab',
      'b-b',
      'zz',
      '%',
      '_',
      "'",
      '\u{10ffff}',
    ]) {
      const { names: result, isByIndex } = await found(text)
      expect(result.toSorted()).toEqual([...names].filter((name) => name.includes(text)).toSorted())
      expect(isByIndex).toBe(true)
    }
    const { length } = [...names].join('')
    const ends = await db.selectFrom('repository_name_ends').select('name_end').execute()
    expect(ends).toHaveLength(length)
  })

  it('finds topics too, and each repository once', async () => {
    const [first, second] = await transaction(db, async (tx) => [
      await addRepository(tx, { owner_id: ownerId, name: 'steam-engine' }),
      await addRepository(tx, { owner_id: ownerId, name: 'loom' }),
    ])
    await transaction(db, async (tx) => {
      const { id: topic_id } = await tx
        .insertInto('topics')
        .values({ name: 'engines', create_time: 0, update_time: 0 })
        .returning('id')
        .executeTakeFirstOrThrow()
      for (const repository_id of [first.id, second.id])
        await tx
          .insertInto('repository_topics')
          .values({ repository_id, topic_id, is_public: 1 })
          .execute()
    })
    expect((await found('engine')).names).toEqual(['steam-engine', 'loom'])
    expect((await found('engine-')).names).toEqual([])
  })

  it('finds names of the maximum length, and their last character', async () => {
    const name = `${'x'.repeat(98)}qz`
    await transaction(db, (tx) => addRepository(tx, { owner_id: ownerId, name }))
    for (const text of [name, 'qz', 'z']) expect((await found(text)).names).toEqual([name])
  })

  it('looks at the repositories if too many names have the text', async () => {
    await transaction(db, async (tx) => {
      for (let i = 0; i < 1001; i++)
        await addRepository(tx, { owner_id: ownerId, name: `crowd${i}` })
    })
    const { names, isByIndex } = await found('crowd')
    expect([names.length, isByIndex]).toEqual([1001, false])
    expect(await found('crowd100')).toEqual({ names: ['crowd100', 'crowd1000'], isByIndex: true })
    expect(await findNamed(db, '')).toBeUndefined()
  })

  it('reads neither other names nor other repositories', async () => {
    const plans = await plansOf(db, async (watched) => {
      const search = { ...searchFor('engine'), named: '[1]' }
      await findNamed(watched, 'engine')
      await countRepositories(watched, search)
      await searchRepositories(watched, search, { column: 'name_key', direction: 'asc' }, 0, 30)
    })
    expect(plans[0]).toEqual([
      'SEARCH repository_name_ends USING PRIMARY KEY (name_end>? AND name_end<?)',
    ])
    for (const plan of plans.slice(1))
      expect(plan).toContain('SEARCH repositories USING INTEGER PRIMARY KEY (rowid=?)')
  })
})
