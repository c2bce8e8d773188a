import { createHash, type Hash } from 'node:crypto'
import { type CommitRange, diffPaths } from '../diffs/diff.ts'
import type { ChangedFile, FilePair } from '../diffs/diff-reader.ts'
import { AT, diffPairs } from '../diffs/pair-diffs.ts'
import { readCommits } from '../history/history.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { mergeCommits } from './merge.ts'
import { mergeChanges } from './merge-from.ts'

/** Number of files that are compared. Larger changes count as different, which is safe. */
const MAX_FILES = 10_000

/**
 * Returns whether two ranges make the same changes: they change the same lines of the same files,
 * and a merge of `before` into the base of `after` gives the head of `after`, by the histories or with
 * the base of `before` as the merge base. The merge excludes changes of similar lines at another position. The ranges before and after a rebase, or a merge of
 * the base branch, make the same changes when there were no conflicts.
 *
 * @param before, after the old and the new range of a branch.
 * @throws GitError BUSY, TIMEOUT
 */
export async function changeTheSame(
  repositories: Repositories,
  id: number,
  before: CommitRange,
  after: CommitRange,
): Promise<boolean> {
  if (before.base === after.base && before.head === after.head) return true
  const [one, other] = await Promise.all([
    changesOf(repositories, id, before),
    changesOf(repositories, id, after),
  ])
  if (one.totalFiles !== other.totalFiles || one.totalFiles > MAX_FILES) return false
  const pairs = one.files.map((file, index) => [file, other.files[index] ?? file] as const)
  if (!pairs.every(([file, counterpart]) => isSameKind(file, counterpart))) return false
  const differing = pairs.filter(
    ([file, { oldId, newId }]) => file.oldId !== oldId || file.newId !== newId,
  )
  if (differing.length === 0) return true
  // When only one of the two versions is the same, the changes differ.
  if (!differing.every(([file, { oldId, newId }]) => file.oldId !== oldId && file.newId !== newId))
    return false
  return (
    (await haveSameLines(repositories, id, differing)) &&
    (await mergesInto(repositories, id, before, after))
  )
}

function changesOf(repositories: Repositories, id: number, { base, head }: CommitRange) {
  return diffPaths(repositories, id, base, head, { offset: 0, limit: MAX_FILES })
}

function isSameKind(one: ChangedFile, other: ChangedFile): boolean {
  const { kind, path, oldMode, newMode } = other
  return (
    one.kind === kind && one.path === path && one.oldMode === oldMode && one.newMode === newMode
  )
}

/**
 * Returns whether both files of each pair add and delete the same lines, at any position. Binary
 * files always differ.
 */
async function haveSameLines(
  repositories: Repositories,
  id: number,
  pairs: readonly (readonly [FilePair, FilePair])[],
): Promise<boolean> {
  const digestsOf = (files: readonly FilePair[]) => digestLines(repositories, id, files)
  const [one, other] = [
    await digestsOf(pairs.map(([file]) => file)),
    await digestsOf(pairs.map(([, file]) => file)),
  ]
  return pairs.every((_, index) => one.has(index) && one.get(index) === other.get(index))
}

/** Returns digests of the added and deleted lines by index. Binary files have none. */
async function digestLines(
  repositories: Repositories,
  id: number,
  files: readonly FilePair[],
): Promise<ReadonlyMap<number, string>> {
  const hashes = new Map<number, Hash>()
  const options = { contextLines: 0, maxLineBytes: Number.POSITIVE_INFINITY }
  await diffPairs(repositories, id, files, options, (pair, line) => {
    const hash = hashes.get(pair) ?? createHash('sha256')
    hashes.set(pair, hash)
    // The positions of hunks may differ, but not their number.
    hash.update(line[0] === AT ? '@' : line).update('\n')
    return true
  })
  return new Map([...hashes].map(([pair, hash]) => [pair, hash.digest('hex')]))
}

async function mergesInto(
  repositories: Repositories,
  id: number,
  before: CommitRange,
  { base, head }: CommitRange,
): Promise<boolean> {
  const treeId = (await readCommits(repositories, id, [head])).get(head)?.treeId
  const merge = await mergeCommits(repositories, id, base, before.head)
  if (merge.outcome === 'clean' && merge.treeId === treeId) return true
  // A squash of what was below has these changes without their commits, so the histories have an older
  // merge base.
  const changes = { base: before.base, ours: base, theirs: before.head }
  const rebased = await mergeChanges(repositories, id, changes)
  return rebased.outcome === 'clean' && rebased.treeId === treeId
}

/** Returns whether a merge of a commit into another would change nothing. */
export async function hasChangesOf(
  repositories: Repositories,
  id: number,
  tip: string,
  commit: string,
): Promise<boolean> {
  const merge = await mergeCommits(repositories, id, tip, commit)
  const treeId = (await readCommits(repositories, id, [tip])).get(tip)?.treeId
  return merge.outcome === 'clean' && merge.treeId === treeId
}
