import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { freePort } from '../../support/free-port.ts'
import { remoteOf } from '../../support/git-client.ts'
import { askToken, type Client, register, tokensOf } from '../../support/oauth-clients.ts'
import { serveProcess, withFolder } from '../../support/process.ts'
import { type Received, type Receiver, startReceiver } from '../../support/receiver.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, createToken, PASSWORD, startTestServer } from '../../support/server.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** Attempts: at once, and after these waits. */
const SCHEDULE_MS = [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS]

/** Waits are up to a tenth longer than the schedule says. */
const JITTER = 1.1

const SECRET = 'the secret of the pipeline'
const PIPELINE = 'steps:\n  - name: test\n    image: node\n'

let aheadMs = 0
let forge: Forge
let program: Client
/** Bob by a token that does not expire while the clock runs ahead. */
let bob: { authorization: string }
const receivers: Receiver[] = []

beforeAll(async () => {
  forge = await startForge({
    clock: { now: () => Date.now() + aheadMs },
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    settings: { webhookRetryScheduleMs: SCHEDULE_MS },
  })
  program = await register(forge, forge.users.ada)
  const token = await createToken(forge.server.url, forge.users.bob, ['all'])
  bob = { authorization: `token ${token}` }
})
afterEach(async () => {
  aheadMs = 0
  for (const receiver of receivers.splice(0)) await receiver.stop()
})
afterAll(() => forge.stop())

async function receiver(...how: Parameters<typeof startReceiver>): Promise<Receiver> {
  const started = await startReceiver(...how)
  receivers.push(started)
  return started
}

/** Lets time pass until the next attempt of what waits is due. */
function pass(waitMs: number) {
  aheadMs += waitMs * JITTER
  forge.server.app.signals.deliveries.notify()
}

/** A repository of bob, whose default branch is main, and where he has it. */
async function repository(name: string): Promise<string> {
  await forge.ask(bob, 'POST', '/user/repos', { name, auto_init: true, private: true })
  await forge.client.git(
    ...['.', 'clone', '-q', remoteOf(forge.server.url, `bob/${name}`, 'bob', PASSWORD), name],
  )
  return `/repos/bob/${name}`
}

/** Pushes a commit with a file, and returns the id of the commit. */
async function push(name: string, file: string, text: string, branch = 'main'): Promise<string> {
  const { git, home } = forge.client
  if (branch !== 'main') await git(name, 'checkout', '-q', '-B', branch, 'origin/main')
  await writeFile(join(home, name, file), text)
  await git(name, 'add', '.')
  await git(name, 'commit', '-q', '-m', `Add ${file}`)
  await git(name, 'push', '-q', 'origin', branch)
  return git(name, 'rev-parse', 'HEAD')
}

/** What a CI system does first: its user signs in and activates the repository. */
async function activate(path: string, url: string) {
  const tokens = await tokensOf(forge.server.url, 'bob', program)
  const ci = { authorization: `Bearer ${tokens.access_token}` }
  const { id } = await forge.ask(ci, 'POST', `${path}/hooks`, {
    type: 'gitea',
    config: { url, content_type: 'json', secret: SECRET },
    events: ['push', 'create', 'pull_request'],
    active: true,
  })
  return { ci, tokens, hook: `${path}/hooks/${id}` }
}

/** The payload of a webhook, whose signatures are those of the secret. */
function verified({ headers, body }: Received) {
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  expect(headers['x-hub-signature-256']).toBe(`sha256=${signature}`)
  expect(headers['x-gitea-signature']).toBe(signature)
  expect(headers['x-forgejo-signature']).toBe(signature)
  return JSON.parse(body)
}

/** The next webhook of an event. */
async function next(from: Receiver, event: string) {
  for (;;) {
    const received = await from.next()
    if (received.headers['x-gitea-event'] === event) return verified(received)
  }
}

/** Waits until the newest delivery has been tried a number of times, and returns the delivery. */
async function attempted(hook: string, count: number) {
  const newest = async () => (await forge.ask(bob, 'GET', `${hook}/deliveries`))[0]
  await expect.poll(async () => (await newest())?.attempt_count).toBe(count)
  return newest()
}

describe('a CI system', () => {
  it('signs in, builds what is pushed, and lets a scheduled merge happen', async () => {
    const server = await receiver()
    const path = await repository('engine')
    const { ci, tokens, hook } = await activate(path, server.url)
    expect((await forge.ask(ci, 'GET', '/user')).login).toBe('bob')
    expect(
      (await forge.ask(ci, 'GET', '/user/repos')).map((one: { name: string }) => one.name),
    ).toContain('engine')

    const pushed = await push('engine', '.woodpecker.yml', PIPELINE)
    const payload = await next(server, 'push')
    expect(payload).toMatchObject({
      ref: 'refs/heads/main',
      after: pushed,
      sender: { login: 'bob' },
    })
    expect(payload.head_commit.added).toEqual(['.woodpecker.yml'])
    const raw = await fetch(
      `${forge.server.url}/api/v1${path}/raw/.woodpecker.yml?ref=${payload.after}`,
      { headers: ci },
    )
    expect(await raw.text()).toBe(PIPELINE)
    const clone = remoteOf(forge.server.url, 'bob/engine', 'bob', tokens.access_token)
    await forge.client.git('.', 'clone', '-q', clone, 'workspace')
    expect(await forge.client.git('workspace', 'rev-parse', 'HEAD')).toBe(pushed)

    await forge.ask(bob, 'POST', `${path}/branch_protections`, {
      rule_name: 'main',
      enable_push: true,
      enable_status_check: true,
      status_check_contexts: ['ci/woodpecker'],
    })
    const head = await push('engine', 'feature.txt', 'feature\n', 'feature')
    const pull = await forge.ask(bob, 'POST', `${path}/pulls`, {
      title: 'A feature',
      head: 'feature',
      base: 'main',
    })
    const opened = await next(server, 'pull_request')
    expect(opened).toMatchObject({ action: 'opened', pull_request: { head: { sha: head } } })
    const scheduled = await forge.rest(bob, 'POST', `${path}/pulls/${pull.number}/merge`, {
      Do: 'squash',
      merge_when_checks_succeed: true,
    })
    expect(scheduled.status).toBe(201)

    const report = (state: string) =>
      forge.ask(ci, 'POST', `${path}/statuses/${head}`, {
        state,
        context: 'ci/woodpecker',
        target_url: 'https://ci.example.org/repos/1/pipeline/1',
      })
    await report('pending')
    const { merged } = await forge.ask(bob, 'GET', `${path}/pulls/${pull.number}`)
    expect(merged).toBe(false)
    await report('success')
    const closed = await next(server, 'pull_request')
    expect(closed).toMatchObject({
      action: 'closed',
      pull_request: { merged: true, merged_by: { login: 'bob' } },
    })

    expect((await forge.rest(ci, 'DELETE', hook)).status).toBe(204)
    expect((await forge.rest(bob, 'GET', hook)).status).toBe(404)
  })

  it('goes on with a refreshed token, and ends with the grant', async () => {
    const path = await repository('refreshed')
    const { ci, tokens } = await activate(path, (await receiver()).url)
    aheadMs += (tokens.expires_in + 1) * SECOND_MS
    expect((await forge.rest(ci, 'GET', path)).status).toBe(401)
    const { body } = await askToken(forge.server.url, program, {
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
    })
    const renewed = { authorization: `Bearer ${body.access_token}` }
    expect((await forge.rest(renewed, 'GET', path)).status).toBe(200)

    for (const { id } of await forge.ask(bob, 'GET', '/user/grants/oauth2'))
      await forge.rest(bob, 'DELETE', `/user/grants/oauth2/${id}`)
    expect((await forge.rest(renewed, 'GET', path)).status).toBe(401)
  })
})

describe('the server of a CI system', () => {
  it('that was down for hours gets each push once, under its first id', async () => {
    const path = await repository('down')
    const target = await startReceiver(undefined, await freePort())
    const { hook } = await activate(path, target.url)
    await target.stop()
    const pushed = [await push('down', 'a.txt', 'a\n')]
    const ids = [(await attempted(hook, 1)).id]
    for (const [index, waitMs] of SCHEDULE_MS.slice(0, 3).entries()) {
      pass(waitMs)
      expect(await attempted(hook, index + 2)).toMatchObject({
        state: 'PENDING',
        error: 'the connection failed',
      })
    }
    pushed.push(await push('down', 'b.txt', 'b\n'))
    ids.push((await attempted(hook, 1)).id)

    const back = await receiver(undefined, target.port)
    pass(SCHEDULE_MS[3] ?? 0)
    const received = [await back.next(), await back.next()]
    const told = received.map((one) => [one.headers['x-gitea-delivery'], verified(one).after])
    expect(Object.fromEntries(told)).toEqual({ [ids[0]]: pushed[0], [ids[1]]: pushed[1] })
    pass(24 * HOUR_MS)
    await push('down', 'c.txt', 'c\n')
    expect(verified(await back.next()).commits[0].added).toEqual(['c.txt'])
    expect(back.received).toHaveLength(3)
  })

  it('that does not come back is given up after the last attempt, and can be sent to again', async () => {
    const path = await repository('lost')
    const target = await startReceiver(undefined, await freePort())
    const { hook } = await activate(path, target.url)
    await target.stop()
    const pushed = await push('lost', 'a.txt', 'a\n')
    await attempted(hook, 1)
    for (const [index, waitMs] of SCHEDULE_MS.entries()) {
      pass(waitMs)
      await attempted(hook, index + 2)
    }
    const [delivery] = await forge.ask(bob, 'GET', `${hook}/deliveries`)
    expect(delivery).toMatchObject({ state: 'FAILED', attempt_count: SCHEDULE_MS.length + 1 })
    const back = await receiver(undefined, target.port)
    await forge.ask(bob, 'POST', `${hook}/deliveries/${delivery.id}/attempts`)
    expect(verified(await back.next()).after).toBe(pushed)
  })

  it('that responds slowly delays neither pushes nor the servers of others', async () => {
    const path = await repository('slow')
    const waiting: (() => void)[] = []
    const slow = await receiver((response) => {
      waiting.push(() => response.writeHead(204).end())
    })
    const fast = await receiver()
    const { hook } = await activate(path, slow.url)
    await activate(path, fast.url)
    const pushed = [await push('slow', 'a.txt', 'a\n')]
    await slow.next()
    pushed.push(await push('slow', 'b.txt', 'b\n'))
    const told = [await fast.next(), await fast.next()]
    expect(told.map((one) => verified(one).after)).toEqual(pushed)
    expect(slow.received).toHaveLength(1)
    waiting[0]?.()
    expect(verified(await slow.next()).after).toBe(pushed[1])
    waiting[1]?.()
    const states = async () =>
      (await forge.ask(bob, 'GET', `${hook}/deliveries`)).map((one: { state: string }) => one.state)
    await expect.poll(states).toEqual(['DELIVERED', 'DELIVERED'])
  })

  it('that responds with 500 is asked again by the schedule', async () => {
    const path = await repository('failing')
    let status = 500
    const target = await receiver((response) => response.writeHead(status).end())
    const { hook } = await activate(path, target.url)
    const pushed = await push('failing', 'a.txt', 'a\n')
    expect(await attempted(hook, 1)).toMatchObject({ response_status: 500, state: 'PENDING' })
    status = 204
    pass(SCHEDULE_MS[0] ?? 0)
    expect(await attempted(hook, 2)).toMatchObject({ response_status: 204, state: 'DELIVERED' })
    const [first, second] = target.received
    expect(second?.headers['x-gitea-delivery']).toBe(first?.headers['x-gitea-delivery'])
    expect(second?.body).toBe(first?.body)
    expect(second && verified(second).after).toBe(pushed)
  })

  it.each([
    ['the metadata of a cloud', 'http://169.254.169.254/latest/meta-data/'],
    ['a private network', 'http://10.0.0.1/'],
    ['the machine of the server', 'http://[::1]:22/'],
  ])('that redirects to %s does not make the server ask there', async (place, location) => {
    const name = place.replaceAll(' ', '-')
    const path = await repository(name)
    const target = await receiver((response) => response.writeHead(302, { location }).end())
    const { ci, hook } = await activate(path, target.url)
    await push(name, 'a.txt', 'a\n')
    expect(await attempted(hook, 1)).toMatchObject({
      response_status: 302,
      error: 'status 302',
      state: 'PENDING',
    })
    // Nor may the webhook itself lead there.
    const refused = await forge.rest(ci, 'PATCH', hook, { config: { url: location } })
    expect(refused.status).toBe(422)
    expect(target.received).toHaveLength(1)
  })
})

describe('a server that is killed between a commit and its delivery', () => {
  it('delivers the commit after its next start, once', async () => {
    await withFolder(async (data) => {
      let isSilent = true
      const target = await receiver((response) => {
        if (!isSilent) response.writeHead(204).end()
      })
      const first = await serveProcess(data, ['--webhook-allowed-hosts', '127.0.0.1'])
      const { ada } = await createTestUsers(first.url)
      const rest = restAt(first.url)
      await rest(ada, 'POST', '/user/repos', { name: 'engine', auto_init: true })
      const { body: hook } = await rest(ada, 'POST', '/repos/ada/engine/hooks', {
        type: 'gitea',
        config: { url: target.url, content_type: 'json', secret: SECRET },
        active: true,
      })
      const add = (name: string) =>
        rest(ada, 'POST', `/repos/ada/engine/contents/${name}`, { content: 'YQ==' })
      await add('a.txt')
      // The receiver has the first commit and is silent, so that the second one waits.
      await target.next()
      const { status, body } = await add('b.txt')
      expect(status).toBe(201)
      first.child.kill('SIGKILL')
      await first.exited
      isSilent = false

      const second = await startTestServer({
        data,
        webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
      })
      await target.next()
      expect(verified(await target.next()).after).toBe(body.commit.sha)
      const deliveries = async () =>
        (await restAt(second.url)(ada, 'GET', `/repos/ada/engine/hooks/${hook.id}/deliveries`)).body
      await expect
        .poll(async () => (await deliveries()).map((one: { state: string }) => one.state))
        .toEqual(['DELIVERED', 'DELIVERED'])
      const received = target.received.filter((one) => verified(one).after === body.commit.sha)
      expect(received).toHaveLength(1)
      await second.stop()
    })
  })
})
