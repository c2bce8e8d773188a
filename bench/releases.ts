import assert from 'node:assert/strict'
import { Sqlite } from '../src/platform/database/sqlite.ts'
import { createRepository } from './git.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import type { Case, Group } from './measure.ts'
import { get } from './requests.ts'
import { sized } from './sizes.ts'

const FEW = 10
const MANY = sized(5000, 40)

/** The default length of a page. */
const DEFAULT_LIMIT = 30

/** 14 November 2023. Each release is a minute younger than the previous one. */
const FIRST_CREATE_TIME_S = 1_700_000_000
const INTERVAL_S = 60

const IN_FLIGHT = 32

/**
 * First pages of the releases of two repositories.
 *
 * @param database of `branchline`, which has it open.
 */
export async function releaseLists(
  { branchline, credentials }: Servers,
  database: string,
): Promise<Group> {
  for (const count of [FEW, MANY]) {
    await createRepository(branchline, credentials.personalAccessToken, repositoryOf(count))
    insertReleases(database, repositoryOf(count), count)
  }
  const page = (name: string, count: number, limit: number): Case => ({
    name,
    client: http1,
    server: branchline,
    requests: [get(`/api/v1/repos/ada/${repositoryOf(count)}/releases?limit=${limit}`)],
    check: ({ status, body }) => {
      assert.equal(status, 200)
      const tags = JSON.parse(body.toString()).map(
        (release: { tag_name: string }) => release.tag_name,
      )
      const latest = Array.from({ length: Math.min(limit, count) }, (_, i) => tagOf(count - 1 - i))
      assert.deepEqual(tags, latest)
    },
  })
  const few = page('10 releases', FEW, DEFAULT_LIMIT)
  return {
    name: 'releases',
    title: 'ListReleases over REST, first page of',
    rounds: 3,
    durationMs: 600,
    inFlight: IN_FLIGHT,
    cases: [
      few,
      { ...page('5000 releases, first 10', MANY, FEW), baseline: few.name },
      { ...page('5000 releases, first 30', MANY, DEFAULT_LIMIT), baseline: few.name },
    ],
  }
}

function repositoryOf(count: number): string {
  return `releases-${count}`
}

/** Returns the name of a branch. All have one length. */
function tagOf(index: number): string {
  return `v${String(index).padStart(6, '0')}`
}

/** Inserts releases into a repository. */
export function insertReleases(database: string, repository: string, count: number): void {
  const sqlite = new Sqlite(database)
  const insert =
    sqlite.prepare(`insert into releases (repository_id, tag_name, tag_only, draft, prerelease, publisher_id,
    create_time, target, title, note)
    select id, ?, 0, 0, 0, owner_id, ?, 'main', 'A version', ? from repositories where name = ?`)
  const note = 'What is new, in some words. '.repeat(10)
  sqlite.transaction(() => {
    for (let i = 0; i < count; i++)
      insert.run(tagOf(i), FIRST_CREATE_TIME_S + i * INTERVAL_S, note, repository)
  })()
  sqlite.close()
}
