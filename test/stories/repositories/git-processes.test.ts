import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { settleFiles } from '../../platform/git/fixture.ts'
import { settleCodeIndexes } from '../../support/code-indexes.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { importHistory } from '../../support/histories.ts'
import { PASSWORD } from '../../support/server.ts'

const { ask, client, rest, server, users } = await openForge()

/** More commits than a walk without a Git process reads. */
const LONG = 120

// The server keeps what it read from packs once the packs are some seconds old.
beforeEach(settleFiles)

let id: number
let path: string
let ids: Record<'commit' | 'tree' | 'blob' | 'tag' | 'first', string>

beforeAll(async () => {
  const { git } = client
  await ask(users.bob, 'POST', '/user/repos', { name: 'engine' })
  const { id: created } = await ask(users.bob, 'GET', '/repos/bob/engine')
  id = created
  path = repositoryPath(server.app.git, id)
  await git('.', 'init', '-q', '-b', 'main', 'engine')
  importHistory(
    join(client.home, 'engine'),
    Array.from({ length: LONG + 20 }, (_, i) => ({
      on: i < LONG ? 'refs/heads/long' : 'refs/heads/main',
      message: `commit ${i}`,
      files: {
        [`src/f${i % 7}.txt`]: `${i}\n`,
        'README.md': `# ${i}\n`,
        ...(i === 0 && { LICENSE: 'MIT\n' }),
      },
    })),
  )
  await git('engine', 'tag', '-am', 'version 1', 'v1', 'main')
  const remote = remoteOf(server.url, 'bob/engine', 'bob', PASSWORD)
  await git('engine', 'push', '-q', remote, 'main', 'long', 'v1')
  // The index of the code would start Git some seconds after a push.
  await settleCodeIndexes(server.app)
  const idOf = async (name: string) => git('engine', 'rev-parse', name)
  ids = {
    commit: await idOf('main'),
    first: await idOf('main~3'),
    tree: await idOf('main^{tree}'),
    blob: await idOf('main:src/f1.txt'),
    tag: await idOf('v1'),
  }
})

/** Counts the Git processes that a request starts. */
async function processesOf(target: string): Promise<number> {
  // A push is followed by work in the background, and by a worker that reads its commits.
  await server.app.background.settled()
  const unread = () => server.app.db.selectFrom('reference_work').select('id').execute()
  await expect.poll(unread).toEqual([])
  const started = vi.spyOn(server.app.git.processes, 'count')
  try {
    const { status } = await rest(undefined, 'GET', `/repos/bob/engine${target}`)
    expect(status).toBe(200)
    return started.mock.calls.length
  } finally {
    started.mockRestore()
  }
}

/** Forgets what the server has read of the repository. */
function makeCold(): void {
  for (const cache of server.app.git.repositoryCaches.values()) cache.delete(id)
}

const NO_CHANGES = 'stat=false&files=false&verification=true'

/**
 * The processes that a cold server starts for each request: one for the lines that changed or for
 * the number of commits of a long history, and two for last changes that are many commits old.
 */
const requests: [what: string, cold: number, target: () => string][] = [
  ['one branch', 0, () => '/branches/main'],
  ['all branches', 0, () => '/branches'],
  ['one commit', 0, () => `/git/commits/${ids.commit}?${NO_CHANGES}`],
  ['one commit with its changes', 1, () => `/git/commits/${ids.commit}`],
  ['a page of commits', 0, () => `/commits?limit=30&${NO_CHANGES}`],
  ['a page of commits with their changes', 1, () => '/commits?limit=30'],
  ['a page of a long history', 1, () => `/commits?sha=long&limit=30&${NO_CHANGES}`],
  ['a file', 0, () => '/contents/src/f1.txt'],
  ['a folder', 0, () => '/contents/src'],
  ['the root folder', 0, () => '/contents'],
  ['a folder with an old file', 2, () => '/contents?ref=long'],
  ['a raw file', 0, () => '/raw/src/f1.txt'],
  ['a tree', 0, () => `/git/trees/${ids.tree}`],
  ['a tree of a branch, with all folders', 0, () => '/git/trees/main?recursive=true'],
  ['a blob', 0, () => `/git/blobs/${ids.blob}`],
  ['a tag', 0, () => '/tags/v1'],
  ['a tag object with its signature', 0, () => `/git/tags/${ids.tag}`],
  ['a comparison of near commits', 1, () => `/compare/${ids.first}...${ids.commit}`],
  ['a comparison with an ancestor', 1, () => '/compare/main~1...main'],
]

describe.each([
  ['loose objects', () => Promise.resolve('')],
  ['packs', () => client.git('.', '-C', path, 'gc', '-q')],
])('Git processes for reads from %s', (_, store) => {
  beforeAll(store)

  it.each(requests)('%s: %i when cold, none when warm', async (_what, cold, target) => {
    makeCold()
    expect(await processesOf(target())).toBe(cold)
    expect(await processesOf(target())).toBe(0)
  })
})

it('a branch that an operator moves is read at the next request', async () => {
  const shown = async () =>
    (await ask(undefined, 'GET', '/repos/bob/engine/branches/main')).commit.id
  expect(await shown()).toBe(ids.commit)
  await client.git('.', '-C', path, 'update-ref', 'refs/heads/main', ids.first)
  expect(await shown()).toBe(ids.first)
  await client.git('.', '-C', path, 'pack-refs', '--all')
  expect(await shown()).toBe(ids.first)
  await client.git('.', '-C', path, 'update-ref', 'refs/heads/main', ids.commit)
  expect(await shown()).toBe(ids.commit)
})
