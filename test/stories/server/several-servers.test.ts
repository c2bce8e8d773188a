import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { UserWebhookDelivery_State } from '#gen/branchline/v1/user_webhook_pb.ts'
import { systemClock } from '../../../src/app/server/app.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { acceptPushes } from '../../support/git-mirror.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'
import { GROUP_KINDS } from '../../support/group-kinds.ts'
import { passcodeAt } from '../../support/passcodes.ts'
import { startReceiver } from '../../support/receiver.ts'
import { restAt, type SendRest } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, type TestUsers, transportTo } from '../../support/server.ts'
import type { GroupServer, ServerGroup } from '../../support/server-group.ts'
import { isLongTier } from '../../support/tier.ts'
import { watchRepository } from '../../support/watch.ts'

const SERVERS = isLongTier ? 3 : 2

/** Each server is killed once, and twice in the long tier. */
const KILLS = isLongTier ? SERVERS * 2 : SERVERS

/** Pieces of work of each kind. */
const ROUNDS = isLongTier ? 4 : 2

/** Starting several servers takes seconds on a busy machine. */
const TIMEOUT_MS = 180_000
const WAIT = { timeout: 60_000, interval: 50 }

/** Time of the loops of pushes, clones and merges beside maintenance. */
const LOOP_MS = 60_000

describe.each(GROUP_KINDS)('$title', { timeout: TIMEOUT_MS }, ({ missing, start }) => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let group: ServerGroup<GroupServer>
  let users: TestUsers
  let client: GitClient
  let mailDir: string

  beforeAll(async () => {
    mailDir = await mkdtemp(join(tmpdir(), 'branchline-mail-'))
    group = await start(SERVERS, [
      '--webhook-allowed-hosts',
      '127.0.0.1',
      '--webhook-retry-schedule',
      '100ms,1s,1s,1s,1s',
      '--mail-dir',
      mailDir,
    ])
    users = await createTestUsers(group.url())
    client = await openGitClient()
    // The repository with the id 1.
    await repository('garden')
  }, TIMEOUT_MS)

  afterAll(async () => {
    expect(await group.doctor()).toBe('nothing is wrong\n')
    await group.stop()
    await client.remove()
    await rm(mailDir, { recursive: true })
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

  describe('share work', () => {
    let mirror: GitUpstream

    beforeAll(async () => {
      mirror = await startGitUpstream()
      acceptPushes(mirror)
      await ask('PUT', '/repos/bob/garden/collaborators/carol', { permission: 'write' })
    })
    afterAll(() => mirror.stop())

    const ask = async (method: string, path: string, body?: object, who = users.bob) => {
      const answer = await rest(who, method, path, body)
      expect([200, 201, 204], JSON.stringify(answer.body)).toContain(answer.status)
      return answer.body
    }
    const newBranch = (branch: string) =>
      ask('POST', `/repos/bob/garden/contents/${branch}.txt`, {
        content: Buffer.from(branch).toString('base64'),
        new_branch: branch,
      })
    /** Creates a branch with a file of its own from `side`, or `side` from `main`. */
    const newBranchOf = (path: string, branch: string) =>
      ask('POST', `${path}/contents/${branch}.txt`, {
        content: Buffer.from(branch).toString('base64'),
        branch: branch === 'side' ? 'main' : 'side',
        new_branch: branch,
      })
    /** Returns the mails that have been sent and contain a text. */
    const mailsWith = async (text: string) => {
      const names = (await readdir(mailDir)).filter((name) => name.endsWith('.eml'))
      const mails = await Promise.all(names.map((name) => readFile(join(mailDir, name), 'utf8')))
      return mails.filter((mail) => mail.includes(text))
    }
    const counts = (texts: readonly string[]) =>
      Promise.all(texts.map(async (text) => (await mailsWith(text)).length))

    it('of a push mirror: one of them pushes each change', async () => {
      await ask('POST', '/repos/bob/garden/push_mirrors', {
        remote_address: mirror.url,
        interval: '0',
        sync_on_commit: true,
      })
      const pushes = () => mirror.asked.filter((asked) => asked.startsWith('POST '))
      for (let round = 1; round <= ROUNDS; round++) {
        // The first push brings the branch that is there.
        await vi.waitFor(() => expect(pushes()).toHaveLength(round), WAIT)
        await newBranch(`mirrored${round}`)
      }
      await vi.waitFor(() => expect(pushes()).toHaveLength(ROUNDS + 1), WAIT)
      await vi.waitFor(
        () => expect(mirror.git('for-each-ref').split('\n')).toHaveLength(ROUNDS + 1),
        WAIT,
      )
      const asked = mirror.asked.filter((line) => line.startsWith('GET '))
      expect(asked).toHaveLength(ROUNDS + 1)
    })

    it('of maintenance: one packs, and none keeps a pack that was replaced', async () => {
      /** Packs of the repository that the servers have mapped (proc_pid_maps(5)), by server. */
      const mapped = (of: RegExp) =>
        Promise.all(
          group.servers.map(async ({ child }) => {
            const maps = await readFile(`/proc/${child.pid}/maps`, 'utf8')
            return maps
              .split('\n')
              .filter((line) => /\/1\.git\/objects\/pack\//.test(line) && of.test(line))
          }),
        )
      const path = '/repos/bob/garden/maintenance'
      const contents = '/repos/bob/garden/contents'
      const maintain = async () => {
        const { status } = await rest(users.ada, 'POST', path, {})
        expect(status).toBe(202)
        await vi.waitFor(async () => expect((await ask('GET', path)).requested).toEqual([]), WAIT)
      }
      await maintain()
      // Each server edits a tree that is in the pack. A server that hears of the step after its edit
      // drops the pack again.
      let before: readonly string[][] = []
      let edits = 0
      await vi.waitFor(async () => {
        for (let i = 0; i < SERVERS; i++) await newBranch(`packed${edits++}`)
        before = await mapped(/./)
        expect(before.map((lines) => lines.length > 0)).not.toContain(false)
      }, WAIT)
      for (let i = 0; i < ROUNDS; i++) {
        // One server alone changes the repository. The others have no reason to look at its files.
        await restAt(group.servers[0]?.url ?? '')(users.bob, 'POST', `${contents}/again${i}.txt`, {
          content: Buffer.from(`again ${i}`).toString('base64'),
        })
        await maintain()
      }
      await vi.waitFor(async () => expect((await mapped(/\(deleted\)/)).flat()).toEqual([]), WAIT)
      const left = (await mapped(/./)).map((lines) => lines.join())
      for (const [i, lines] of before.entries()) expect(left[i]).not.toBe(lines.join())
      const { packs, loose_objects } = await ask('GET', path)
      expect(packs).toBeLessThanOrEqual(5)
      expect(loose_objects).toBe(0)
    })

    it.skipIf(!isLongTier)(
      'of maintenance in a loop, while pushes, clones, merges and reads succeed (in the long tier)',
      async () => {
        await repository('looped')
        const path = '/repos/bob/looped'
        const endMs = Date.now() + LOOP_MS
        const loop = async (work: (round: number) => Promise<unknown>) => {
          let rounds = 0
          for (; rounds === 0 || Date.now() < endMs; rounds++) await work(rounds)
          return rounds
        }
        const remote = () => remoteOf(group.url(), 'bob/looped', 'bob', PASSWORD)
        await client.git('.', 'clone', '-q', remote(), 'looped')
        await newBranchOf(path, 'side')
        const rounds = await Promise.all([
          loop(async () => {
            await rest(users.ada, 'POST', `${path}/maintenance`, {})
            const look = async () => (await ask('GET', `${path}/maintenance`)).requested
            await vi.waitFor(async () => expect(await look()).toEqual([]), WAIT)
          }),
          loop(async (round) => {
            await client.commit('looped', `round ${round}`)
            await client.git('looped', 'push', '-q', remote(), 'HEAD:main', `HEAD:r${round}`)
          }),
          loop(async (round) => {
            await client.git('.', 'clone', '-q', remote(), `looped-${round}`)
            await client.git(`looped-${round}`, 'fsck', '--connectivity-only')
            await rm(join(client.home, `looped-${round}`), { recursive: true })
          }),
          loop(async (round) => {
            for (const read of ['branches/main', 'commits', 'contents', 'git/trees/main'])
              await ask('GET', `${path}/${read}`)
            await newBranchOf(path, `merge-${round}`)
            const draft = { head: `merge-${round}`, base: 'side', title: `merge ${round}` }
            const { number } = await ask('POST', `${path}/pulls`, draft)
            await ask('POST', `${path}/pulls/${number}/merge`, { Do: 'merge' })
          }),
        ])
        expect(Math.min(...rounds)).toBeGreaterThan(0)
        const { failures, error } = await ask('GET', `${path}/maintenance`)
        expect({ failures, error }).toEqual({ failures: 0, error: '' })
        expect(group.failures()).toEqual([])
      },
    )

    it('of mails about notifications: one of them sends each mail', async () => {
      const titles = Array.from({ length: ROUNDS }, (_, i) => `Plant bed ${i}`)
      for (const [i, title] of titles.entries()) {
        await newBranch(`bed${i}`)
        const draft = { title, head: `bed${i}`, base: 'main' }
        await ask('POST', '/repos/bob/garden/pulls', draft, users.carol)
      }
      await vi.waitFor(
        async () => expect((await counts(titles)).every((count) => count > 0)).toBe(true),
        WAIT,
      )
      expect(await counts(titles)).toEqual(titles.map(() => 1))
    })

    it('of mails to addresses: one of them sends each mail', async () => {
      const addresses = Array.from({ length: ROUNDS }, (_, i) => `carol${i}@example.org`)
      for (const address of addresses)
        await ask('POST', '/user/emails', { emails: [address] }, users.carol)
      const headers = addresses.map((address) => `To: ${address}`)
      await vi.waitFor(
        async () => expect((await counts(headers)).every((count) => count > 0)).toBe(true),
        WAIT,
      )
      expect(await counts(headers)).toEqual(headers.map(() => 1))
    })

    it('of which none has failed', () => {
      expect(group.failures()).toEqual([])
    })
  })

  it('see what each of them has written, at once', async () => {
    await repository('seen')
    for (let i = 0; i < SERVERS * 2; i++) {
      const { commit } = await change('/repos/bob/seen', 'main')
      const { body } = await rest(users.bob, 'GET', '/repos/bob/seen/branches/main')
      expect(body.commit.id).toBe(commit.sha)
    }
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

  /** Writes files to a repository. Waits while there are enough acknowledged ones. */
  const startWriters = (path: string) => {
    const acknowledged = new Set<string>()
    let enough = 0
    let isOver = false
    const write = async (name: string) => {
      for (let number = 0; !isOver; number++) {
        const file = `${name}-${number}`
        const body = { content: Buffer.from(file).toString('base64'), branch: 'main' }
        const answer = await rest(users.bob, 'POST', `${path}/contents/${file}`, body).catch(
          () => undefined,
        )
        if (answer?.status === 201) acknowledged.add(file)
        while (acknowledged.size >= enough && !isOver) await sleep(5)
      }
    }
    const writers = ['tulip', 'rose', 'lily'].map(write)
    return {
      acknowledged,
      /** Resolves when some more are acknowledged, and others are being written. */
      async written() {
        const before = acknowledged.size
        enough = before + 20
        while (acknowledged.size < before + 5) await sleep(5)
      },
      async stop() {
        isOver = true
        await Promise.all(writers)
      },
    }
  }

  /** Creates a webhook of bob for memos. */
  const startDeliveries = async () => {
    const receiver = await startReceiver()
    const as = () =>
      createClient(UserService, transportTo(group.url(), 'Connect JSON', users.bob.authorization))
    const { name: parent } = await as().createUserWebhook({
      parent: 'users/bob',
      webhook: { url: receiver.url },
    })
    const delivered = async () =>
      (await as().listUserWebhookDeliveries({ parent })).deliveries.filter(
        ({ state }) => state === UserWebhookDelivery_State.DELIVERED,
      )
    let memos = 0
    return {
      receiver,
      /** Writes two memos. Resolves when their deliveries are recorded. */
      async deliver() {
        for (const end = memos + 2; memos < end; memos++)
          await rest(users.bob, 'POST', '/memos', { content: `tulips ${memos}` })
        // A server that is killed before it records a delivery leaves it to the next one.
        while ((await delivered()).length < memos) await sleep(20)
        return memos
      },
    }
  }

  it('keep what was acknowledged, and send each delivery once, when they are killed in turn', async () => {
    await repository('kept')
    const { receiver, deliver } = await startDeliveries()
    const writers = startWriters('/repos/bob/kept')
    const scratch = join(group.data, 'repositories', 'scratch')
    for (let kill = 0; kill < KILLS; kill++) {
      await deliver()
      await writers.written()
      const marks = (await readdir(scratch)).map((name) => join(scratch, name, 'mark'))
      for (const mark of marks) await writeFile(mark, '')
      await group.replace(kill % SERVERS)
      // The temporary files of the server that was killed are gone, and no others.
      expect(marks.filter((mark) => existsSync(mark))).toHaveLength(SERVERS - 1)
    }
    const memos = await deliver()
    await writers.stop()
    await receiver.stop()
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(memos)
    expect(new Set(ids).size).toBe(memos)
    const { body } = await rest(users.bob, 'GET', '/repos/bob/kept/contents')
    const found = new Set(body.map(({ name }: { name: string }) => name))
    expect([...writers.acknowledged].filter((name) => !found.has(name))).toEqual([])
  })
})
