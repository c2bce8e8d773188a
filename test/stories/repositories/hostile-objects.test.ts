import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  MAX_OBJECT_WORK,
  MAX_REQUEST_WORK,
  MAX_TURN_WORK,
} from '../../../src/platform/git/processes/read-work.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { openForge } from '../../support/forge.ts'
import {
  addChained,
  commitOf,
  type Packed,
  PackWriter,
  pushPack,
  treeOf,
} from '../../support/hostile-packs.ts'

const { ask, client, server, users } = await openForge()

/** Two links take the work of an object. Attackers make a hundred, which take a second. */
const SHAPE = { links: 4, instructions: 130_000 }

const FOLDERS = 4
const PARENTS = 5
const COMMITS = 6
const OCTOPUS_PARENTS = 2_500

/** What a single object may take, and then the text of another one. */
const TURN = MAX_TURN_WORK + MAX_OBJECT_WORK + MAX_OBJECT_WORK

let path: string
const pack = new PackWriter()
const tips = new Map<string, Packed>()

/** A submodule, whose commit a repository does not have. */
const module = (name: string, n: number) => ({
  mode: '160000',
  name,
  id: (n + 1).toString(16).padStart(4, '0').repeat(10),
})

const chainedTree = (n: number) =>
  addChained(pack, 'tree', treeOf([module('m', n), module('same', 999)]), '', SHAPE)

function addHistories(): void {
  const folders = Array.from({ length: FOLDERS }, (_, i) => ({
    mode: '40000',
    name: `d${i}`,
    id: chainedTree(i).id,
  }))
  const tree = pack.add('tree', treeOf(folders))
  const flat = pack.add('tree', treeOf([module('m', 900), module('same', 999)]))
  tips.set('folders', pack.add('commit', commitOf({ treeId: tree.id, message: 'folders\n' })))
  const parentIds = Array.from({ length: PARENTS }, (_, i) => {
    const treeId = chainedTree(100 + i).id
    return pack.add('commit', commitOf({ treeId, message: `parent ${i}\n` })).id
  })
  tips.set(
    'merge',
    pack.add('commit', commitOf({ treeId: flat.id, parentIds, message: 'merge\n' })),
  )
  let commit: Packed | undefined
  for (let i = 0; i < COMMITS; i++) {
    const parents = commit ? [commit.id] : []
    const text = { treeId: flat.id, parentIds: parents, message: `commit ${i}\n` }
    const content = commitOf({ ...text, time: 1_770_000_000 + i })
    commit = addChained(pack, 'commit', content, flat.id, SHAPE)
  }
  if (commit) tips.set('commits', commit)
  const many = Array.from(
    { length: OCTOPUS_PARENTS },
    (_, i) => pack.add('commit', commitOf({ treeId: flat.id, message: `${i}\n` })).id,
  )
  const octopus = { treeId: tree.id, parentIds: many, message: 'octopus\n' }
  tips.set('octopus', pack.add('commit', commitOf(octopus)))
  let octopi = many[0] ?? ''
  for (let i = 0; i < 20; i++) {
    const content = { ...octopus, parentIds: [octopi, ...many], time: 1_770_000_000 + i }
    octopi = pack.add('commit', commitOf(content)).id
  }
  tips.set('octopi', pack.last)
}

beforeAll(async () => {
  addHistories()
  await ask(users.bob, 'POST', '/user/repos', { name: 'hostile' })
  const repository = `${server.url}/bob/hostile.git`
  const [first] = tips
  if (first) await pushPack(repository, users.bob.authorization, first[0], first[1].id, pack)
  const rest = new PackWriter()
  for (const [branch, { id }] of tips)
    if (branch !== first?.[0]) await pushPack(repository, users.bob.authorization, branch, id, rest)
  const { id } = await ask(users.bob, 'GET', '/repos/bob/hostile')
  path = repositoryPath(server.app.git, id)
  await ask(users.carol, 'POST', '/repos/bob/hostile/forks', { name: 'fork' })
  await server.app.background.settled()
})

beforeEach(() => {
  for (const cache of server.app.git.repositoryCaches.values())
    for (const id of [1, 2, 3]) cache.delete(id)
  server.app.git.readTurns.largest = 0
  server.app.git.readTurns.total = 0
})

const gitAt = (...args: string[]) => client.git('.', '-C', path, ...args)

/** Asks as a stranger, and makes sure that the event loop had time for others. */
async function get(target: string) {
  const { readTurns } = server.app.git
  const answer = await ask(undefined, 'GET', target)
  expect(readTurns.total).toBeGreaterThan(0)
  expect(readTurns.largest).toBeLessThanOrEqual(TURN)
  expect(readTurns.total).toBeLessThanOrEqual(MAX_REQUEST_WORK)
  return answer
}

describe.each(['bob/hostile', 'carol/fork'])('objects behind expensive deltas in %s', (name) => {
  const repository = `/repos/${name}`

  it('are listed as a tree', async () => {
    const { tree } = await get(`${repository}/git/trees/folders?recursive=true`)
    expect(tree.map(({ path: at, sha }: { path: string; sha: string }) => `${sha}\t${at}`)).toEqual(
      (await gitAt('ls-tree', '-r', '-t', '--format=%(objectname)%x09%(path)', 'folders')).split(
        '\n',
      ),
    )
  })

  it('are compared with each parent of a merge', async () => {
    const entries = await get(`${repository}/contents?ref=merge`)
    for (const { path: at, last_commit_sha } of entries)
      expect(last_commit_sha).toBe(await gitAt('log', '-1', '--format=%H', 'merge', '--', at))
    expect(entries).toHaveLength(2)
  })

  it('are listed as commits', async () => {
    const commits = await get(`${repository}/commits?sha=commits&limit=50`)
    expect(commits.map(({ sha }: { sha: string }) => sha)).toEqual(
      (await gitAt('rev-list', 'commits')).split('\n'),
    )
  })

  it('are the parents of a commit, in thousands', async () => {
    const [commit] = await get(`${repository}/commits?sha=octopus&limit=1&stat=false&files=false`)
    expect(commit.parents).toHaveLength(OCTOPUS_PARENTS)
    const page = await get(`${repository}/commits?sha=octopi&limit=20&stat=false&files=false`)
    expect(page).toHaveLength(20)
    expect(page[0].parents).toHaveLength(OCTOPUS_PARENTS + 1)
    // An answer with all parents would take the event loop a second.
    expect(JSON.stringify(page).length).toBeLessThan(5_000_000)
    await get(`${repository}/contents?ref=octopus`)
    const { total_commits } = await get(`${repository}/compare/octopus^7...octopus`)
    expect(total_commits).toBe(OCTOPUS_PARENTS)
  })
})
