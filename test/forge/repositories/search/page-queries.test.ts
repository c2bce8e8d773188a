import { beforeAll, describe, expect, it } from 'vitest'
import type { Caller } from '../../../../src/forge/core/access.ts'
import { listPulls } from '../../../../src/forge/pulls/lists/pull-lists.ts'
import type { ReposApp } from '../../../../src/forge/repositories/ports.ts'
import { insertRelease } from '../../../../src/forge/repositories/releases/releases.rows.ts'
import { listReleases } from '../../../../src/forge/repositories/releases/releases.ts'
import { searchRepositories } from '../../../../src/forge/repositories/search/repository-search.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { ANYBODY, addPull, addRepository, session } from '../../../support/forge-rows.ts'
import { countQueries } from '../../../support/query-plan.ts'

const ROWS = 20
const ENGINE = { owner: 'ada', repo: 'engine' }

let app: TestApp
let reader: Caller

/** Each pull request has a poster, a fork and an assignee of its own, each release a publisher. */
beforeAll(async () => {
  app = await testApp()
  const ada = await addUser(app, 'ada')
  reader = session(await addUser(app, 'bob'))
  const engine = await transaction(app.db, (tx) =>
    addRepository(tx, { owner_id: ada.id, name: 'engine' }),
  )
  for (let i = 0; i < ROWS; i++) {
    const user = await addUser(app, `user-${i}`)
    await transaction(app.db, async (tx) => {
      const fork = await addRepository(tx, {
        owner_id: user.id,
        name: 'engine',
        parent_id: engine.id,
      })
      const pull = await addPull(tx, {
        repository_id: engine.id,
        head_repository_id: fork.id,
        poster_id: user.id,
      })
      await tx
        .insertInto('issue_assignees')
        .values({ issue_id: pull.id, user_id: user.id })
        .execute()
      await insertRelease(tx, {
        repository_id: engine.id,
        tag_name: `v${i}`,
        tag_only: 0,
        draft: 0,
        prerelease: 0,
        publisher_id: user.id,
        create_time: i,
        target: 'main',
        title: 'A version',
        note: '',
      })
    })
  }
})

type List = (app: ReposApp, caller: Caller, limit: number) => Promise<number>

const lists: Readonly<Record<string, List>> = {
  'pull requests': async (app, caller, limit) => {
    const query = {
      baseBranch: '',
      state: 'all',
      sort: '',
      milestoneId: 0,
      labels: [],
      poster: '',
    }
    return (await listPulls(app, caller, ENGINE, query, { offset: 0, limit })).pulls.length
  },
  releases: async (app, caller, limit) => {
    const all = { draft: undefined, prerelease: undefined }
    return (await listReleases(app, caller, ENGINE, all, { offset: 0, limit })).releases.length
  },
  'repositories of a search': async (app, caller, limit) => {
    const query = {
      ...{ q: 'eng', topic: false, includeDesc: false, uid: 0, priorityOwnerId: 0, starredBy: 0 },
      ...{ exclusive: false, teamId: 0, mode: '', sort: '', order: '' },
    }
    const page = await searchRepositories(app, caller, query, { offset: 0, limit })
    return page.repositories.length
  },
}

/** Returns the number of queries for a page of a number of rows. */
async function queriesOf(list: List, caller: Caller, rows: number): Promise<number> {
  return countQueries(app.db, async (db) => {
    expect(await list({ ...app, db }, caller, rows)).toBe(rows)
  })
}

describe('a page', () => {
  it.each([
    ['pull requests', 17, 22],
    ['releases', 5, 6],
    ['repositories of a search', 8, 11],
  ])(
    'of %s takes as many queries for two rows as for twenty',
    async (name, anonymous, signedIn) => {
      const list = lists[name] as List
      for (const [caller, expected] of [
        [ANYBODY, anonymous],
        [reader, signedIn],
      ] as const) {
        expect(await queriesOf(list, caller, 2)).toBe(expected)
        expect(await queriesOf(list, caller, ROWS)).toBe(expected)
      }
    },
  )
})
