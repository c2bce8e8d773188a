import assert from 'node:assert/strict'
import { Sqlite } from '../src/platform/database/sqlite.ts'
import { createRepository } from './git.ts'
import { restGetUser, type Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import type { Case, Group } from './measure.ts'
import { insertPulls } from './pull-lists.ts'
import { insertReleases } from './releases.ts'
import { get } from './requests.ts'
import { sized } from './sizes.ts'

const PULLS = 'page-of-pulls'
const RELEASES = 'page-of-releases'

/** The search finds many more repositories than those of its page. */
const REPOSITORIES = sized(1_000, 40)

/**
 * Usual pages of a forge, compared with a call for one account.
 *
 * @param database of `branchline`, which has it open.
 */
export async function pages(
  { branchline, credentials }: Servers,
  database: string,
): Promise<Group> {
  for (const name of [PULLS, RELEASES])
    await createRepository(branchline, credentials.personalAccessToken, name)
  insertPulls(database, PULLS, 50)
  insertReleases(database, RELEASES, 30)
  insertRepositories(database)
  const user = 'GetUser'
  const common = { client: http1, server: branchline }
  const page = (name: string, path: string, rowsOf: (body: unknown) => unknown[]): Case => ({
    ...common,
    name,
    requests: [get(`/api/v1/${path}`)],
    baseline: user,
    check: ({ status, body }) => {
      assert.equal(status, 200)
      assert.equal(rowsOf(JSON.parse(body.toString())).length, Number.parseInt(name, 10))
    },
  })
  const bare = (body: unknown) => body as unknown[]
  return {
    name: 'pages',
    title: 'Pages over REST',
    rounds: 5,
    durationMs: 600,
    inFlight: 8,
    cases: [
      {
        ...common,
        name: user,
        requests: restGetUser,
        check: ({ status }) => assert.equal(status, 200),
      },
      page('50 pull requests', `repos/ada/${PULLS}/pulls?state=all&limit=50`, bare),
      page('30 releases', `repos/ada/${RELEASES}/releases?limit=30`, bare),
      page(
        '30 repositories of a search',
        'repos/search?limit=30',
        (body) => (body as { data: unknown[] }).data,
      ),
    ],
  }
}

function insertRepositories(database: string): void {
  const sqlite = new Sqlite(database)
  const insert = sqlite.prepare(`insert into repositories (owner_id, name, name_key, private,
    default_branch, create_time, update_time, website, description)
    select id, ?, ?, 0, 'main', 0, 0, '', 'About it' from users where username = 'ada'`)
  sqlite.transaction(() => {
    for (let i = 0; i < REPOSITORIES; i++) {
      const name = `listed-${String(i).padStart(4, '0')}`
      insert.run(name, name)
    }
  })()
  sqlite.close()
}
