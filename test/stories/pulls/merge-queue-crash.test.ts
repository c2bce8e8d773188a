import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { postgresPrograms } from '../../../scripts/checks/postgres-programs.mjs'
import { runCommand } from '../../support/commands.ts'
import { type ServerProcess, serveProcess } from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { type Actor, createTestUsers } from '../../support/server.ts'
import { startServerGroup } from '../../support/server-group.ts'
import { isLongTier } from '../../support/tier.ts'

/** Pull requests, of which every fifth is red and the last two conflict. */
const PULLS = isLongTier ? 15 : 7
const isRed = (number: number) => number % 5 === 3
const KILLS = isLongTier ? 5 : 2
const TIMEOUT_MS = 300_000

const PATH = '/repos/bob/churned'

const RULE = {
  rule_name: 'main',
  enable_push: true,
  enable_status_check: true,
  status_check_contexts: ['ci'],
  enable_merge_queue: true,
  merge_queue_only_contexts: ['ci'],
  merge_queue_wait_seconds: 0,
  merge_queue_max_group: 4,
}

/** The servers of a story. */
interface Servers {
  /** The address of one that runs. */
  url(): string
  /** Kills one that may be at work, and starts another one. */
  replace(): Promise<void>
}

type Ask = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; body: Answer }>

// biome-ignore lint/suspicious/noExplicitAny: a test fails when a field is missing
type Answer = any

describe('a merge queue whose servers are killed', () => {
  it('loses and repeats nothing on one server', { timeout: TIMEOUT_MS }, async () => {
    const data = await mkdtemp(join(tmpdir(), 'branchline-'))
    let server: ServerProcess = await serveProcess(data)
    await churn({
      url: () => server.url,
      async replace() {
        server.child.kill('SIGKILL')
        await server.exited
        server = await serveProcess(data)
      },
    })
    server.child.kill('SIGTERM')
    await server.exited
    expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    await rm(data, { recursive: true })
  })

  it.skipIf(!postgresPrograms)(
    'loses and repeats nothing on two servers (skipped without PostgreSQL)',
    { timeout: TIMEOUT_MS },
    async () => {
      const group = await startServerGroup(2)
      let kills = 0
      await churn({
        url: () => group.url(),
        async replace() {
          kills += 1
          await group.replace(kills % 2)
        },
      })
      expect(await group.doctor()).toBe('nothing is wrong\n')
      await group.stop()
    },
  )
})

/** Merges pull requests while pushes, statuses and kills come at any time. */
async function churn(servers: Servers): Promise<void> {
  const { bob } = await createTestUsers(servers.url())
  const ask: Ask = async (...request) => {
    for (;;) {
      const answer = await restAt(servers.url())(bob as Actor, ...request).catch(() => undefined)
      if (answer) return answer
      await pause(10)
    }
  }
  await propose(ask)
  const green = new Set<string>()
  const tips: string[] = []
  for (let kills = 0, round = 0; ; round += 1) {
    const { status, body } = await ask('GET', `${PATH}/merge_queue/main`)
    expect(status).toBe(200)
    const tip = (await ask('GET', `${PATH}/branches/main`)).body.commit.id
    if (tips.at(-1) !== tip) tips.push(tip)
    if (body.entries.length === 0) break
    for (const group of body.groups) if (group.statuses.length === 0) await check(ask, group, green)
    if (round % 7 === 6 && tips.length < 6) green.add(await push(ask, `pushed${round}.txt`))
    if (round % 3 !== 2 || kills === KILLS) continue
    kills += 1
    // A moment at which the queue is at work.
    await pause(Math.random() * 60)
    await servers.replace()
  }
  // The first tip is from before the queue.
  expect(tips.slice(1).filter((tip) => !green.has(tip))).toEqual([])
  await expectOutcome(ask)
}

async function propose(ask: Ask): Promise<void> {
  await ask('POST', '/user/repos', { name: 'churned', auto_init: true })
  await ask('POST', `${PATH}/branch_protections`, RULE)
  for (let number = 1; number <= PULLS; number += 1) {
    const file = number > PULLS - 2 ? 'same.txt' : `${isRed(number) ? 'red' : 'f'}${number}.txt`
    const content = Buffer.from(`of ${number}\n`).toString('base64')
    const head = `b${number}`
    const base = number === 2 ? 'b1' : 'main'
    await ask('POST', `${PATH}/contents/${file}`, { content, branch: base, new_branch: head })
    await ask('POST', `${PATH}/pulls`, { head, base, title: head })
  }
  // The second stands on the first, which enters with it.
  for (let number = 2; number <= PULLS; number += 1)
    expect((await ask('POST', `${PATH}/pulls/${number}/merge_queue`, {})).status).toBe(201)
}

/** Reports the status of a candidate by its files. */
async function check(
  ask: Ask,
  { head_sha }: { head_sha: string },
  green: Set<string>,
): Promise<void> {
  const { status, body } = await ask('GET', `${PATH}/git/trees/${head_sha}`)
  if (status !== 200) return
  const isBroken = body.tree.some(({ path }: { path: string }) => path.startsWith('red'))
  // The branch may move as soon as the status is there.
  if (!isBroken) green.add(head_sha)
  const state = isBroken ? 'failure' : 'success'
  await ask('POST', `${PATH}/statuses/${head_sha}`, { context: 'ci', state })
}

/** Pushes a commit to the branch past the queue. @returns the commit. */
async function push(ask: Ask, file: string): Promise<string> {
  const content = Buffer.from(file).toString('base64')
  const { body } = await ask('POST', `${PATH}/contents/${file}`, { content, branch: 'main' })
  if (body.commit) return body.commit.sha
  // The answer was lost with its server, or the branch moved meanwhile.
  const commits = (await ask('GET', `${PATH}/commits?sha=main&path=${file}`)).body
  return commits[0]?.sha ?? ''
}

/** Expects that the green ones were merged once and in their order, and that the red ones left. */
async function expectOutcome(ask: Ask): Promise<void> {
  const merged: number[] = []
  for (let page = 1; ; page += 1) {
    const { body } = await ask('GET', `${PATH}/commits?sha=main&limit=50&page=${page}`)
    for (const { commit, parents } of body) {
      const number = /#(\d+)\)/.exec(commit.message)?.[1]
      if (parents.length === 2 && number !== undefined) merged.push(Number(number))
    }
    if (body.length < 50) break
  }
  const numbers = Array.from({ length: PULLS }, (_, i) => i + 1)
  const expected = numbers.filter((number) => !isRed(number) && number < PULLS)
  expect(merged.toReversed()).toEqual(expected)
  for (const number of numbers) {
    const { body } = await ask('GET', `${PATH}/pulls/${number}/merge_queue`)
    const code = number === PULLS ? 'CONFLICT' : 'CHECKS_FAILED'
    if (expected.includes(number)) expect([number, body.state]).toEqual([number, 'MERGED'])
    else expect([number, body.state, body.reason?.code]).toEqual([number, 'FAILED', code])
  }
}
