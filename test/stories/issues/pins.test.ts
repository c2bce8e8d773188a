import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IssuePinService } from '#gen/branchline/v1/issue_pin_service_pb.ts'
import {
  createPullTestUsers,
  type PullTestUsers,
  pullForge,
  refusalOf,
} from '../../support/pull-forge.ts'
import {
  type Actor,
  createToken,
  RPC_PROTOCOLS,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

/** Makes a repository of bob's with some issues, then pull requests. carol may write to it. */
async function fresh(
  name: string,
  { issues = 0, pulls = 0 }: { issues?: number; pulls?: number },
  fields: object = {},
): Promise<string> {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  for (let n = 1; n <= issues; n += 1)
    await forge.ask(users.carol, 'POST', `${path}/issues`, { title: `issue ${n}` })
  for (let n = 1; n <= pulls; n += 1) {
    await forge.change(users.bob, path, `change-${n}`)
    const pull = { title: `pull ${n}`, base: 'main', head: `change-${n}` }
    await forge.ask(users.bob, 'POST', `${path}/pulls`, pull)
  }
  return path
}

/** Sends a request about the pin of an issue or pull request; returns the status. */
async function pin(
  who: Actor | undefined,
  method: string,
  path: string,
  number: number | string,
  position: number | string = '',
): Promise<number> {
  const place = position === '' ? '' : `/${position}`
  return (await forge.rest(who, method, `${path}/issues/${number}/pin${place}`)).status
}

async function pinAll(path: string, ...numbers: number[]): Promise<void> {
  for (const number of numbers) expect(await pin(users.bob, 'POST', path, number)).toBe(204)
}

/** Returns number and position of all that is pinned, as its list says. */
async function pinned(path: string, kind: 'issues' | 'pulls' = 'issues'): Promise<string[]> {
  const list: { number: number; pin_order: number }[] = await forge.ask(
    users.eve,
    'GET',
    `${path}/${kind}/pinned`,
  )
  return list.map(({ number, pin_order }) => `#${number} at ${pin_order}`)
}

describe('pins', () => {
  it('are at most three of each kind, in an order of their own', async () => {
    const path = await fresh('pins', { issues: 4, pulls: 4 })
    const allowed = () => forge.ask(users.eve, 'GET', `${path}/new_pin_allowed`)
    expect(await allowed()).toEqual({ issues: true, pull_requests: true })
    await pinAll(path, 3, 1, 4, 1)
    expect(await allowed()).toEqual({ issues: false, pull_requests: true })
    expect(await forge.rest(users.bob, 'POST', `${path}/issues/2/pin`)).toMatchObject({
      status: 400,
      body: { message: 'the max number of pinned issues has been reached' },
    })
    expect(await pinned(path)).toEqual(['#3 at 1', '#1 at 2', '#4 at 3'])
    await pinAll(path, 6, 5, 7)
    expect(await allowed()).toEqual({ issues: false, pull_requests: false })
    expect(await pin(users.bob, 'POST', path, 8)).toBe(400)
    expect(await pinned(path, 'pulls')).toEqual(['#6 at 1', '#5 at 2', '#7 at 3'])
    for (const form of ['issues', 'pulls'])
      expect((await forge.ask(users.eve, 'GET', `${path}/${form}/5`)).pin_order).toBe(2)
    const list = await forge.ask(users.eve, 'GET', `${path}/issues?sort=oldest`)
    expect(list.map(({ pin_order }: { pin_order: number }) => pin_order)).toEqual([
      2, 0, 1, 3, 2, 1, 3, 0,
    ])
  })

  it('leave no gap when one is unpinned or its issue is deleted', async () => {
    const path = await fresh('gaps', { issues: 4 })
    await pinAll(path, 1, 2, 3)
    for (let i = 0; i < 2; i += 1) expect(await pin(users.bob, 'DELETE', path, 1)).toBe(204)
    expect(await pinned(path)).toEqual(['#2 at 1', '#3 at 2'])
    await pinAll(path, 4)
    expect((await forge.rest(users.bob, 'DELETE', `${path}/issues/3`)).status).toBe(204)
    expect(await pinned(path)).toEqual(['#2 at 1', '#4 at 2'])
    await pinAll(path, 1)
    expect(await pinned(path)).toEqual(['#2 at 1', '#4 at 2', '#1 at 3'])
  })

  it('move to a position, and one beyond the last is the last', async () => {
    const path = await fresh('moves', { issues: 4 })
    await pinAll(path, 1, 2, 3)
    const move = (number: number, position: number | string) =>
      pin(users.bob, 'PATCH', path, number, position)
    expect(await move(1, 99)).toBe(204)
    expect(await pinned(path)).toEqual(['#2 at 1', '#3 at 2', '#1 at 3'])
    expect(await move(1, 1)).toBe(204)
    expect(await move(1, 1)).toBe(204)
    expect(await move(3, 2)).toBe(204)
    expect(await pinned(path)).toEqual(['#1 at 1', '#3 at 2', '#2 at 3'])
    for (const position of [0, -1, 'first', '99999999999999999999', '1.5'])
      expect(await move(1, position), `${position}`).toBe(400)
    expect(await move(4, 1)).toBe(404)
    expect(await move(4, 0)).toBe(400)
    expect(await move(1, Number.MAX_SAFE_INTEGER)).toBe(204)
    expect(await pinned(path)).toEqual(['#3 at 1', '#2 at 2', '#1 at 3'])
  })

  it('stay on what is closed or locked, and tell of themselves by entries only', async () => {
    const path = await fresh('entries', { issues: 2 })
    const before = await forge.ask(users.bob, 'GET', `${path}/issues/1`)
    await pinAll(path, 1, 2)
    expect(await pin(users.bob, 'PATCH', path, 1, 2)).toBe(204)
    expect(await forge.ask(users.bob, 'GET', `${path}/issues/1`)).toEqual({
      ...before,
      pin_order: 2,
    })
    await forge.ask(users.bob, 'PATCH', `${path}/issues/1`, { state: 'closed' })
    await forge.ask(users.bob, 'PUT', `${path}/issues/1/lock`, {})
    expect(await pinned(path)).toEqual(['#2 at 1', '#1 at 2'])
    expect(await pin(users.bob, 'DELETE', path, 1)).toBe(204)
    const timeline: { type: string; user: { login: string }; body: string }[] = await forge.ask(
      users.eve,
      'GET',
      `${path}/issues/1/timeline`,
    )
    const entries = timeline.map(({ type, user, body }) => `${type} by ${user.login}:${body}`)
    expect(entries.sort()).toEqual([
      'close by bob:',
      'lock by bob:',
      'pin by bob:',
      'unpin by bob:',
    ])
  })

  it('are changed by administrators of the repository only, and not in archived ones', async () => {
    const path = await fresh('rights', { issues: 1, pulls: 1 })
    for (const number of [1, 2])
      for (const [method, position] of [['POST'], ['PATCH', 1], ['DELETE']] as const) {
        const status = (who: Actor | undefined) => pin(who, method, path, number, position)
        expect([await status(undefined), await status(users.eve)]).toEqual([401, 403])
        expect(await forge.rest(users.carol, 'POST', `${path}/issues/${number}/pin`)).toMatchObject(
          {
            status: 403,
            body: { message: expect.stringContaining('admin') },
          },
        )
      }
    await pinAll(path, 1, 2)
    for (const missing of [3, 0, 'x']) expect(await pin(users.bob, 'POST', path, missing)).toBe(404)
    await forge.ask(users.bob, 'PATCH', path, { archived: true })
    for (const number of [1, 2])
      for (const [method, position] of [['POST'], ['PATCH', 1], ['PATCH', 0], ['DELETE']] as const)
        expect(await pin(users.bob, method, path, number, position)).toBe(423)
    expect(await pinned(path)).toEqual(['#1 at 1'])
  })

  it('are hidden with their repository and their kind', async () => {
    const hidden = await fresh('hidden', { issues: 1 }, { private: true })
    await pinAll(hidden, 1)
    for (const rest of ['issues/pinned', 'pulls/pinned', 'new_pin_allowed'])
      for (const who of [users.eve, undefined])
        expect((await forge.rest(who, 'GET', `${hidden}/${rest}`)).status).toBe(404)
    expect(await pin(users.eve, 'POST', hidden, 1)).toBe(404)

    const path = await fresh('kinds', { issues: 1, pulls: 1 })
    await pinAll(path, 1, 2)
    await forge.ask(users.bob, 'PATCH', path, { has_issues: false })
    expect((await forge.rest(users.eve, 'GET', `${path}/issues/pinned`)).status).toBe(403)
    expect(await pin(users.bob, 'DELETE', path, 1)).toBe(404)
    expect(await pinned(path, 'pulls')).toEqual(['#2 at 1'])
    const allowed = () => forge.ask(users.eve, 'GET', `${path}/new_pin_allowed`)
    expect(await allowed()).toEqual({ issues: false, pull_requests: true })
    await forge.ask(users.bob, 'PATCH', path, { has_issues: true, has_pull_requests: false })
    expect((await forge.rest(users.eve, 'GET', `${path}/pulls/pinned`)).status).toBe(404)
    expect(await pin(users.bob, 'DELETE', path, 2)).toBe(404)
    expect(await allowed()).toEqual({ issues: true, pull_requests: false })
    await forge.ask(users.bob, 'PATCH', path, { has_pull_requests: true })
    expect([await pinned(path), await pinned(path, 'pulls')]).toEqual([['#1 at 1'], ['#2 at 1']])
  })

  it('need the scopes of issues, and of the repository where lists of it are', async () => {
    const path = await fresh('scopes', { issues: 1 })
    const status = async (scope: string, method: string, rest: string) => {
      const token = await createToken(server.url, users.bob, [scope])
      const who = { ...users.bob, authorization: `token ${token}` }
      return (await forge.rest(who, method, `${path}/${rest}`)).status
    }
    expect(await status('read:issue', 'POST', 'issues/1/pin')).toBe(403)
    expect(await status('write:issue', 'POST', 'issues/1/pin')).toBe(204)
    expect(await status('read:issue', 'GET', 'issues/pinned')).toBe(200)
    expect(await status('read:repository', 'GET', 'issues/pinned')).toBe(403)
    for (const rest of ['pulls/pinned', 'new_pin_allowed']) {
      expect(await status('read:repository', 'GET', rest)).toBe(200)
      expect(await status('read:issue', 'GET', rest)).toBe(403)
    }
  })

  it('are three and without a gap, however many calls come at once', async () => {
    const path = await fresh('races', { issues: 8 })
    const all = [1, 2, 3, 4, 5, 6, 7, 8]
    const together = await Promise.all(all.map((number) => pin(users.bob, 'POST', path, number)))
    expect(together.sort()).toEqual([204, 204, 204, 400, 400, 400, 400, 400])
    const numbers = (await pinned(path)).map((text) => Number(/#(\d+)/.exec(text)?.[1]))
    expect(numbers).toHaveLength(3)
    const [first = 0, second = 0, third = 0] = numbers
    const others = all.filter((number) => !numbers.includes(number))
    await Promise.all([
      pin(users.bob, 'DELETE', path, first),
      pin(users.bob, 'PATCH', path, third, 1),
      forge.rest(users.bob, 'DELETE', `${path}/issues/${second}`),
      ...others.map((number) => pin(users.bob, 'POST', path, number)),
    ])
    const after = await pinned(path)
    expect(after.map((text) => text.replace(/.* at /, ''))).toEqual(after.map((_, i) => `${i + 1}`))
    expect(after).toContainEqual(expect.stringMatching(`^#${third} `))
    expect(after.length).toBeLessThanOrEqual(3)
  })

  it.each(RPC_PROTOCOLS)('have the same rules by %s', async (protocol) => {
    const repo = `rpc-${protocol.toLowerCase().replaceAll(/[^a-z]/g, '')}`
    await fresh(repo, { issues: 2, pulls: 1 })
    const by = (who: Actor | undefined) =>
      createClient(IssuePinService, transportTo(server.url, protocol, who?.authorization))
    const name = { owner: 'bob', repo }
    const client = by(users.bob)
    await client.pinIssue({ ...name, index: 1n })
    await client.pinIssue({ ...name, index: 2n })
    await client.pinIssue({ ...name, index: 3n })
    await client.moveIssuePin({ ...name, index: 2n, position: 1n })
    const { issues } = await by(undefined).listPinnedIssues(name)
    expect(issues.map(({ number, pinOrder }) => [number, pinOrder])).toEqual([
      [2n, 1],
      [1n, 2],
    ])
    const { pullRequests } = await by(undefined).listPinnedPullRequests(name)
    expect(pullRequests.map(({ number, pinOrder }) => [number, pinOrder])).toEqual([[3n, 1]])
    await client.unpinIssue({ ...name, index: 2n })
    expect(
      await refusalOf(client.moveIssuePin({ ...name, index: 2n, position: 1n })),
    ).toMatchObject({ reason: 'ISSUE_PIN_NOT_FOUND' })
    expect(await refusalOf(client.moveIssuePin({ ...name, index: 1n }))).toMatchObject({
      reason: 'INVALID_PIN_POSITION',
    })
    expect(await refusalOf(by(users.carol).pinIssue({ ...name, index: 2n }))).toMatchObject({
      reason: 'REPOSITORY_ACCESS_DENIED',
    })
    expect(await by(undefined).getNewPinAllowed(name)).toMatchObject({
      issues: true,
      pullRequests: true,
    })
  })
})
