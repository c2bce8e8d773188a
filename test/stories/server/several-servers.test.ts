import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { UserWebhookDelivery_State } from '#gen/branchline/v1/user_webhook_pb.ts'
import { systemClock } from '../../../src/app/server/app.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { GROUP_KINDS } from '../../support/group-kinds.ts'
import { passcodeAt } from '../../support/passcodes.ts'
import { startReceiver } from '../../support/receiver.ts'
import { restAt, type SendRest } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, type TestUsers, transportTo } from '../../support/server.ts'
import type { GroupServer, ServerGroup } from '../../support/server-group.ts'
import { isLongTier } from '../../support/tier.ts'
import { watchRepository } from '../../support/watch.ts'

const SERVERS = 3
const MERGES = 12

/** Each server is killed once, and twice in the long tier. */
const KILLS = isLongTier ? SERVERS * 2 : SERVERS

/** Starting three servers takes seconds on a busy machine. */
const TIMEOUT_MS = 180_000

describe.each(GROUP_KINDS)('$title', { timeout: TIMEOUT_MS }, ({ missing, start }) => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let group: ServerGroup<GroupServer>
  let users: TestUsers
  let client: GitClient

  beforeAll(async () => {
    group = await start(SERVERS, [
      '--webhook-allowed-hosts',
      '127.0.0.1',
      '--webhook-retry-schedule',
      '100ms,1s,1s,1s,1s',
    ])
    users = await createTestUsers(group.url())
    client = await openGitClient()
  }, TIMEOUT_MS)

  afterAll(async () => {
    expect(await group.doctor()).toBe('nothing is wrong\n')
    await group.stop()
    await client.remove()
  }, TIMEOUT_MS)

  /** Sends each request to another server. */
  const rest: SendRest = (...request) => restAt(group.url())(...request)
  const created = async (...request: Parameters<SendRest>) => {
    const { status, body } = await rest(...request)
    expect({ status, body }).toMatchObject({ status: 201 })
    return body
  }
  const repository = (name: string) =>
    created(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  const change = async (path: string, branch: string) => {
    const { body } = await rest(users.bob, 'GET', `${path}/branches/${branch}`)
    const place = body.name === branch ? { branch } : { branch: 'main', new_branch: branch }
    const content = Buffer.from(branch).toString('base64')
    const file = `${branch}-${Math.random()}.txt`
    return created(users.bob, 'POST', `${path}/contents/${file}`, { content, ...place })
  }

  it('see what each of them has written, at once', async () => {
    await repository('seen')
    for (let i = 0; i < SERVERS * 2; i++) {
      const { commit } = await change('/repos/bob/seen', 'main')
      const { body } = await rest(users.bob, 'GET', '/repos/bob/seen/branches/main')
      expect(body.commit.id).toBe(commit.sha)
    }
  })

  it(`merge ${MERGES} pull requests into one branch, each of them once`, async () => {
    const path = '/repos/bob/merged'
    await repository('merged')
    for (let number = 1; number <= MERGES; number++) {
      await change(path, `topic${number}`)
      const head = `topic${number}`
      await created(users.bob, 'POST', `${path}/pulls`, { title: head, head, base: 'main' })
    }
    const numbers = Array.from({ length: MERGES }, (_, index) => index + 1)
    // Two servers are asked for each merge.
    const merges = numbers
      .flatMap((number) => [number, number])
      .map(async (number) => {
        const answer = await rest(users.bob, 'POST', `${path}/pulls/${number}/merge`, {
          Do: 'merge',
        })
        return { number, status: answer.status }
      })
    const answers = await Promise.all(merges)
    for (const number of numbers) {
      const statuses = answers.filter((answer) => answer.number === number)
      expect(statuses.map(({ status }) => status).sort()).toEqual([200, 405])
    }
    await client.git('.', 'clone', '-q', remoteOf(group.url(), 'bob/merged', 'bob', PASSWORD), 'm')
    const log = await client.git('m', 'log', '--first-parent', '--format=%s', 'main')
    expect(log.trim().split('\n')).toHaveLength(MERGES + 1)
  })

  it('accept one of two pushes from the same commit', async () => {
    await repository('pushed')
    const clones = ['p1', 'p2']
    for (const name of clones) {
      await client.git(
        '.',
        'clone',
        '-q',
        remoteOf(group.url(), 'bob/pushed', 'bob', PASSWORD),
        name,
      )
      await client.git(name, 'commit', '-q', '--allow-empty', '-m', name)
    }
    const pushes = await Promise.allSettled(
      clones.map((name) => client.git(name, 'push', '-q', 'origin', 'main')),
    )
    expect(pushes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('give each event to a watcher once, whichever of them has written it', async () => {
    await repository('watched')
    const path = '/repos/bob/watched'
    const request = { owner: 'bob', repo: 'watched' }
    const watchers = group.servers.map(({ url }) =>
      watchRepository(url, 'gRPC', users.bob.authorization, request),
    )
    await Promise.all(watchers.map((watcher) => watcher.next()))
    const changes = Array.from({ length: 3 }, () =>
      group.servers.map((_, index) => change(path, `branch${index}-${Math.random()}`)),
    ).flat()
    const written = (await Promise.all(changes)).map(({ commit }) => commit.sha)
    for (const watcher of watchers) {
      const seen: string[] = []
      while (seen.length < written.length) {
        const { event } = await watcher.next()
        if (event?.subject.case !== 'refs') continue
        for (const { newId } of event.subject.value.refs) seen.push(newId)
      }
      watcher.leave()
      expect(seen.sort()).toEqual([...written].sort())
    }
  })

  it('accept a passcode once', async () => {
    const as = (url: string) => transportTo(url, 'Connect JSON', users.carol.authorization)
    const twoFactor = createClient(TwoFactorService, as(group.url()))
    const name = 'users/carol/twoFactor'
    const { secret } = await twoFactor.enrollTwoFactor({ name, password: PASSWORD })
    await twoFactor.confirmTwoFactor({ name, passcode: passcodeAt(secret, systemClock) })
    // The next one, since the earlier one of a step may end at any moment.
    const passcode = passcodeAt(secret, systemClock, 1)
    const signIns = await Promise.allSettled(
      group.servers.map(({ url }) =>
        createClient(AuthService, transportTo(url, 'Connect JSON')).signIn({
          credentials: {
            case: 'passwordCredentials',
            value: { username: 'carol', password: PASSWORD, passcode },
          },
        }),
      ),
    )
    expect(signIns.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('count wrong passwords together', async () => {
    const guess = (password: string) =>
      createClient(AuthService, transportTo(group.url(), 'Connect JSON')).signIn({
        credentials: { case: 'passwordCredentials', value: { username: 'dan', password } },
      })
    for (let guesses = 0; guesses < 10; guesses++) {
      await expect(guess('wrong')).rejects.toThrow('unauthenticated')
    }
    for (const _ of group.servers)
      await expect(guess('wrong')).rejects.toThrow('resource_exhausted')
  })

  it('send each delivery once, also after the server that sends has been killed', async () => {
    const receiver = await startReceiver()
    const as = (url: string) => transportTo(url, 'Connect JSON', users.bob.authorization)
    const { name: parent } = await createClient(UserService, as(group.url())).createUserWebhook({
      parent: 'users/bob',
      webhook: { url: receiver.url },
    })
    const delivered = async () => {
      const page = await createClient(UserService, as(group.url())).listUserWebhookDeliveries({
        parent,
      })
      return page.deliveries.filter(({ state }) => state === UserWebhookDelivery_State.DELIVERED)
    }
    const memos: string[] = []
    const write = async () => {
      const { body } = await rest(users.bob, 'POST', '/memos', {
        content: `tulips ${memos.length}`,
      })
      memos.push(body.name)
    }
    for (let killed = 0; killed < SERVERS; killed++) {
      await write()
      await write()
      // A server that is killed before it records a delivery leaves it to the next one.
      while ((await delivered()).length < memos.length) await sleep(20)
      await group.replace(killed)
    }
    await receiver.stop()
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(memos.length)
    expect(new Set(ids).size).toBe(memos.length)
  })

  it('keep the temporary files of each other when one of them starts', async () => {
    const folder = join(group.data, 'repositories', 'scratch')
    const present = await readdir(folder)
    const marks = present.map((name) => join(folder, name, 'mark'))
    for (const mark of marks) await writeFile(mark, '')
    await group.replace(1)
    // The files of the server that was killed are gone, and no others.
    const kept = marks.filter((mark) => existsSync(mark))
    expect(kept).toHaveLength(SERVERS - 1)
    await group.replace(1)
    expect(marks.filter((mark) => existsSync(mark))).toEqual(kept)
  })

  it('keep what was acknowledged when they are killed in turn', async () => {
    await repository('kept')
    const acknowledged = new Set<string>()
    let isOver = false
    const write = async (name: string) => {
      for (let number = 0; !isOver; number++) {
        const file = `${name}-${number}`
        const content = Buffer.from(file).toString('base64')
        const body = { content, branch: 'main' }
        const answer = await rest(
          users.bob,
          'POST',
          `/repos/bob/kept/contents/${file}`,
          body,
        ).catch(() => undefined)
        if (answer?.status === 201) acknowledged.add(file)
      }
    }
    const writers = ['tulip', 'rose', 'lily'].map(write)
    for (let kill = 0; kill < KILLS; kill++) {
      const before = acknowledged.size
      while (acknowledged.size < before + 5) await sleep(5)
      await group.replace(kill % SERVERS)
    }
    isOver = true
    await Promise.all(writers)
    const { body } = await rest(users.bob, 'GET', '/repos/bob/kept/contents')
    const found = new Set(body.map(({ name }: { name: string }) => name))
    expect([...acknowledged].filter((name) => !found.has(name))).toEqual([])
  })
})
