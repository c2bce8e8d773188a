import { describe, expect, it } from 'vitest'
import { findFarChanges } from '../../../../src/platform/git/history/last-changes.by-git.ts'
import { findNearChanges } from '../../../../src/platform/git/history/last-changes.in-process.ts'
import { lastChangeOf, lastChanges } from '../../../../src/platform/git/history/last-changes.ts'
import {
  type LastChanges,
  PendingEntries,
} from '../../../../src/platform/git/history/pending-entries.ts'
import { listTree, type TreeEntry } from '../../../../src/platform/git/objects/trees.ts'
import type { Repositories } from '../../../../src/platform/git/repositories/repositories.ts'
import {
  HISTORY_START,
  type ScriptedCommit,
  type ScriptedFile,
} from '../../../support/histories.ts'
import { isLongTier } from '../../../support/tier.ts'
import { type Random, seededRandom } from '../../rpc/rest/random.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

const COMMITS = 50

/** Histories that the long tier has more. */
const MORE_HISTORIES: [seed: number, isMisdated: boolean][] = [
  [2, false],
  [4, true],
]
const FOLDERS = ['', 'd', 'd/e', 'e']

const madeRef = (n: number) => `refs/heads/made-${n}`

const unknown = () => undefined

const limits = { reads: 40, bytes: 1024 ** 2 }

/**
 * Commits on few paths with few contents, so that many commits restore what others changed, and
 * sides of a merge have equal entries.
 *
 * @param isMisdated whether some commits are earlier than their parents.
 */
function randomHistory(random: Random, isMisdated: boolean): ScriptedCommit[] {
  const file = (): ScriptedFile =>
    random.pick<ScriptedFile>([
      '1',
      '2',
      '3',
      { mode: '100755', content: '1' },
      { mode: '120000', content: 'a' },
      { mode: '160000', id: `${random.below(2) + 1}`.repeat(40) },
      null,
    ])
  return Array.from({ length: COMMITS }, (_, n) => {
    const parents = [1, ...(random.below(3) === 0 ? [random.below(12), random.below(12)] : [])]
      .map((distance) => n - distance)
      .filter((parent) => parent >= 0)
    const paths = ['a', 'ü', 'd/x', 'd/e/y', 'd/e/z', 'e/\nf', 'e'] as const
    const changed = Array.from({ length: random.below(4) }, () => random.pick(paths))
    const time = HISTORY_START + n
    return {
      on: madeRef(n),
      message: `${n}`,
      parents: [...new Set(parents)].filter((parent) => parent !== n).map(madeRef),
      files: Object.fromEntries(changed.map((path) => [path, file()])),
      time: isMisdated ? time - (Math.floor(n / 5) % 2) * 1000 : time,
    }
  })
}

/** Returns the entries of a folder with their full paths. */
async function entriesOf(
  repositories: Repositories,
  commitId: string,
  folder: string,
): Promise<readonly TreeEntry[]> {
  const isThere =
    folder === '' ||
    git(repositories, 1, 'ls-tree', '-d', commitId, '--', folder).includes(' tree ')
  if (!isThere) return []
  const treeId = git(repositories, 1, 'rev-parse', `${commitId}:${folder}`)
  const { entries } = await listTree(repositories, 1, treeId, { offset: 0, limit: 100 })
  return entries.map((entry) => ({
    ...entry,
    path: folder === '' ? entry.path : `${folder}/${entry.path}`,
  }))
}

/** What users expect: the commit that Git shows for each path. */
function changesByGit(
  repositories: Repositories,
  commitId: string,
  entries: readonly TreeEntry[],
): LastChanges {
  const last = (path: string) =>
    git(repositories, 1, '--literal-pathspecs', 'log', '-1', '--format=%H', commitId, '--', path)
  return new Map(entries.map(({ path }) => [path, last(path)]))
}

describe('the last changes of a folder of a random history', () => {
  it.each<[seed: number, isMisdated: boolean]>([
    [1, false],
    [3, true],
    ...(isLongTier ? MORE_HISTORIES : []),
  ])('are those of git log, seed %i, with wrong dates: %s', async (seed, isMisdated) => {
    const repositories = await testRepositories(1)
    writeHistory(repositories, 1, randomHistory(seededRandom(seed), isMisdated))
    // A later commit can use the answers for the earlier ones.
    for (const n of [15, 30, 31, 40, 45, COMMITS - 1]) {
      const commitId = git(repositories, 1, 'rev-parse', madeRef(n))
      for (const folder of FOLDERS) {
        const entries = await entriesOf(repositories, commitId, folder)
        const expected = changesByGit(repositories, commitId, entries)
        const paths = entries.map(({ path }) => path)
        const [far, near] = [0, 0].map(() => new PendingEntries(commitId, paths)) as [
          PendingEntries,
          PendingEntries,
        ]
        await findFarChanges(repositories, 1, { below: folder, pending: far, knownAt: unknown })
        await findNearChanges(repositories, 1, { folder, pending: near, knownAt: unknown, limits })
        const cached = await lastChanges(repositories, 1, commitId, folder, entries)
        for (const found of [far.found, cached]) expect(sorted(found)).toEqual(sorted(expected))
        for (const [path, changeId] of near.found) expect(changeId).toBe(expected.get(path))
      }
    }
  })

  it('are found by Git when many commits on the way are earlier than their parents', async () => {
    const repositories = await testRepositories(1)
    const late = (n: number) => `refs/heads/late-${n}`
    const early = (n: number) => `refs/heads/early-${n}`
    const LEVELS = 8
    const levels = Array.from({ length: LEVELS }, (_, n): ScriptedCommit[] => [
      { on: early(n), message: 'early', parents: [late(n)], time: HISTORY_START + n },
      {
        on: late(n + 1),
        message: 'late',
        parents: [early(n), late(n)],
        time: HISTORY_START + 1_000 + n,
      },
    ])
    writeHistory(repositories, 1, [
      { on: late(0), message: 'first', files: { a: '1' } },
      ...levels.flat(),
    ])
    const commitId = git(repositories, 1, 'rev-parse', late(LEVELS))
    const pending = new PendingEntries(commitId, ['a'])
    await findFarChanges(repositories, 1, { below: '', pending, knownAt: unknown })
    expect(pending.found.get('a')).toBe(git(repositories, 1, 'rev-parse', late(0)))
  })

  it('are the same for one entry alone', async () => {
    const repositories = await testRepositories(1)
    writeHistory(repositories, 1, randomHistory(seededRandom(5), false))
    for (const n of [20, COMMITS - 1]) {
      const commitId = git(repositories, 1, 'rev-parse', madeRef(n))
      const [entry] = await entriesOf(repositories, commitId, 'd/e')
      if (!entry) throw new Error('the folder has entries')
      const expected = changesByGit(repositories, commitId, [entry])
      expect(await lastChangeOf(repositories, 1, commitId, entry)).toEqual(expected)
    }
  })
})

function sorted(changes: LastChanges): [string, string][] {
  return [...changes].sort(([one], [other]) => (one < other ? -1 : 1))
}
