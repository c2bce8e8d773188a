import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { bringObjectsBack, readLimbo } from '../../../src/forge/administration/limbo.ts'
import { sweepLimbo } from '../../../src/forge/repositories/maintenance/prunes.ts'
import { beginEntry } from '../../../src/platform/git/maintenance/limbo.ts'
import {
  expireObjects,
  keepObjects,
  removeLoose,
} from '../../../src/platform/git/maintenance/prune.ts'
import { readState } from '../../../src/platform/git/maintenance/state.ts'
import { limboOf, repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

const DAY_MS = 24 * 60 * 60_000
const WAIT = { timeout: 60_000, interval: 50 }
const ROUNDS = isLongTier ? 40 : 2

const forge = await openForge({ settings: { gitHooks: true } })
const { users, ask, rest, client, server } = forge
const { ada, bob, carol } = users
afterAll(forge.checkObjects)

async function createClone(name: string): Promise<number> {
  const { id } = await ask(bob, 'POST', '/user/repos', { name, auto_init: true })
  const remote = remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD)
  await client.git('.', 'clone', '-q', remote, name)
  return id
}

/** Commits a file on a new branch from main. Returns the id of the commit. */
async function commitOn(name: string, branch: string, file: string): Promise<string> {
  await client.git(name, 'switch', '-q', '-C', branch, 'origin/main')
  writeFileSync(join(client.home, name, file), `${file} of ${branch}\n`)
  await client.git(name, 'add', '.')
  await client.commit(name, file)
  return (await client.git(name, 'rev-parse', 'HEAD')).trim()
}

/** Pushes a commit to a branch that is deleted at once. */
async function leaveBehind(name: string, branch: string): Promise<string> {
  const commit = await commitOn(name, branch, `${branch}.txt`)
  await client.git(name, 'push', '-q', 'origin', branch)
  await client.git(name, 'push', '-q', 'origin', `:${branch}`)
  return commit
}

/** Makes all objects of a repository look as if they were written some time ago. */
function age(id: number, days: number): void {
  const time = new Date(Date.now() - days * DAY_MS)
  const objects = join(repositoryPath(server.app.git, id), 'objects')
  for (const folder of readdirSync(objects)) {
    for (const name of readdirSync(join(objects, folder)))
      if (/^[0-9a-f]{38}$|^pack-/.test(name)) utimesSync(join(objects, folder, name), time, time)
  }
}

/** Asks for a prune and waits for its end. Returns its error. */
async function prune(name: string): Promise<string> {
  const path = `/repos/bob/${name}/maintenance`
  await ask(ada, 'POST', path, { steps: ['prune'] })
  await expect.poll(async () => (await ask(ada, 'GET', path)).requested, WAIT).toEqual([])
  const { steps } = await ask(ada, 'GET', path)
  return steps.find((step: { name: string }) => step.name === 'prune').error
}

const purge = (name: string, who = ada) => rest(who, 'POST', `/repos/bob/${name}/maintenance/purge`)

async function statusOf(name: string, commit: string): Promise<number> {
  return (await rest(bob, 'GET', `/repos/bob/${name}/git/commits/${commit}`)).status
}

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

async function limbo() {
  const found = []
  for await (const entry of readLimbo(server.app.db, server.app.git)) found.push(entry)
  return found
}

describe('a prune', () => {
  it('removes objects that no ref has reached for long, which can be brought back', async () => {
    const id = await createClone('old')
    const gone = await leaveBehind('old', 'gone')
    age(id, 13)
    expect(await prune('old')).toBe('')
    expect(await statusOf('old', gone)).toBe(200)
    const other = await createClone('older')
    const lost = await leaveBehind('older', 'lost')
    age(other, 15)
    expect(await prune('older')).toBe('')
    expect(await statusOf('older', lost)).toBe(404)
    expect(await statusOf('older', 'main')).toBe(200)
    expect(await limbo()).toEqual([
      expect.objectContaining({ name: 'bob/older', objects: 3, bytes: expect.any(Number) }),
    ])
    expect(await bringObjectsBack(server.app.db, server.app.git, 'bob/older')).toBe(3)
    expect(await statusOf('older', lost)).toBe(200)
    expect(await limbo()).toEqual([])
    // They count as new.
    expect(await prune('older')).toBe('')
    expect(await statusOf('older', lost)).toBe(200)
  })

  it('keeps what pull requests, reviews and statuses need, whatever the age', async () => {
    const id = await createClone('needed')
    const first = await commitOn('needed', 'feature', 'first.txt')
    await client.git('needed', 'push', '-q', 'origin', 'feature')
    const draft = { head: 'feature', base: 'main', title: 'feature' }
    const { number } = await ask(bob, 'POST', '/repos/bob/needed/pulls', draft)
    await ask(ada, 'POST', `/repos/bob/needed/pulls/${number}/reviews`, {
      event: 'COMMENT',
      body: 'seen',
    })
    const second = await commitOn('needed', 'feature', 'second.txt')
    await client.git('needed', 'push', '-q', '-f', 'origin', 'feature')
    await ask(bob, 'PATCH', `/repos/bob/needed/pulls/${number}`, { state: 'closed' })
    await client.git('needed', 'push', '-q', 'origin', ':feature')
    const tested = await leaveBehind('needed', 'tested')
    await ask(bob, 'POST', `/repos/bob/needed/statuses/${tested}`, { state: 'success' })
    const secret = await leaveBehind('needed', 'secret')
    expect((await purge('needed', bob)).status).toBe(403)
    expect(await purge('needed')).toMatchObject({ status: 204 })
    for (const commit of [first, second, tested]) expect(await statusOf('needed', commit)).toBe(200)
    expect(await statusOf('needed', secret)).toBe(404)
    const refs = await client.git('.', '-C', repositoryPath(server.app.git, id), 'for-each-ref')
    expect(refs).not.toContain('refs/branchline')
  })

  it.each([0, 1, 2, 3])('that a kill ends after %i of its parts is undone', async (count) => {
    const { git } = server.app
    const name = `killed-${count}`
    const id = await createClone(name)
    const kept = await leaveBehind(name, 'kept')
    const lost = await leaveBehind(name, 'lost')
    const state = await readState(git, id)
    if (!state) throw new Error('the repository has a state')
    const entry = await beginEntry(git, id, Date.now())
    const expiry = { beforeMs: 'now', includesShared: false } as const
    const parts = [
      () => keepObjects(git, id, [kept]),
      () => expireObjects(git, id, { state, entry, expiry }, new AbortController().signal),
      () => removeLoose(git, id, entry, Date.now()),
    ]
    for (const part of parts.slice(0, count)) await part()
    // A killed server leaves the rest of the parts out.
    await sweepLimbo(server.app)
    for (const commit of [kept, lost, 'main']) expect(await statusOf(name, commit)).toBe(200)
    expect(readdirSync(limboOf(git, id))).toEqual([])
    const refs = await client.git('.', '-C', repositoryPath(git, id), 'for-each-ref')
    expect(refs).not.toContain('refs/branchline')
    expect(await prune(name)).toBe('')
  })
})

describe('a read that meets a prune', () => {
  /** Moves the objects that no ref reaches into the limbo, and creates a ref that needs them. */
  async function takeAway(name: string) {
    const { git } = server.app
    const id = await createClone(name)
    const commit = await leaveBehind(name, 'away')
    await client.git(name, 'push', '-q', 'origin', `${commit}:refs/heads/back`)
    const { tree } = (await ask(bob, 'GET', `/repos/bob/${name}/git/commits/${commit}`)).commit
    const path = repositoryPath(git, id)
    const { timeMs, ...entry } = await beginEntry(git, id, Date.now())
    await client.git('.', '-C', path, 'update-ref', '-d', 'refs/heads/back')
    const state = await readState(git, id)
    if (!state) throw new Error('the repository has a state')
    const expiry = { beforeMs: 'now', includesShared: false } as const
    const order = { state, entry: { timeMs, ...entry }, expiry }
    await expireObjects(git, id, order, new AbortController().signal)
    await removeLoose(git, id, order.entry, Date.now() + DAY_MS)
    writeFileSync(join(path, 'refs/heads/back'), `${commit}\n`)
    return { commit, tree: tree.sha as string }
  }

  const readsOf = (commit: string, tree: string) => [
    'branches/back',
    'commits?sha=back',
    `git/commits/${commit}`,
    `git/trees/${tree}`,
    'contents?ref=back',
    'contents/away.txt?ref=back',
    'raw/away.txt?ref=back',
    'compare/main...back',
    'archive/back.zip',
  ]

  /** Returns each read with its status. */
  function statusesOf(name: string, reads: readonly string[]) {
    const read = async (path: string) =>
      [path, (await fetch(`${server.url}/api/v1/repos/bob/${name}/${path}`)).status] as const
    return Promise.all(reads.map(read))
  }

  it('waits until the objects are back, whatever it reads', async () => {
    const { commit, tree } = await takeAway('waiting')
    const reads = readsOf(commit, tree)
    const answers = statusesOf('waiting', reads)
    const draft = { head: 'back', base: 'main', title: 'Back' }
    const created = rest(bob, 'POST', '/repos/bob/waiting/pulls', draft)
    expect(await statusOf('waiting', 'main')).toBe(200)
    await sweepLimbo(server.app)
    expect(await answers).toEqual(reads.map((path) => [path, 200]))
    expect((await created).status).toBe(201)
  })

  it('is told to come back when that lasts, and then finds what it asked for', async () => {
    const { commit, tree } = await takeAway('met')
    const reads = readsOf(commit, tree)
    const statuses = () => statusesOf('met', reads)
    expect(await statuses()).toEqual(reads.map((path) => [path, 503]))
    const draft = { head: 'back', base: 'main', title: 'Back' }
    expect((await rest(bob, 'POST', '/repos/bob/met/pulls', draft)).status).toBe(503)
    // What was never there is not on its way.
    const unknown = `git/commits/${'1'.repeat(40)}`
    expect((await rest(bob, 'GET', `/repos/bob/met/${unknown}`)).status).toBe(404)
    await sweepLimbo(server.app)
    expect(await statuses()).toEqual(reads.map((path) => [path, 200]))
    expect((await rest(bob, 'POST', '/repos/bob/met/pulls', draft)).status).toBe(201)
  })
})

describe('a purge', () => {
  it('removes a secret at once, also from the limbo and from fetches by id', async () => {
    const id = await createClone('leak')
    const early = await leaveBehind('leak', 'early')
    age(id, 15)
    expect(await prune('leak')).toBe('')
    const secret = await leaveBehind('leak', 'secret')
    expect(await statusOf('leak', secret)).toBe(200)
    expect((await purge('leak', carol)).status).toBe(403)
    expect((await purge('leak')).status).toBe(204)
    expect(await statusOf('leak', secret)).toBe(404)
    expect(existsSync(limboOf(server.app.git, id))).toBe(false)
    for (const commit of [secret, early]) {
      await client.git('.', 'init', '-q', '--bare', `empty-${commit}`)
      const remote = remoteOf(server.url, 'bob/leak', 'bob', PASSWORD)
      await expect(client.git(`empty-${commit}`, 'fetch', '-q', remote, commit)).rejects.toThrow()
    }
    expect((await rest(ada, 'POST', '/repos/bob/no-such/maintenance/purge')).status).toBe(404)
  })

  it('refuses a push that began before and needs what is gone, and the next push succeeds', async () => {
    await createClone('racing')
    const commit = await leaveBehind('racing', 'again')
    await ask(ada, 'PATCH', '/repos/bob/racing/hooks/git/pre-receive', { content: 'exit 0' })
    const { hooks } = server.app.git
    const { run } = hooks
    const begun = gate()
    const purged = gate()
    hooks.run = async (order) => {
      begun.open()
      await purged.opened
      return run.call(hooks, order)
    }
    const pushed = client
      .git('racing', 'push', 'origin', `${commit}:refs/heads/again`)
      .then(() => '', String)
    await begun.opened
    expect((await purge('racing')).status).toBe(204)
    purged.open()
    expect(await pushed).toContain('the repository was being cleaned: push again')
    hooks.run = run
    await client.git('racing', 'push', '-q', 'origin', `${commit}:refs/heads/again`)
    expect(await statusOf('racing', commit)).toBe(200)
  })

  it('loses nothing of pushes that go on meanwhile', { timeout: 120_000 }, async () => {
    await createClone('busy')
    const commits = []
    for (let i = 0; i < 6; i += 1) commits.push(await leaveBehind('busy', `side-${i}`))
    let isDone = false
    const purging = (async () => {
      while (!isDone) expect([204, 503]).toContain((await purge('busy')).status)
    })()
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [i, commit] of commits.entries()) {
        const push = () =>
          client
            .git('busy', 'push', '-q', 'origin', `${commit}:refs/heads/side-${i}`)
            .then(() => '', String)
        // A push that was refused succeeds later, and one that succeeded is whole after the prune.
        await expect.poll(push, WAIT).toBe('')
        await expect.poll(() => statusOf('busy', `side-${i}`), WAIT).toBe(200)
      }
      const names = commits.map((_, i) => `:side-${i}`)
      if (round < ROUNDS - 1) await client.git('busy', 'push', '-q', 'origin', ...names)
    }
    isDone = true
    await purging
    for (const commit of commits) expect(await statusOf('busy', commit)).toBe(200)
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  })
})
