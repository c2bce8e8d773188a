import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { acceptPushes } from '../../support/git-mirror.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'
import { GROUP_KINDS } from '../../support/group-kinds.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, type TestUsers } from '../../support/server.ts'
import type { GroupServer, ServerGroup } from '../../support/server-group.ts'

const SERVERS = 3

/** Pieces of work of each kind. */
const ROUNDS = 4

const TIMEOUT_MS = 180_000
const WAIT = { timeout: 60_000, interval: 50 }

describe.each(GROUP_KINDS)('$title share work', { timeout: TIMEOUT_MS }, ({ missing, start }) => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let group: ServerGroup<GroupServer>
  let users: TestUsers
  let mailDir: string
  let mirror: GitUpstream

  beforeAll(async () => {
    mailDir = await mkdtemp(join(tmpdir(), 'branchline-mail-'))
    mirror = await startGitUpstream()
    acceptPushes(mirror)
    const options = ['--webhook-allowed-hosts', '127.0.0.1', '--mail-dir', mailDir]
    group = await start(SERVERS, options)
    users = await createTestUsers(group.url())
    await ask('POST', '/user/repos', { name: 'garden', auto_init: true })
    await ask('PUT', '/repos/bob/garden/collaborators/carol', { permission: 'write' })
  }, TIMEOUT_MS)

  afterAll(async () => {
    await group.stop()
    await mirror.stop()
    await rm(mailDir, { recursive: true })
  }, TIMEOUT_MS)

  /** Sends each request to another server. */
  const ask = async (method: string, path: string, body?: object, who = users.bob) => {
    const answer = await restAt(group.url())(who, method, path, body)
    expect([200, 201, 204], JSON.stringify(answer.body)).toContain(answer.status)
    return answer.body
  }
  const newBranch = (branch: string) =>
    ask('POST', `/repos/bob/garden/contents/${branch}.txt`, {
      content: Buffer.from(branch).toString('base64'),
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
      const { status } = await restAt(group.url())(users.ada, 'POST', path, {})
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
