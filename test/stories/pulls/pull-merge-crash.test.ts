import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { importHistory } from '../../support/histories.ts'
import { type ServerProcess, serveProcess } from '../../support/process.ts'
import { execFileSync } from '../../support/programs.ts'
import { restAt } from '../../support/rest.ts'
import { type Actor, createTestUsers, PASSWORD, startTestServer } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

/** Pull requests of each repository, each of one file, which its number names. */
const PULLS = isLongTier ? 50 : 5
const REPOSITORIES = ['r0', 'r1', 'r2', 'r3']

/** Acknowledged merges after which the server is killed, at a moment that differs each time. */
const MERGES_OF_A_LIFE = isLongTier ? 20 : 10
const LONGEST_DELAY_MS = 40

const STYLES = ['merge', 'squash', 'rebase', 'rebase-merge']

/** The ten lives of the long tier and the look at everything after each take a minute on an idle machine. */
const TIMEOUT_MS = 600_000

describe('a server that is killed repeatedly while it merges', () => {
  let data: string
  let client: GitClient

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'branchline-'))
    client = await openGitClient()
  })
  afterAll(async () => {
    await rm(data, { recursive: true })
    await client.remove()
  })

  it(
    `leaves each of ${PULLS * REPOSITORIES.length} pull requests merged or unchanged`,
    async () => {
      const first = await startTestServer({ data })
      const { bob } = await createTestUsers(first.url)
      for (const name of REPOSITORIES) await propose(first.url, bob, name)
      await first.stop()
      /** By repository and number, as `r0/7`. */
      const acknowledged = new Set<string>()
      while (acknowledged.size < PULLS * REPOSITORIES.length) {
        await mergeUntilKilled(await serveProcess(data), bob, acknowledged)
        const next = await startTestServer({ data })
        const merged = await expectWhole(next.url, bob)
        await next.stop()
        expect([...acknowledged].filter((pull) => !merged.has(pull))).toEqual([])
        // What had happened although nobody was told is done with.
        for (const pull of merged) acknowledged.add(pull)
      }
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
      for (const shard of (await readdir(join(data, 'repositories'))).filter((name) =>
        /^[0-9a-f]{2}$/.test(name),
      )) {
        for (const folder of await readdir(join(data, 'repositories', shard))) {
          const path = join(data, 'repositories', shard, folder)
          execFileSync('git', ['-C', path, 'fsck', '--full', '--strict', '--no-dangling'])
        }
      }
    },
    TIMEOUT_MS,
  )

  /** Makes a repository with its pull requests. */
  async function propose(url: string, bob: Actor, name: string) {
    const rest = restAt(url)
    await rest(bob, 'POST', '/user/repos', { name, auto_init: true })
    await client.git('.', 'clone', '-q', remoteOf(url, `bob/${name}`, 'bob', PASSWORD), name)
    const branches = Array.from({ length: PULLS }, (_, i) => `b${i + 1}`)
    importHistory(
      join(client.home, name),
      branches.map((branch, i) => ({
        on: `refs/heads/${branch}`,
        message: `Add f${i + 1}`,
        parents: ['refs/remotes/origin/main^0'],
        files: { [`f${i + 1}`]: branch },
      })),
    )
    await client.git(name, 'push', '-q', 'origin', ...branches)
    for (const head of branches) {
      const { status } = await rest(bob, 'POST', `/repos/bob/${name}/pulls`, {
        head,
        base: 'main',
        title: head,
      })
      expect(status).toBe(201)
    }
  }

  async function mergeUntilKilled(server: ServerProcess, bob: Actor, acknowledged: Set<string>) {
    const rest = restAt(server.url)
    let isKilled = false
    const enough = Math.min(acknowledged.size + MERGES_OF_A_LIFE, PULLS * REPOSITORIES.length)
    const merging = REPOSITORIES.map(async (name) => {
      for (let number = 1; number <= PULLS && !isKilled; number++) {
        const pull = `${name}/${number}`
        if (acknowledged.has(pull)) continue
        const order = {
          Do: STYLES[number % STYLES.length],
          delete_branch_after_merge: number % 3 === 0,
        }
        const answer = await rest(
          bob,
          'POST',
          `/repos/bob/${name}/pulls/${number}/merge`,
          order,
        ).catch(() => undefined)
        if (answer) expect([answer.status, answer.body]).toEqual([200, {}])
        if (answer?.status === 200) acknowledged.add(pull)
      }
    })
    while (acknowledged.size < enough) await new Promise((resolve) => setTimeout(resolve, 1))
    await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_DELAY_MS))
    server.child.kill('SIGKILL')
    isKilled = true
    await server.exited
    await Promise.all(merging)
  }

  /**
   * @returns the pull requests that are merged, of which the branch has all, and of the others
   *   nothing.
   */
  async function expectWhole(url: string, bob: Actor): Promise<ReadonlySet<string>> {
    const rest = restAt(url)
    const merged = new Set<string>()
    for (const name of REPOSITORIES) {
      await client.git(
        name,
        'remote',
        'set-url',
        'origin',
        remoteOf(url, `bob/${name}`, 'bob', PASSWORD),
      )
      await client.git(name, 'fetch', '-q', 'origin')
      const commits = new Set((await client.git(name, 'rev-list', 'origin/main')).split('\n'))
      const files = new Set(
        (await client.git(name, 'ls-tree', '--name-only', 'origin/main')).split('\n'),
      )
      let open = 0
      const { body } = await rest(bob, 'GET', `/repos/bob/${name}/pulls?state=all&limit=${PULLS}`)
      expect(body).toHaveLength(PULLS)
      for (const pull of body) {
        expect([pull.number, pull.merged]).toEqual([pull.number, files.has(`f${pull.number}`)])
        expect(pull.state).toBe(pull.merged ? 'closed' : 'open')
        if (!pull.merged) open += 1
        else merged.add(`${name}/${pull.number}`)
        if (pull.merged) {
          expect(commits.has(pull.merge_commit_sha)).toBe(true)
          expect(pull.merged_by.login).toBe('bob')
        }
      }
      expect((await rest(bob, 'GET', `/repos/bob/${name}`)).body.open_pr_counter).toBe(open)
    }
    return merged
  }
})
