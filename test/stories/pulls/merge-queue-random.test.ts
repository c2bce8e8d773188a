import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../platform/rpc/rest/random.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { openMergeQueue } from '../../support/merge-queues.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

/**
 * Random histories of a merge queue. A history that fails is played again by its seed. The sessions of
 * the users end after more of them than these, by the clock of the story.
 */
const SEEDS = Array.from({ length: isLongTier ? 25 : 3 }, (_, i) => i + 1)
const STEPS = 24
const PULLS = 8
/** Answers after which every queue of so few pull requests is empty. */
const MAX_ANSWERS = 60
const TIMEOUT_MS = 240_000

let now = Date.parse('2030-05-01T12:00:00Z')
let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let client: GitClient
/** Of all histories. */
let mergedCount = 0

beforeAll(async () => {
  server = await startTestServer({ clock: { now: () => now } })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  client = await openGitClient()
})
afterAll(async () => {
  expect(mergedCount).toBeGreaterThan(SEEDS.length)
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  await server.stop()
  await client.remove()
})

const pass = (ms: number) => {
  now += ms
}

type Queue = Awaited<ReturnType<typeof openMergeQueue>>

/** A queue with pull requests, and what the story knows of its target branch. */
interface Play {
  readonly queue: Queue
  readonly random: Random
  /** The names of the branches, by the numbers of their pull requests less 1. */
  readonly branches: readonly string[]
  /** The number of the pull request on which each stands, by its number. */
  readonly stacks: ReadonlyMap<number, number>
  /** Commits that the target may have: where it began, pushes, and commits whose checks passed. */
  readonly allowed: Set<string>
}

/** Prepares pull requests, of which some fail their checks, and some clash. */
async function begin(seed: number): Promise<Play> {
  const random = seededRandom(seed)
  const queue = await openMergeQueue({ server, users, forge, pass }, `random${seed}`, {
    merge_queue_style: random.pick(['merge', 'rebase', 'rebase-merge', 'squash']),
    merge_queue_max_group: 1 + random.below(4),
    merge_queue_parallel: 1 + random.below(3),
  })
  const branches: string[] = []
  const stacks = new Map<number, number>()
  for (let i = 0; i < PULLS; i += 1) {
    const kind = random.pick(['good', 'good', 'good', 'red', 'clash'])
    const branch = `${kind}${i}`
    const below = branches.at(-1)
    if (kind === 'clash') await queue.openClashing(branch, `of ${branch}\n`)
    else if (below !== undefined && random.below(3) === 0) {
      // Stands on the one before, which may be red, clash, or stand on another.
      await forge.change(users.carol, queue.path, branch, below)
      const stacked = { head: branch, base: below, title: branch }
      await forge.ask(users.carol, 'POST', queue.pulls, stacked)
      stacks.set(i + 1, i)
    } else await queue.open(branch)
    branches.push(branch)
  }
  return { queue, random, branches, stacks, allowed: new Set([await queue.tip()]) }
}

/** What a CI system would say: commits with the file of a red branch fail. */
async function verdictOn({ queue }: Play, commit: string): Promise<string> {
  const { tree } = await queue.get(`/git/trees/${commit}`)
  const isRed = tree.some(({ path }: { path: string }) => path.startsWith('red'))
  return isRed ? 'failure' : 'success'
}

/** Reports the status of a commit, and notes that the target may move there. */
async function report({ queue, allowed }: Play, commit: string, state: string): Promise<void> {
  if (state === 'success') allowed.add(commit)
  await queue.status(commit, state)
}

/** Does something at random that people and CI systems do. */
async function step(play: Play): Promise<void> {
  const { queue, random, branches, allowed } = play
  const number = 1 + random.below(PULLS)
  const branch = branches[number - 1] ?? ''
  const { groups } = await queue.shown()
  const group = groups[random.below(groups.length)] as { head_sha: string } | undefined
  switch (random.below(10)) {
    case 0:
      await forge.rest(users.carol, 'DELETE', `${queue.pulls}/${number}/merge_queue`)
      break
    case 1:
      await queue.enter(number, { jump: true }, users.bob)
      break
    case 2: {
      const file = `pushed${now}.txt`
      allowed.add(await forge.change(users.bob, queue.path, 'main', 'main', file))
      break
    }
    case 3:
      // A branch that was merged may be gone.
      if (!(await queue.merged(number)))
        await forge.change(users.carol, queue.path, branch, 'main', `${branch}-${now}.txt`)
      break
    case 4: {
      const state = random.pick(['closed', 'open'])
      await forge.rest(users.carol, 'PATCH', `${queue.pulls}/${number}`, { state })
      break
    }
    case 5:
      if (group) await report(play, group.head_sha, random.pick(['pending', 'failure']))
      break
    case 6:
    case 7:
      if (group) await report(play, group.head_sha, await verdictOn(play, group.head_sha))
      break
    default:
      await queue.enter(number)
  }
  await queue.settle()
  expect(allowed).toContain(await queue.tip())
}

/** Answers for all groups until the queue is empty. */
async function drain(play: Play): Promise<void> {
  const { queue, allowed } = play
  for (let answers = 0; answers < MAX_ANSWERS; answers += 1) {
    const { groups, entries } = await queue.shown()
    if (entries.length === 0) return
    for (const { head_sha } of groups) await report(play, head_sha, await verdictOn(play, head_sha))
    await queue.settle()
    expect(allowed).toContain(await queue.tip())
  }
  throw new Error('the queue is not empty after all its checks')
}

/** Returns how often each file was added to the target branch. */
async function additions(name: string): Promise<ReadonlyMap<string, number>> {
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  const range = ['--first-parent', '-m', '--diff-filter=A', '--name-only', '--format=']
  const paths = (await client.git(name, 'log', ...range, 'origin/main')).split('\n')
  const counts = new Map<string, number>()
  for (const path of paths.filter((line) => line !== ''))
    counts.set(path, (counts.get(path) ?? 0) + 1)
  return counts
}

describe('a random history of a merge queue', () => {
  it.each(SEEDS)(
    'moves the branch to commits whose checks passed, and merges each once: seed %i',
    { timeout: TIMEOUT_MS },
    async (seed) => {
      const play = await begin(seed)
      for (let count = 0; count < STEPS; count += 1) await step(play)
      await drain(play)
      const added = await additions(`random${seed}`)
      let clashing = 0
      for (const [i, branch] of play.branches.entries()) {
        const isMerged = await play.queue.merged(i + 1)
        mergedCount += Number(isMerged)
        if (branch.startsWith('clash')) clashing += Number(isMerged)
        else expect([branch, added.get(`${branch}.txt`) ?? 0]).toEqual([branch, Number(isMerged)])
        if (branch.startsWith('red')) expect(isMerged).toBe(false)
      }
      for (const [above, below] of play.stacks)
        if (await play.queue.merged(above)) expect(await play.queue.merged(below)).toBe(true)
      expect(added.get('same.txt') ?? 0).toBe(clashing)
      expect(clashing).toBeLessThanOrEqual(1)
    },
  )
})
