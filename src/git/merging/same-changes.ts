import { createHash, type Hash } from 'node:crypto'
import { type ChangedFile, type CommitRange, diffPaths } from '../diffs/diff.ts'
import { AT, diffPairs, type FilePair } from '../diffs/pair-diffs.ts'
import { readCommits } from '../history/history.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { mergeCommits } from './merge.ts'

/**
 * Files compared. Of what changes more, nobody has looked at every line; to say that it differs is
 * on the safe side.
 */
const MAX_FILES = 10_000

/**
 * Whether two ranges change the same: the same lines of the same files, and as Git merges the one
 * onto what the other begins behind, so that no line has gone to where other lines look alike. So
 * it is after a rebase, or a merge of what others have done meanwhile, as long as nobody had to
 * resolve a conflict.
 *
 * @param before, after of which the latter has taken the place of the former.
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
  // Where one side is the same and the other one is not, the change is another one.
  if (!differing.every(([file, { oldId, newId }]) => file.oldId !== oldId && file.newId !== newId))
    return false
  return (
    (await haveSameLines(repositories, id, differing)) &&
    (await mergesInto(repositories, id, before.head, after))
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
 * Whether the lines that are added and removed are the same in each pair, wherever they are. Binary
 * files are never the same.
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

/**
 * Digests of the lines that are added and removed, by the index of the pair; binary files have
 * none.
 */
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
    // Where a hunk is may differ, and how many there are may not.
    hash.update(line[0] === AT ? '@' : line).update('\n')
    return true
  })
  return new Map([...hashes].map(([pair, hash]) => [pair, hash.digest('hex')]))
}

async function mergesInto(
  repositories: Repositories,
  id: number,
  changed: string,
  { base, head }: CommitRange,
): Promise<boolean> {
  const merge = await mergeCommits(repositories, id, base, changed)
  const treeId = (await readCommits(repositories, id, [head])).get(head)?.treeId
  return merge.outcome === 'clean' && merge.treeId === treeId
}
