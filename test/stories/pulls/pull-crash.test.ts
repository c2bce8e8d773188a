import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { serveProcess } from '../../support/process.ts'
import { execFileSync } from '../../support/programs.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, startTestServer } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

/** Lives of the server, each ended by SIGKILL at a moment that differs. */
const LIVES = isLongTier ? 6 : 2

/** Pull requests that are asked for in each. */
const ASKED = isLongTier ? 12 : 6

const TIMEOUT_MS = 240_000

describe('a server that is killed while pull requests are opened and their branches move', () => {
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
    'has each of them complete or not at all, with its ref at its branch',
    async () => {
      const first = await startTestServer({ data })
      const { bob, carol } = await createTestUsers(first.url)
      await restAt(first.url)(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
      await restAt(first.url)(carol, 'POST', '/repos/bob/engine/forks', {})
      await client.git('.', 'clone', '-q', remoteOf(first.url, 'carol/engine'), 'fork')
      await first.stop()
      const acknowledged = new Map<string, number>()
      for (let life = 0; life < LIVES; life += 1) {
        const killed = await serveProcess(data)
        const rest = restAt(killed.url)
        await client.git(
          'fork',
          'remote',
          'set-url',
          'origin',
          remoteOf(killed.url, 'carol/engine', 'carol', PASSWORD),
        )
        const branches = Array.from({ length: ASKED }, (_, i) => `life-${life}-${i}`)
        await client.commit('fork', `life ${life}`)
        await client.git(
          'fork',
          'push',
          '-q',
          'origin',
          ...branches.map((branch) => `HEAD:refs/heads/${branch}`),
        )
        const asked = branches.map(async (branch) => {
          const draft = { head: `carol:${branch}`, base: 'main', title: branch }
          const { status, body } = await rest(carol, 'POST', '/repos/bob/engine/pulls', draft)
          if (status === 201) acknowledged.set(branch, body.number)
          return status
        })
        // The first answers are on their way, and others are not: what is killed is in the middle
        // of something.
        await Promise.race(life % 2 === 0 ? asked : asked.slice(-2))
        await client.commit('fork', 'pushed')
        const pushed = client.git(
          'fork',
          'push',
          '-q',
          'origin',
          ...branches.map((branch) => `HEAD:refs/heads/${branch}`),
        )
        if (life % 2 === 1) await pushed
        killed.child.kill('SIGKILL')
        await Promise.allSettled([...asked, pushed])
        await killed.exited
        const next = await startTestServer({ data })
        await expectSound(next.url)
        await next.stop()
      }
      expect(acknowledged.size).toBeGreaterThanOrEqual(LIVES / 2)
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
      for (const folder of ['01/1.git', '02/2.git']) {
        const path = join(data, 'repositories', folder)
        execFileSync('git', ['-C', path, 'fsck', '--full', '--strict', '--no-dangling'])
      }

      async function expectSound(url: string): Promise<void> {
        const refs = async (repository: string) => {
          const lines = (await client.git('.', 'ls-remote', remoteOf(url, repository))).split('\n')
          return new Map(lines.map((line) => [line.split('\t')[1] ?? '', line.split('\t')[0]]))
        }
        const [base, fork] = [await refs('bob/engine'), await refs('carol/engine')]
        const pulls: { number: number; head: { ref: string; sha: string } }[] = []
        for (let page = 1; pulls.length === (page - 1) * 50; page += 1) {
          const { body } = await restAt(url)(
            bob,
            'GET',
            `/repos/bob/engine/pulls?limit=50&page=${page}`,
          )
          pulls.push(...body)
        }
        expect(pulls.map(({ number }) => number).sort((a, b) => a - b)).toEqual(
          pulls.map((_, i) => i + 1),
        )
        for (const { number, head } of pulls) {
          expect([head.ref, head.sha]).toEqual([head.ref, fork.get(`refs/heads/${head.ref}`)])
          expect([head.ref, base.get(`refs/pull/${number}/head`)]).toEqual([head.ref, head.sha])
        }
        for (const [branch, number] of acknowledged) {
          expect(pulls.find(({ head }) => head.ref === branch)?.number).toBe(number)
        }
      }
    },
    TIMEOUT_MS,
  )
})
