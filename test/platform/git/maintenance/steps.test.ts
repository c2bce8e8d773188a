import { randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  damagedFiles,
  removeDamaged,
  removeStaleLocks,
  STEP_TIMEOUT_MS,
} from '../../../../src/platform/git/maintenance/derived-files.ts'
import { readState } from '../../../../src/platform/git/maintenance/state.ts'
import { runStep, type SimpleStep, STEPS } from '../../../../src/platform/git/maintenance/steps.ts'
import { readCommit } from '../../../../src/platform/git/objects/commits.ts'
import { storeBlob } from '../../../../src/platform/git/objects/object-writes.ts'
import { draftFork } from '../../../../src/platform/git/packs/forks.ts'
import {
  publishDraft,
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { repositoryFiles } from '../../../../src/platform/git/repositories/repository-files.ts'
import { createFilledRepository, git, gitAt, storeCommit, testRepositories } from '../fixture.ts'

const ID = 7
const SIMPLE_STEPS = STEPS.filter((name) => name !== 'prune')
const NEVER = new AbortController().signal

async function step(repositories: Repositories, name: SimpleStep, id = ID): Promise<void> {
  const state = await readState(repositories, id)
  if (state) await runStep(repositories, id, name, state, NEVER)
}

/** Stores commits with a branch each. */
async function addCommits(repositories: Repositories, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const commit = await storeCommit(repositories, ID, `work ${count} ${i}`)
    git(repositories, ID, 'update-ref', `refs/heads/b${count}-${i}`, commit)
  }
}

describe('steps', () => {
  it('go on when a killed process has left a lock, and respect the lock of a running one', async () => {
    const repositories = await testRepositories()
    await createFilledRepository(repositories, ID)
    for (const name of SIMPLE_STEPS) await step(repositories, name)
    const locks = [
      'objects/pack/multi-pack-index.lock',
      'objects/info/commit-graphs/commit-graph-chain.lock',
    ]
    for (const lock of locks) {
      const path = join(repositoryPath(repositories, ID), lock)
      writeFileSync(path, '')
      const name = lock.includes('pack') ? 'geometric' : 'commit-graph'
      await addCommits(repositories, 2)
      await removeStaleLocks(repositories, ID, Date.now())
      await expect(step(repositories, name)).rejects.toThrow('.lock')
      const left = new Date(Date.now() - STEP_TIMEOUT_MS - 1_000)
      utimesSync(path, left, left)
      await removeStaleLocks(repositories, ID, Date.now())
      await step(repositories, name)
    }
  })

  it('join objects, refs and packs without affecting open handles', async () => {
    const repositories = await testRepositories()
    const first = await createFilledRepository(repositories, ID)
    await addCommits(repositories, 30)
    git(repositories, ID, 'repack', '-dq')
    await addCommits(repositories, 20)
    await readCommit(repositories, ID, first)
    const before = git(repositories, ID, 'for-each-ref')
    expect(await readState(repositories, ID)).toMatchObject({ looseRefs: 51, packs: [{}] })
    for (const name of SIMPLE_STEPS) await step(repositories, name)
    expect(await readState(repositories, ID)).toMatchObject({
      looseObjects: 0,
      looseRefs: 0,
      objectsSinceGraph: 0,
      hasMultiPackIndex: true,
      hasBitmap: true,
    })
    // The pack of loose objects is joined with the other one next time.
    await step(repositories, 'geometric')
    expect((await readState(repositories, ID))?.packs.map(({ objects }) => objects)).toEqual([
      51 * 3,
    ])
    expect(await readCommit(repositories, ID, first)).toMatchObject({ id: first })
    expect(git(repositories, ID, 'for-each-ref')).toBe(before)
    // Again, when each finds its own files.
    await addCommits(repositories, 10)
    for (const name of SIMPLE_STEPS) await step(repositories, name)
    git(repositories, ID, 'fsck', '--full', '--strict')
    git(repositories, ID, 'multi-pack-index', 'verify')
  })

  it('succeed in an empty repository', async () => {
    const repositories = await testRepositories(1)
    for (const name of SIMPLE_STEPS) await step(repositories, name, 1)
    expect(await readState(repositories, 1)).toMatchObject({ objects: 0, looseRefs: 0 })
  })

  it('keep objects that no ref reaches', async () => {
    const repositories = await testRepositories(1)
    const blob = await storeBlob(repositories, 1, Buffer.from('alone'))
    for (const name of SIMPLE_STEPS) await step(repositories, name, 1)
    expect(git(repositories, 1, 'cat-file', 'blob', blob)).toBe('alone')
  })

  it('set objects that no ref reaches apart, and leave them there', async () => {
    const repositories = await testRepositories()
    await createFilledRepository(repositories, ID)
    const blob = await storeBlob(repositories, ID, Buffer.from('alone'))
    await step(repositories, 'full')
    const apart = async () =>
      (await readState(repositories, ID))?.packs.map(({ isCruft, objects }) => [isCruft, objects])
    expect(await apart()).toEqual(
      expect.arrayContaining([
        [true, 1],
        [false, 3],
      ]),
    )
    await addCommits(repositories, 5)
    for (const name of ['geometric', 'bitmap', 'geometric'] as const) await step(repositories, name)
    expect(await apart()).toEqual(expect.arrayContaining([[true, 1]]))
    await addCommits(repositories, 10)
    await step(repositories, 'full')
    expect(await apart()).toEqual(
      expect.arrayContaining([
        [true, 1],
        [false, 48],
      ]),
    )
    expect(git(repositories, ID, 'cat-file', 'blob', blob)).toBe('alone')
    git(repositories, ID, 'fsck', '--full', '--strict')
  })

  it('keep a large pack shared with a fork, and join the others', async () => {
    const repositories = await testRepositories()
    await createFilledRepository(repositories, ID)
    const blob = await storeBlob(repositories, ID, randomBytes(2 * 1024 ** 2))
    git(repositories, ID, 'tag', 'large', blob)
    git(repositories, ID, 'repack', '-dq')
    await publishDraft(repositories, await draftFork(repositories, ID), 8)
    await addCommits(repositories, 5)
    for (const name of SIMPLE_STEPS) for (const id of [ID, 8]) await step(repositories, name, id)
    expect(
      (await readState(repositories, ID))?.packs.map(({ isShared }) => isShared).sort(),
    ).toEqual([false, true])
    expect((await readState(repositories, 8))?.packs.map(({ isShared }) => isShared)).toEqual([
      true,
    ])
    const packs = join(repositoryPath(repositories, 8), 'objects/pack')
    const [pack = ''] = readdirSync(packs).filter((name) => name.endsWith('.pack'))
    expect(statSync(join(packs, pack)).nlink).toBe(2)
    for (const id of [ID, 8]) git(repositories, id, 'fsck', '--full', '--strict')
  })

  it('end when they are aborted, and leave a whole repository', async () => {
    const repositories = await testRepositories()
    await createFilledRepository(repositories, ID)
    await addCommits(repositories, 20)
    const state = await readState(repositories, ID)
    if (!state) throw new Error('there is no repository')
    const aborted = AbortSignal.abort()
    for (const name of SIMPLE_STEPS)
      await expect(runStep(repositories, ID, name, state, aborted)).rejects.toThrow()
    git(repositories, ID, 'fsck', '--full', '--strict')
    for (const name of SIMPLE_STEPS) await step(repositories, name)
    expect(await readState(repositories, ID)).toMatchObject({ looseObjects: 0, looseRefs: 0 })
  })

  it('fail with the message of Git, without the path of the repository', async () => {
    const repositories = await testRepositories(1)
    writeFileSync(join(repositoryPath(repositories, 1), 'objects/pack/pack-x.pack'), 'no pack')
    writeFileSync(join(repositoryPath(repositories, 1), 'objects/pack/pack-x.idx'), 'no index')
    const failed = step(repositories, 'bitmap', 1)
    await expect(failed).rejects.toThrow(/pack/)
    await expect(failed).rejects.not.toThrow(repositories.folder)
  })
})

it('a copy of a repository has no file that names packs of another moment', async () => {
  const repositories = await testRepositories()
  await createFilledRepository(repositories, ID)
  for (const name of SIMPLE_STEPS) await step(repositories, name)
  const names: string[] = []
  for await (const { path } of repositoryFiles(repositories, ID)) names.push(path)
  expect(names.filter((name) => /multi-pack|graph/.test(name))).toEqual([])
  expect(names.some((name) => name.endsWith('.pack'))).toBe(true)
  expect(gitAt(repositoryPath(repositories, ID), 'rev-parse', 'main')).toHaveLength(40)
})

describe('damaged files', () => {
  it.each(['multi-pack-index', 'bitmap', 'graph'])(
    'are found, removed and written again: %s',
    async (kind) => {
      const repositories = await testRepositories()
      await createFilledRepository(repositories, ID)
      await addCommits(repositories, 5)
      for (const name of SIMPLE_STEPS) await step(repositories, name)
      expect(await damagedFiles(repositories, ID)).toEqual([])
      const root = repositoryPath(repositories, ID)
      const files = readdirSync(join(root, 'objects'), { recursive: true }).map(String)
      const name = files.find((file) => file.endsWith(kind)) ?? ''
      const path = join(root, 'objects', name)
      const content = readFileSync(path)
      content[content.length >> 1] = (content[content.length >> 1] ?? 0) ^ 0xff
      chmodSync(path, 0o600)
      writeFileSync(path, content)
      const damaged = await damagedFiles(repositories, ID)
      expect(damaged).toEqual([join('objects', name)])
      for (const file of damaged) await removeDamaged(repositories, ID, file)
      expect(await damagedFiles(repositories, ID)).toEqual([])
      git(repositories, ID, 'fsck', '--full', '--strict')
      for (const name of SIMPLE_STEPS) await step(repositories, name)
      expect(await readState(repositories, ID)).toMatchObject({
        hasMultiPackIndex: true,
        hasBitmap: true,
        objectsSinceGraph: 0,
      })
      git(repositories, ID, 'fsck', '--full', '--strict')
    },
  )
})
