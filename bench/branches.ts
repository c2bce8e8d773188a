import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createRepository, git, gitReading } from './git.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import type { Case, Group } from './measure.ts'
import { get } from './requests.ts'
import { sized } from './sizes.ts'

const FEW = 10
const MANY = sized(10_000, 40)

/** The default length of a page. */
const DEFAULT_LIMIT = 30

/** 14 November 2023. Each commit is a minute younger than the previous one. */
const FIRST_COMMIT_TIME_S = 1_700_000_000
const INTERVAL_S = 60

/**
 * A Git process reads the commits of each page. With more requests in flight, the bench would
 * measure how these processes wait for a core.
 */
const IN_FLIGHT = 4

/**
 * First pages of the branches of two repositories, whose branches have a commit each, and one
 * branch of each.
 *
 * @param folder for the pushed repositories.
 */
export async function branchLists(
  { branchline, credentials }: Servers,
  folder: string,
): Promise<Group> {
  const token = credentials.personalAccessToken
  for (const count of [FEW, MANY]) {
    const name = repositoryOf(count)
    await pushBranches(await createRepository(branchline, token, name), join(folder, name), count)
  }
  const page = (name: string, count: number, limit: number): Case => ({
    name,
    client: http1,
    server: branchline,
    requests: [get(`/api/v1/repos/ada/${repositoryOf(count)}/branches?limit=${limit}`)],
    check: ({ status, body }) => {
      assert.equal(status, 200)
      const names = JSON.parse(body.toString()).map((branch: { name: string }) => branch.name)
      const latest = Array.from({ length: Math.min(limit, count) }, (_, i) => nameOf(count - 1 - i))
      assert.deepEqual(names, latest)
    },
  })
  const one = (name: string, count: number): Case => ({
    name,
    client: http1,
    server: branchline,
    requests: [get(`/api/v1/repos/ada/${repositoryOf(count)}/branches/${nameOf(0)}`)],
    check: ({ status, body }) => {
      assert.equal(status, 200)
      assert.equal(JSON.parse(body.toString()).name, nameOf(0))
    },
  })
  const few = page('list of 10', FEW, DEFAULT_LIMIT)
  const oneOfFew = one('one of 10', FEW)
  return {
    name: 'branches',
    title: 'Branches over REST',
    rounds: 5,
    durationMs: 1000,
    inFlight: IN_FLIGHT,
    cases: [
      few,
      { ...page('list of 10,000, first 10', MANY, FEW), baseline: few.name },
      { ...page('list of 10,000, first 30', MANY, DEFAULT_LIMIT), baseline: few.name },
      oneOfFew,
      { ...one('one of 10,000', MANY), baseline: oneOfFew.name },
    ],
  }
}

function repositoryOf(count: number): string {
  return `branches-${count}`
}

/** Returns the name of a branch. All have one length. */
function nameOf(index: number): string {
  return `branch-${String(index).padStart(6, '0')}`
}

async function pushBranches(url: string, folder: string, count: number): Promise<void> {
  await mkdir(folder)
  await git(folder, 'init', '-q', '--bare')
  const commits = Array.from({ length: count }, (_, i) => {
    const person = `Bench <bench@example.org> ${FIRST_COMMIT_TIME_S + i * INTERVAL_S} +0000`
    return `commit refs/heads/${nameOf(i)}\ncommitter ${person}\ndata 5\nwork\n\n`
  })
  await gitReading(commits.join(''), folder, 'fast-import', '--quiet')
  await git(folder, 'push', '-q', url, 'refs/heads/*')
}
