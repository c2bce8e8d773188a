import { expect, it, vi } from 'vitest'
import { PackCache } from '../../../src/platform/git/packs/pack-cache.ts'
import { currentRefs } from '../../../src/platform/git/packs/ref-snapshots.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'

const { ask, client, server, users, checkObjects } = await openForge()

/** Creates a repository with some commits. @returns its path, and the id of its last commit. */
async function repositoryOf(name: string): Promise<{ path: string; head: string }> {
  await ask(users.bob, 'POST', '/user/repos', { name, private: true })
  const path = `bob/${name}`
  await client.git('.', 'init', '-q', '-b', 'main', name)
  await client.git(name, 'remote', 'add', 'origin', remoteOf(server.url, path, 'bob', PASSWORD))
  return { path, head: await push(name, 'first') }
}

/** Pushes a commit. */
async function push(name: string, message: string): Promise<string> {
  await client.commit(name, `${message}: before`)
  const head = await client.commit(name, message)
  await client.git(name, 'push', '-q', 'origin', 'HEAD:main')
  await settled(`bob/${name}`)
  return head
}

/** Waits until the server knows the refs of a repository, which takes seconds after a change. */
async function settled(path: string): Promise<void> {
  const { id } = await ask(users.bob, 'GET', `/repos/${path}`)
  const options = { timeout: 30_000, interval: 100 }
  await expect.poll(() => currentRefs(server.app.git, id), options).toBeDefined()
}

const packet = (text: string) => `${(text.length + 5).toString(16).padStart(4, '0')}${text}\n`

/** What a client sends that clones a commit. */
const requestFor = (want: string, ...more: string[]) =>
  [
    ...['command=fetch', 'agent=git/2.39.5'].map(packet),
    '0001',
    ...['ofs-delta', 'no-progress', `want ${want}`, ...more, 'done'].map(packet),
    '0000',
  ].join('')

function request(path: string, body: string, password = PASSWORD, signal?: AbortSignal) {
  return fetch(`${server.url}/${path}.git/git-upload-pack`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-git-upload-pack-request',
      'git-protocol': 'version=2',
      authorization: `Basic ${btoa(`bob:${password}`)}`,
    },
    body,
    signal: signal ?? null,
  })
}

/** Returns the length of the pack in an answer, after a look at its beginning. */
async function packOf(answer: Response): Promise<string> {
  expect(answer.status).toBe(200)
  const text = Buffer.from(await answer.arrayBuffer()).toString('latin1')
  expect(text).toMatch(/^000dpackfile\n/)
  expect(text.endsWith('0000')).toBe(true)
  return text
}

/** Counts the requests that are answered by a pack that several clients share. */
async function sharedIn(work: () => Promise<unknown>): Promise<number> {
  const read = vi.spyOn(PackCache.prototype, 'read')
  await work()
  const { length } = read.mock.calls
  read.mockRestore()
  return length
}

/** Reads what the metrics say about clones. */
async function clonesCounted() {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const figureOf = (name: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length),
    )
  return {
    hit: figureOf('branchline_pack_cache_clones_total{result="hit"}'),
    miss: figureOf('branchline_pack_cache_clones_total{result="miss"}'),
    bytes: figureOf('branchline_pack_cache_bytes'),
  }
}

it('gives many clones of a commit one pack', async () => {
  const { path, head } = await repositoryOf('herd')
  const clone = (folder: string, ...options: string[]) =>
    client.git('.', 'clone', '-q', ...options, remoteOf(server.url, path, 'bob', PASSWORD), folder)
  await clone('first')
  const before = await clonesCounted()
  const herd = Array.from({ length: 12 }, (_, i) => `herd-${i}`)
  expect(await sharedIn(() => Promise.all(herd.map((name) => clone(name))))).toBe(herd.length)
  // One of them makes the pack.
  const counted = await clonesCounted()
  expect(counted.hit - before.hit).toBe(herd.length - 1)
  expect(counted.miss - before.miss).toBe(1)
  expect(counted.bytes).toBeGreaterThan(before.bytes)
  for (const name of herd) {
    expect(await client.git(name, 'rev-parse', 'HEAD')).toBe(head)
    await client.git(name, 'fsck', '--strict')
  }
  // Clones of another kind have packs of their own.
  for (const name of ['one', 'two', 'three']) await clone(`shallow-${name}`, '--depth=1')
  expect(await client.git('shallow-three', 'rev-list', '--count', 'HEAD')).toBe('1')
  expect(await sharedIn(() => clone('shallow-four', '--depth=1'))).toBe(1)

  const next = await push('herd', 'second')
  await clone('next')
  expect(await client.git('next', 'rev-parse', 'HEAD')).toBe(next)
  // A client that has objects asks for the rest only.
  expect(await sharedIn(() => client.git('first', 'pull', '-q'))).toBe(0)
  expect(await client.git('first', 'rev-parse', 'HEAD')).toBe(next)
})

it('gives nobody what no ref points to any more, nor what he may not read', async () => {
  const { path, head } = await repositoryOf('left')
  const body = requestFor(head)
  await packOf(await request(path, body))
  const second = await packOf(await request(path, body))
  // Git may divide the bytes of a pack in another way each time, but a file has one way.
  let third = ''
  const read = async () => {
    third = await packOf(await request(path, body))
  }
  expect(await sharedIn(read)).toBe(1)
  expect(third).toBe(second)
  expect((await request(path, body, 'wrong password')).status).toBe(401)
  await ask(users.bob, 'PATCH', '/repos/bob/left', { name: 'renamed' })
  await client.git('left', 'checkout', '-q', '--orphan', 'other')
  await client.commit('left', 'another history')
  await client.git('left', 'push', '-q', '-f', 'origin', 'HEAD:main')
  await settled('bob/renamed')
  // Git gives what it still has, and is asked each time.
  expect(await sharedIn(() => request('bob/renamed', body).then(packOf))).toBe(0)
  await ask(users.bob, 'DELETE', '/repos/bob/renamed')
  expect((await request('bob/renamed', body)).status).toBe(404)
})

it('goes on for the others when a client leaves', async () => {
  const { path, head } = await repositoryOf('cut')
  const body = requestFor(head)
  await packOf(await request(path, body))
  const leaving = new AbortController()
  const left = request(path, body, PASSWORD, leaving.signal).catch(() => 'left')
  const others = Array.from({ length: 4 }, () => request(path, body).then(packOf))
  leaving.abort()
  expect(new Set(await Promise.all(others)).size).toBe(1)
  await left
  await checkObjects()
})
