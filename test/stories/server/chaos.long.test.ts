import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@connectrpc/connect'
import { describe, expect, it, onTestFinished } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { UserWebhookDelivery_State } from '#gen/branchline/v1/user_webhook_pb.ts'
import { seededRandom } from '../../platform/rpc/rest/random.ts'
import { checkAcknowledged, checkRepositories } from '../../support/chaos-check.ts'
import { startChaosLoad, type TargetServer } from '../../support/chaos-load.ts'
import { openGitClient } from '../../support/git-client.ts'
import { GROUP_KINDS } from '../../support/group-kinds.ts'
import { startReceiver } from '../../support/receiver.ts'
import {
  type Actor,
  createTestUsers,
  createToken,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'

/** `npm run chaos` sets both. */
const KILLS = Number(process.env.CHAOS_KILLS ?? 6)
const SEED = Number(process.env.CHAOS_SEED ?? 1)

/** For each failure: the start of a server takes seconds on a busy machine. */
const TIMEOUT_MS = 90_000

const SERVERS = 4
/** Of so many failures, one is a stop of a server. */
const STOP_EVERY = 10
/** Writes that must succeed between two failures. */
const WRITES_BETWEEN = 10

/** What `doctor --fix` may print: the folder of a push that was killed more than 15 minutes ago. */
const REPAIRED =
  /^(repository \d+: objects\/tmp_objdir-incoming-\w+ was left behind by a process that has ended \(repaired\)|\d+ repaired, 0 left|nothing is wrong|)$/

const TITLE = `${KILLS} failures under load lose nothing and repeat nothing`

describe.each(GROUP_KINDS)('$title', ({ missing, start }) => {
  it.skipIf(missing !== undefined)(TITLE, { timeout: KILLS * TIMEOUT_MS }, () => endure(start))
})

/** Lets servers fail while clients write, and compares what they keep with what they acknowledged. */
async function endure(start: (typeof GROUP_KINDS)[number]['start']): Promise<void> {
  const random = seededRandom(SEED)
  const group = await start(SERVERS, [
    '--webhook-allowed-hosts',
    '127.0.0.1',
    '--webhook-retry-schedule',
    '100ms,1s,1s,1s,1s',
  ])
  onTestFinished(() => group.stop(), TIMEOUT_MS)
  const users = await lastingUsers(group.url())
  const client = await openGitClient()
  onTestFinished(() => client.remove())
  const receiver = await startReceiver()
  onTestFinished(() => receiver.stop())
  const asBob = () =>
    createClient(UserService, transportTo(group.url(), 'Connect JSON', users.bob.authorization))
  const { name: webhook } = await asBob().createUserWebhook({
    parent: 'users/bob',
    webhook: { url: receiver.url },
  })

  const lives = group.servers.map(() => 0)
  const present = (): readonly [TargetServer, ...TargetServer[]] => {
    const [first, ...others] = group.servers.map(({ url }, i) => ({ url, life: lives[i] ?? 0 }))
    if (!first) throw new Error('no server')
    return [first, ...others]
  }
  const load = await startChaosLoad({ users, client, random, servers: present })
  onTestFinished(() => load.stop(), TIMEOUT_MS)
  for (let failure = 1; failure <= KILLS; failure++) {
    const before = load.count()
    while (load.count() < before + WRITES_BETWEEN) await sleep(5)
    await sleep(random.below(100))
    const index = random.below(SERVERS)
    const isStop = failure % STOP_EVERY === STOP_EVERY / 2
    lives[index] = Number.NaN
    await (isStop ? group.suspend(index) : group.replace(index))
    lives[index] = failure
    const { call, ms } = load.takeLongest()
    const verb = isStop ? 'stopped' : 'killed'
    // docs/scaling.md says how long a call may wait. How long it works depends on the machine.
    console.log(`${failure}: ${verb} server ${index}, ${load.count()} writes, ${call}: ${ms} ms`)
  }
  await load.stop()
  // What explains a fault.
  for (const failure of group.failures()) console.log(failure)

  const open = async () => {
    const request = { parent: webhook, pageSize: 100 }
    const { deliveries } = await asBob().listUserWebhookDeliveries(request)
    return deliveries.filter(({ state }) => state !== UserWebhookDelivery_State.DELIVERED)
  }
  while ((await open()).length > 0) await sleep(50)
  const idsOf = new Map<string, Set<string>>()
  for (const { headers, body } of receiver.received) {
    const event = JSON.parse(body).memo?.name ?? body
    const ids = idsOf.get(event) ?? new Set()
    idsOf.set(event, ids.add(String(headers['webhook-id'])))
  }
  const { memos } = load.acknowledged
  expect(memos.filter((name) => idsOf.get(name)?.size !== 1)).toEqual([])
  expect([...idsOf.values()].filter((ids) => ids.size !== 1)).toEqual([])

  await checkAcknowledged(group.url(), { users, client }, load)
  await checkRepositories(group.data, client)
  // Several servers remove what killed pushes leave behind after a day. A long run has such folders.
  await group.halt()
  const repaired = await group.doctor('--fix')
  expect(repaired.split('\n').filter((line) => !REPAIRED.test(line))).toEqual([])
  expect(await group.doctor()).toBe('nothing is wrong\n')
}

/** Makes the users. Their tokens do not expire, as those of sessions do during a long run. */
async function lastingUsers(url: string): Promise<TestUsers> {
  const lasting = async (user: Actor): Promise<Actor> => ({
    ...user,
    authorization: `Bearer ${await createToken(url, user, ['all'])}`,
  })
  const { ada, bob, carol } = await createTestUsers(url)
  return { ada: await lasting(ada), bob: await lasting(bob), carol: await lasting(carol) }
}
