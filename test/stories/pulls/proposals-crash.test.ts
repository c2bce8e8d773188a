import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresPrograms } from '../../../scripts/checks/postgres-programs.mjs'
import { runCommand } from '../../support/commands.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { serveProcess } from '../../support/process.ts'
import { type RestAnswer, restAt } from '../../support/rest.ts'
import { type Actor, createTestUsers, PASSWORD, startTestServer } from '../../support/server.ts'
import { startServerGroup } from '../../support/server-group.ts'
import { isLongTier } from '../../support/tier.ts'

/** Lives of the server, each ended by SIGKILL at a moment that differs. */
const LIVES = isLongTier ? 6 : 1

/** Pushes in each life, each of a topic of its own. */
const PUSHES = 6

const TIMEOUT_MS = 240_000

interface Proposed {
  readonly number: number
  readonly title: string
  readonly head: { readonly sha: string }
}

/** Prepares a repository of bob's, and a clone of it with commits on top of each other. */
async function prepare(client: GitClient, url: string, bob: Actor): Promise<void> {
  const created: RestAnswer = await restAt(url)(bob, 'POST', '/user/repos', {
    name: 'proposed',
    auto_init: true,
  })
  expect(created.status).toBe(201)
  const remote = remoteOf(url, 'bob/proposed', 'bob', PASSWORD)
  await client.git('.', 'clone', '-q', remote, 'proposed')
}

async function pullsOf(url: string, bob: Actor): Promise<readonly Proposed[]> {
  const path = '/repos/bob/proposed/pulls?state=all&limit=50'
  const { body } = await restAt(url)(bob, 'GET', path)
  return body
}

/** Returns the refs of the heads of pull requests, by their numbers. */
async function headRefs(client: GitClient, url: string): Promise<ReadonlyMap<number, string>> {
  const lines = await client.git('.', 'ls-remote', remoteOf(url, 'bob/proposed', 'bob', PASSWORD))
  const refs = lines.split('\n').flatMap((line) => {
    const [, sha = '', number] = /^(\w+)\trefs\/pull\/(\d+)\/head$/.exec(line) ?? []
    return number === undefined ? [] : ([[Number(number), sha]] as const)
  })
  return new Map(refs)
}

describe('pushes to refs/for/', () => {
  let client: GitClient
  let data: string

  beforeAll(async () => {
    client = await openGitClient('Bob')
    data = await mkdtemp(join(tmpdir(), 'branchline-'))
  })
  afterAll(async () => {
    await rm(data, { recursive: true })
    await client.remove()
  })

  it('open each pull request once, though the server is killed, and the same push succeeds again', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const first = await startTestServer({ data })
    const { bob } = await createTestUsers(first.url)
    await prepare(client, first.url, bob)
    await first.stop()
    const push = (url: string, topic: string) => {
      const remote = remoteOf(url, 'bob/proposed', 'bob', PASSWORD)
      return client.git('proposed', 'push', '-q', remote, `HEAD:refs/for/main/${topic}`)
    }
    for (let life = 0; life < LIVES; life += 1) {
      const killed = await serveProcess(data)
      await client.commit('proposed', `life ${life}`)
      const head = (await client.git('proposed', 'rev-parse', 'HEAD')).trim()
      const topics = Array.from({ length: PUSHES }, (_, i) => `life-${life}-${i}`)
      const pushes = topics.map((topic) => push(killed.url, topic).then(() => topic))
      // What is killed is in the middle of something.
      const first = await Promise.race(pushes)
      killed.child.kill('SIGKILL')
      const ends = await Promise.allSettled(pushes)
      await killed.exited
      const next = await startTestServer({ data })
      const acknowledged = ends.flatMap((end) => (end.status === 'fulfilled' ? end.value : []))
      expect(acknowledged).toContain(first)
      for (const topic of topics)
        if (!acknowledged.includes(topic))
          // The push may have opened the pull request before the kill.
          await push(next.url, topic).catch((error: Error) =>
            expect(error.message).toContain('new commit is same with old commit'),
          )
      const pulls = await pullsOf(next.url, bob)
      expect(pulls).toHaveLength((life + 1) * PUSHES)
      const refs = await headRefs(client, next.url)
      const mine = pulls.filter(({ title }) => title === `life ${life}`)
      expect(mine.map(({ number }) => refs.get(number))).toEqual(topics.map(() => head))
      for (const pull of pulls) expect(refs.get(pull.number)).toBe(pull.head.sha)
      await next.stop()
    }
    expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
  })
})

describe.skipIf(!postgresPrograms)(
  'pushes of one topic to two servers (skipped without the programs of PostgreSQL)',
  () => {
    it('open one pull request', { timeout: TIMEOUT_MS }, async () => {
      const client = await openGitClient('Bob')
      const group = await startServerGroup(2)
      const { bob } = await createTestUsers(group.url())
      await prepare(client, group.url(), bob)
      await client.commit('proposed', 'first')
      await client.commit('proposed', 'second')
      for (const topic of ['one', 'two', 'three']) {
        const push = ({ url }: { readonly url: string }, commit: string) => {
          const remote = remoteOf(url, 'bob/proposed', 'bob', PASSWORD)
          const to = `refs/for/main/${topic}`
          return client.git('proposed', 'push', '-q', remote, `${commit}:${to}`).then(
            () => 'accepted',
            (error: Error) => error.message,
          )
        }
        const [left, right] = group.servers
        if (!left || !right) throw new Error('there are two servers')
        const ends = await Promise.all([push(left, 'HEAD~1'), push(right, 'HEAD')])
        // The later commit wins, whichever push comes first.
        expect(ends[1]).toBe('accepted')
        const tip = (await client.git('proposed', 'rev-parse', 'HEAD')).trim()
        const opened = (await pullsOf(left.url, bob)).filter(({ head }) => head.sha === tip)
        expect(opened).toHaveLength(['one', 'two', 'three'].indexOf(topic) + 1)
      }
      expect(await pullsOf(group.url(), bob)).toHaveLength(3)
      expect(await group.doctor()).toBe('nothing is wrong\n')
      await group.stop()
      await client.remove()
    })
  },
)
