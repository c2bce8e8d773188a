import { closeSync, existsSync, fstatSync, openSync, readdirSync, statSync } from 'node:fs'
import { link } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  isNetworkFileSystem,
  KEPT_MS,
  keepingReplaced,
  repositoriesWithReplaced,
  sweepReplaced,
} from '../../../../src/platform/git/maintenance/replaced-files.ts'
import { readState } from '../../../../src/platform/git/maintenance/state.ts'
import { runStep, type SimpleStep, STEPS } from '../../../../src/platform/git/maintenance/steps.ts'
import { repositoryPath } from '../../../../src/platform/git/repositories/repositories.ts'
import { createFilledRepository, git, storeCommit, testRepositories } from '../fixture.ts'

const ID = 7
const NOW_MS = 1_770_000_000_000
const SIMPLE_STEPS = STEPS.filter((name) => name !== 'prune')

/** Repositories of several servers on a network file system, or on a disk. */
async function openRepositories(isOnNetwork: boolean) {
  const own = await testRepositories()
  await createFilledRepository(own, ID)
  const repositories = { ...own, isShared: true, isOnNetwork }
  const objects = join(repositoryPath(own, ID), 'objects')
  const step = async (name: SimpleStep, nowMs = NOW_MS) => {
    const state = await readState(repositories, ID)
    if (!state) throw new Error('the repository has a state')
    const { signal } = new AbortController()
    await keepingReplaced(repositories, ID, nowMs, () =>
      runStep(repositories, ID, name, state, signal),
    )
  }
  const addCommit = async (name: string) => {
    const commit = await storeCommit(own, ID, name)
    git(own, ID, 'update-ref', `refs/heads/${name}`, commit)
  }
  /** Opens all files that steps may replace. */
  const openAll = () =>
    ['pack', 'info/commit-graphs'].flatMap((folder) =>
      readdirSync(join(objects, folder))
        .filter((name) => !name.endsWith('-chain'))
        .map((name) => openSync(join(objects, folder, name), 'r')),
    )
  return { repositories, objects, step, addCommit, openAll }
}

/** Returns whether each open file has no name any more, which another machine could not read. */
function areRemoved(files: readonly number[]): boolean[] {
  const removed = files.map((file) => fstatSync(file).nlink === 0)
  for (const file of files) closeSync(file)
  return removed
}

describe('files that steps replace', () => {
  it('stay for an hour on a network file system, also those of a second step', async () => {
    const { repositories, step, addCommit, openAll } = await openRepositories(true)
    for (const name of SIMPLE_STEPS) await step(name)
    expect(await repositoriesWithReplaced(repositories)).toEqual([ID])
    await sweepReplaced(repositories, ID, NOW_MS + KEPT_MS + SIMPLE_STEPS.length)
    expect(await repositoriesWithReplaced(repositories)).toEqual([])
    await addCommit('one')
    const open = openAll()
    for (const name of SIMPLE_STEPS) await step(name)
    await addCommit('two')
    open.push(...openAll())
    for (const name of SIMPLE_STEPS) await step(name, NOW_MS + 1)
    await sweepReplaced(repositories, ID, NOW_MS + KEPT_MS - 1)
    expect(areRemoved(open)).toEqual(open.map(() => false))
    const later = openAll()
    await sweepReplaced(repositories, ID, NOW_MS + KEPT_MS + 3 * SIMPLE_STEPS.length)
    expect(areRemoved(later)).toEqual(later.map(() => false))
    expect(await repositoriesWithReplaced(repositories)).toEqual([])
    git(repositories, ID, 'fsck', '--full', '--strict')
  })

  it('are removed at once on a disk', async () => {
    const { repositories, step, addCommit, openAll } = await openRepositories(false)
    for (const name of SIMPLE_STEPS) await step(name)
    await addCommit('one')
    const open = openAll()
    for (const name of SIMPLE_STEPS) await step(name)
    expect(areRemoved(open)).toContain(true)
    expect(await repositoriesWithReplaced(repositories)).toEqual([])
  })

  it('leave packs that are in use with one name, after a kill too', async () => {
    const { repositories, objects, step } = await openRepositories(true)
    for (const name of SIMPLE_STEPS) await step(name)
    const packs = () =>
      readdirSync(join(objects, 'pack')).map((name) => join(objects, 'pack', name))
    expect(packs().map((path) => statSync(path).nlink)).toEqual(packs().map(() => 1))
    const killed = keepingReplaced(repositories, ID, NOW_MS, async () => {
      const kept = join(repositories.folder, 'replaced', String(ID), String(NOW_MS))
      expect(existsSync(kept)).toBe(true)
      throw new Error('stopped')
    })
    await expect(killed).rejects.toThrow('stopped')
    expect(packs().map((path) => statSync(path).nlink)).toEqual(packs().map(() => 1))
    // A killed server leaves the second names.
    await new Promise<void>((begun) => {
      void keepingReplaced(repositories, ID, NOW_MS, () => {
        begun()
        return new Promise(() => {})
      })
    })
    expect(packs().map((path) => statSync(path).nlink)).toEqual(packs().map(() => 2))
    await sweepReplaced(repositories, ID, NOW_MS)
    expect(packs().map((path) => statSync(path).nlink)).toEqual(packs().map(() => 1))
  })

  it('of which a fork has a name need no other one', async () => {
    const { objects, step, addCommit } = await openRepositories(true)
    await step('geometric')
    await addCommit('one')
    const names = readdirSync(join(objects, 'pack')).filter((name) => name.endsWith('.pack'))
    for (const name of names) await link(join(objects, 'pack', name), join(objects, `../${name}`))
    await step('full')
    const forked = names.map((name) => statSync(join(objects, `../${name}`)).nlink)
    expect(forked).toEqual(names.map(() => 1))
  })
})

describe('the number of a file system', () => {
  it('tells whether other machines may have the same files', () => {
    expect([0x6969, 0xff534d42, -0xacb2be, 0x00c36400].map(isNetworkFileSystem)).toEqual([
      true,
      true,
      true,
      true,
    ])
    // ext4, XFS, tmpfs.
    expect([0xef53, 0x58465342, 0x01021994].map(isNetworkFileSystem)).not.toContain(true)
  })
})
