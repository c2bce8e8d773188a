import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RepositoryReader } from '../../../../src/forge/repositories/access/repository-readers.rows.ts'
import {
  countRepositories,
  type RepositoryOrder,
  type RepositorySearch,
  searchRepositories,
} from '../../../../src/forge/repositories/search/repository-search.rows.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

const ANYBODY: RepositoryReader = {
  userId: undefined,
  needsSignIn: false,
  restricted: false,
  publicOnly: false,
  administrator: 'none',
}
const SOMEBODY = { ...ANYBODY, userId: 5 }

/** Returns how a query reads the repositories, and whether it sorts. */
async function stepsOf(work: (watched: Db) => Promise<unknown>): Promise<string[]> {
  // Only the page is kept while sorting. The counts are two rows.
  const scanned = ['repositories', 'repository_counts']
  const [plan = [], ...others] = await plansOf(db, work, { scanned })
  expect(others).toEqual([])
  return plan.filter((step) => /^(SCAN|SEARCH) (repositories|account_names)\b|ORDER BY/.test(step))
}

const ALL = { reader: SOMEBODY }
const OF_OWNER = { ...ALL, ownerId: 7 }
const OWN = { ...ALL, participant: { id: 5, asOwner: true, withHiddenMemberships: true } }
const OF_TEAM = { ...ALL, teamId: 3 }
const NAMED = {
  ...ALL,
  texts: [{ name: 'engine', ownerEnding: undefined, description: undefined }],
}
const NAMED_WITH_OWNER = {
  ...ALL,
  texts: [{ name: 'engine', ownerEnding: 'bob', description: undefined }],
}
const BY_NAME: RepositoryOrder = { column: 'name_key', direction: 'asc' }
const LATEST_FIRST: RepositoryOrder = { column: 'update_time', direction: 'desc' }

describe('a page of repositories', () => {
  it.each<[string, RepositorySearch, RepositoryOrder, string[]]>([
    ['all by name', ALL, BY_NAME, ['SCAN repositories USING INDEX repositories_by_name']],
    [
      'all, latest first',
      ALL,
      LATEST_FIRST,
      ['SCAN repositories USING INDEX repositories_by_change'],
    ],
    // An index would be written with every push, and only the page is kept while sorting.
    [
      'all by size',
      ALL,
      { ...BY_NAME, column: 'size_kib' },
      ['SCAN repositories', 'USE TEMP B-TREE FOR ORDER BY'],
    ],
    [
      'those of an owner',
      OF_OWNER,
      BY_NAME,
      ['SEARCH repositories USING INDEX sqlite_autoindex_repositories_1 (owner_id=?)'],
    ],
    [
      "somebody's own",
      OWN,
      BY_NAME,
      [
        'SEARCH repositories USING INDEX repositories_readable (owner_id=?)',
        'SEARCH repositories USING INTEGER PRIMARY KEY (rowid=?)',
        'SEARCH repositories USING INDEX repositories_readable (owner_id=?)',
        'USE TEMP B-TREE FOR ORDER BY',
      ],
    ],
    [
      "a team's",
      OF_TEAM,
      BY_NAME,
      [
        'SEARCH repositories USING INDEX repositories_readable (owner_id=?)',
        'USE TEMP B-TREE FOR ORDER BY',
      ],
    ],
    [
      'by a part of the name',
      NAMED,
      BY_NAME,
      ['SCAN repositories USING INDEX repositories_by_name'],
    ],
    [
      'by owner and name',
      NAMED_WITH_OWNER,
      BY_NAME,
      [
        'SEARCH repositories USING INDEX repositories_readable (owner_id=?)',
        'SCAN account_names USING COVERING INDEX account_names_of_account',
        'USE TEMP B-TREE FOR ORDER BY',
      ],
    ],
  ])('uses indexes: %s', async (_, search, order, steps) => {
    expect(await stepsOf((watched) => searchRepositories(watched, search, order, 0, 30))).toEqual(
      steps,
    )
  })
})

describe('the number of repositories', () => {
  const ofHiddenOwners =
    'SEARCH repositories USING COVERING INDEX repositories_readable (owner_id=? AND private=?)'
  it.each<[string, RepositorySearch, string[]]>([
    ['for everybody', { reader: ANYBODY }, [ofHiddenOwners]],
    ['for administrators', { reader: { ...SOMEBODY, administrator: 'read' } }, []],
    [
      'for accounts',
      ALL,
      [ofHiddenOwners, 'SEARCH repositories USING INTEGER PRIMARY KEY (rowid=?)'],
    ],
    [
      'for restricted accounts',
      { reader: { ...SOMEBODY, restricted: true } },
      ['SEARCH repositories USING INTEGER PRIMARY KEY (rowid=?)'],
    ],
    [
      'private',
      { ...ALL, private: true },
      ['SEARCH repositories USING INTEGER PRIMARY KEY (rowid=?)'],
    ],
    [
      'of an owner',
      OF_OWNER,
      ['SEARCH repositories USING COVERING INDEX repositories_readable (owner_id=?)'],
    ],
    // The newest only, which are a stretch of ids.
    ['with a text in the name', NAMED, ['SEARCH repositories USING INTEGER PRIMARY KEY (rowid>?)']],
  ])('is counted without a scan: %s', async (_, search, steps) => {
    expect(await stepsOf((watched) => countRepositories(watched, search))).toEqual(steps)
  })
})
