import { beforeEach, describe, expect, it } from 'vitest'
import type { User } from '../../../../src/forge/core/schema.ts'
import { insertTransfer } from '../../../../src/forge/repositories/lifecycle/repositories.rows.ts'
import { searchRepositories } from '../../../../src/forge/repositories/search/repository-search.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { ANYBODY, addRepository, session } from '../../../support/forge-rows.ts'
import { countQueries } from '../../../support/query-plan.ts'

let app: TestApp
let bob: User
let carol: User

beforeEach(async () => {
  app = await testApp()
  bob = await addUser(app, 'bob')
  carol = await addUser(app, 'carol')
})

/** Adds a repository of bob, a fork of it by carol, and a pending transfer to carol. */
async function addOffered(name: string, isPrivate = 0): Promise<void> {
  await transaction(app.db, async (tx) => {
    const { id } = await addRepository(tx, { owner_id: bob.id, name, private: isPrivate })
    await addRepository(tx, { owner_id: carol.id, name: `${name}-fork`, parent_id: id })
    const offer = {
      repository_id: id,
      doer_id: bob.id,
      recipient_id: carol.id,
      made_reader: 0,
      create_time: 0,
    }
    await insertTransfer(tx, offer)
  })
}

const EVERYTHING = {
  q: '',
  topic: false,
  includeDesc: false,
  uid: 0,
  priorityOwnerId: 0,
  starredBy: 0,
  exclusive: false,
  teamId: 0,
  mode: '',
  sort: '',
  order: '',
}
const PAGE = { offset: 0, limit: 50 }

describe('a page of repositories', () => {
  it('takes as many queries as one repository', async () => {
    const count = () =>
      countQueries(app.db, (db) =>
        searchRepositories({ ...app, db }, session(carol), EVERYTHING, PAGE),
      )
    await addOffered('first')
    const queries = await count()
    for (let i = 0; i < 20; i++) await addOffered(`more-${i}`)
    expect(await count()).toBe(queries)
  })

  it('shows parents and transfers only to callers who may see them', async () => {
    await addOffered('open')
    await addOffered('hidden', 1)
    const shown = async (caller: Parameters<typeof searchRepositories>[1]) => {
      const { repositories } = await searchRepositories(app, caller, EVERYTHING, PAGE)
      return repositories.map(({ repository, parent, transfer }) => [
        repository.name,
        parent?.repository.name,
        transfer?.recipient.name,
      ])
    }
    expect(await shown(ANYBODY)).toEqual([
      ['hidden-fork', undefined, undefined],
      ['open', undefined, undefined],
      ['open-fork', 'open', undefined],
    ])
    expect(await shown(session(bob))).toEqual([
      ['hidden', undefined, 'carol'],
      ['hidden-fork', 'hidden', undefined],
      ['open', undefined, 'carol'],
      ['open-fork', 'open', undefined],
    ])
    expect(await shown(session(carol))).toEqual([
      ['hidden-fork', undefined, undefined],
      ['open', undefined, 'carol'],
      ['open-fork', 'open', undefined],
    ])
  })
})

describe('the counts of a repository', () => {
  const figuresOf = async (name: string) => {
    const { repositories } = await searchRepositories(
      app,
      session(bob),
      { ...EVERYTHING, q: name },
      PAGE,
    )
    const { branch_count, forks_count } = repositories[0]?.repository ?? {}
    return { branch_count, forks_count }
  }

  it('follow forks that are created, transferred and deleted', async () => {
    await addOffered('base')
    await addOffered('other')
    expect((await figuresOf('base')).forks_count).toBe(1)
    const { id } = await app.db
      .selectFrom('repositories')
      .select('id')
      .where('name', '=', 'other')
      .executeTakeFirstOrThrow()
    await app.db.deleteFrom('repositories').where('name', '=', 'other-fork').execute()
    expect((await figuresOf('other')).forks_count).toBe(0)
    await app.db
      .updateTable('repositories')
      .set({ parent_id: id })
      .where('name', '=', 'base-fork')
      .execute()
    expect([(await figuresOf('base')).forks_count, (await figuresOf('other')).forks_count]).toEqual(
      [0, 1],
    )
    // A fork outlives its parent.
    await app.db.deleteFrom('repositories').where('id', '=', id).execute()
    const fork = await app.db
      .selectFrom('repositories')
      .selectAll()
      .where('name', '=', 'base-fork')
      .executeTakeFirst()
    expect(fork?.parent_id).toBeNull()
  })

  it('follow branches that are created and deleted', async () => {
    await addOffered('base')
    const { id } = await app.db
      .selectFrom('repositories')
      .select('id')
      .where('name', '=', 'base')
      .executeTakeFirstOrThrow()
    const branches = ['a', 'b'].map((name) => ({
      repository_id: id,
      name,
      commit_id: '0'.repeat(40),
      commit_time: 0,
    }))
    await app.db.insertInto('branches').values(branches).execute()
    expect((await figuresOf('base')).branch_count).toBe(2)
    await app.db.deleteFrom('branches').where('name', '=', 'a').execute()
    expect((await figuresOf('base')).branch_count).toBe(1)
  })
})
