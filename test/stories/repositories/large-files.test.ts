import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { PullFileService } from '#gen/branchline/v1/pull_file_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { watchGitMemory } from '../../support/git-memory.ts'
import { PASSWORD } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

const MIB = 2 ** 20

/** In the long tier larger than Git allocates at once, else larger than `SMALL_BYTES`. Zeros compress well. */
const LARGE_MIB = isLongTier ? 1025 : 220

/** Two files of this size fit into the memory limit of one Git process, and three do not. */
const MIDDLE_MIB = 220

/** Far above the memory of a Git process that does not read file contents. */
const SMALL_BYTES = 128 * MIB

/** The value of `--git-memory` for this server. */
const ALL_GITS_BYTES = 512 * MIB

/** A busy machine has to hash some gibibytes in this time. */
const TIMEOUT_MS = 300_000

let largeId: string

const forge = await openForge({
  gitMemoryBytes: ALL_GITS_BYTES,
  settings: { maxPushBytes: 64 * MIB },
})

beforeAll(async () => {
  const { ask, users, client, server } = forge
  await ask(users.bob, 'POST', '/user/repos', { name: 'large' })
  await client.git('.', 'init', '-q', '-b', 'main', 'large')
  const zeros = (mib: number, ...more: readonly string[]) =>
    storeZeros(join(client.home, 'large'), mib, more)
  largeId = await zeros(LARGE_MIB)
  const [middle, ours, theirs] = [
    await zeros(MIDDLE_MIB),
    await zeros(MIDDLE_MIB, 'ours'),
    await zeros(MIDDLE_MIB, 'theirs'),
  ]
  const lines = await storeBlob(join(client.home, 'large'), [Buffer.alloc(4 * MIB, '\n')])
  const first = await commit({ middle })
  const main = await commit({ middle: ours }, first)
  await branch('main', main)
  await branch('large', await commit({ middle: ours, 'ze"ros\t': largeId }, main))
  await branch('theirs', await commit({ middle: theirs }, first))
  await branch('lines', await commit({ middle: ours, lines }, main))
  await client.git(
    'large',
    'push',
    '-q',
    remoteOf(server.url, 'bob/large', 'bob', PASSWORD),
    'refs/heads/*',
  )
}, TIMEOUT_MS)

/** Stores zeros followed by a text, and returns the id of the blob. */
function storeZeros(folder: string, mib: number, more: readonly string[]): Promise<string> {
  const piece = Buffer.alloc(MIB)
  return storeBlob(folder, [
    ...Array<Buffer>(mib).fill(piece),
    ...more.map((text) => Buffer.from(text)),
  ])
}

async function storeBlob(folder: string, pieces: readonly Buffer[]): Promise<string> {
  const git = spawn('git', [
    '-C',
    folder,
    '-c',
    'core.bigFileThreshold=1m',
    'hash-object',
    '-w',
    '--stdin',
  ])
  for (const piece of pieces) if (!git.stdin.write(piece)) await once(git.stdin, 'drain')
  git.stdin.end()
  let id = ''
  for await (const chunk of git.stdout) id += chunk
  return id.trim()
}

/** Stores a commit of blobs by their paths, and returns its id. */
async function commit(files: Record<string, string>, parent?: string): Promise<string> {
  const { client } = forge
  await client.git('large', 'read-tree', '--empty')
  for (const [path, id] of Object.entries(files))
    await client.git('large', 'update-index', '--add', '--cacheinfo', '100644', id, path)
  const tree = await client.git('large', 'write-tree')
  return client.git(
    'large',
    'commit-tree',
    tree,
    ...(parent === undefined ? [] : ['-p', parent]),
    '-m',
    'files',
  )
}

async function branch(name: string, id: string): Promise<void> {
  await forge.client.git('large', 'update-ref', `refs/heads/${name}`, id)
}

async function openPull(head: string): Promise<{ number: number; path: string }> {
  const { ask, users } = forge
  const { number } = await ask(users.bob, 'POST', '/repos/bob/large/pulls', {
    head,
    base: 'main',
    title: head,
  })
  return { number, path: `/repos/bob/large/pulls/${number}` }
}

/** Measures the memory of Git processes while some work runs. */
async function measured<T>(work: () => Promise<T>) {
  const watch = watchGitMemory()
  try {
    const result = await work()
    return { result, peakBytes: watch.peakBytes() }
  } finally {
    watch.stop()
  }
}

describe(`a file of ${LARGE_MIB} MiB in a pull request`, { timeout: TIMEOUT_MS }, () => {
  let pull: { number: number; path: string }
  beforeAll(async () => {
    pull = await openPull('large')
  }, TIMEOUT_MS)

  it('is listed without being read, over REST and gRPC', async () => {
    const { result, peakBytes } = await measured(async () => [
      await forge.rest(undefined, 'GET', `${pull.path}/files`),
      await forge
        .grpc(PullFileService)
        .listPullRequestFiles({ owner: 'bob', repo: 'large', index: BigInt(pull.number) }),
    ])
    expect(result).toMatchObject([
      { status: 200, body: [{ filename: 'ze"ros\t', status: 'added', additions: 0 }] },
      { files: [{ filename: 'ze"ros\t', status: 'added', additions: 0n }] },
    ])
    expect(peakBytes).toBeLessThan(SMALL_BYTES)
  })

  it('is in the diff, which is complete, as Git shows it', async () => {
    const { result, peakBytes } = await measured(async () => {
      const answer = await fetch(`${forge.server.url}/api/v1${pull.path}.diff`)
      return { status: answer.status, text: await answer.text() }
    })
    const lines = [
      String.raw`diff --git "a/ze\"ros\t" "b/ze\"ros\t"`,
      'new file mode 100644',
      `index 0000000..${largeId.slice(0, 7)}`,
      String.raw`Binary files /dev/null and "b/ze\"ros\t" differ`,
    ]
    expect(result).toEqual({ status: 200, text: `${lines.join('\n')}\n` })
    expect(peakBytes).toBeLessThan(SMALL_BYTES)
  })

  it('is too large for texts with its content, which fail before they start', async () => {
    const answers = await Promise.all(
      ['.diff?binary=true', '.patch'].map((end) =>
        forge.rest(undefined, 'GET', `${pull.path}${end}`),
      ),
    )
    for (const { status, body } of answers)
      expect([status, body.message]).toEqual([
        422,
        expect.stringContaining('too large for one response'),
      ])
  })
})

it('files that are too large to be merged in memory conflict', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { rest, users } = forge
  const { result, peakBytes } = await measured(async () => {
    const { path } = await openPull('theirs')
    await expect
      .poll(() => rest(users.bob, 'GET', path).then(({ body }) => body.mergeable), {
        timeout: 60_000,
      })
      .toBe(false)
    return rest(users.bob, 'POST', `${path}/merge`, { Do: 'merge' })
  })
  expect([405, 409]).toContain(result.status)
  expect(peakBytes).toBeLessThan(ALL_GITS_BYTES + SMALL_BYTES)
})

it('all Git processes together stay within their memory limit', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { path } = await openPull('lines')
  const url = `${forge.server.url}/api/v1${path}.diff`
  const readers = 10
  const end = new AbortController()
  const watch = watchGitMemory()
  onTestFinished(() => {
    end.abort()
    watch.stop()
  })
  // No client reads the responses, so that each Git process waits with its full memory. Together they
  // would use 1.7 GiB.
  const answers = await Promise.all(
    Array.from({ length: readers }, () => fetch(url, { signal: end.signal })),
  )
  expect((await fetch(`${forge.server.url}/healthz`)).status).toBe(200)
  const statuses = answers.map(({ status }) => status)
  expect(statuses).toContain(200)
  for (const status of statuses) expect([200, 503]).toContain(status)
  // The server measures from time to time, so that a busy machine has more for a moment.
  await expect.poll(watch.totalBytes).toBeLessThan(ALL_GITS_BYTES + 3 * SMALL_BYTES)
})
