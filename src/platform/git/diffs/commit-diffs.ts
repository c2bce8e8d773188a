import { objectCacheOf } from '../objects/object-cache.ts'
import { ObjectPresence } from '../objects/object-presence.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { type CommitStep, type DiffOptions, readCommitDiffs } from './diff.ts'
import type { TreeDiff } from './diff-reader.ts'

/** Memory of all cached changes of commits, and of one changed file without its paths. */
const MAX_CACHE_BYTES = 16 * 1024 ** 2
const FILE_BYTES = 400

const diffsIn = (repositories: Repositories) =>
  objectCacheOf<TreeDiff>(repositories, 'commit diffs', MAX_CACHE_BYTES, memoryOf)

function memoryOf({ files }: TreeDiff): number {
  const paths = files.reduce((sum, { path, oldPath = '' }) => sum + path.length + oldPath.length, 0)
  return files.length * FILE_BYTES + paths * 2
}

/**
 * Returns the changes of commits by id. A moved file is a deleted and an added one. The changes of
 * a commit never change and are cached.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function diffCommits(
  repositories: Repositories,
  id: number,
  steps: readonly CommitStep[],
  { lines, window }: DiffOptions,
): Promise<ReadonlyMap<string, TreeDiff>> {
  const presence = new ObjectPresence(repositories, id)
  const cache = diffsIn(repositories)
  const variantOf = ({ parentId }: CommitStep) => ` ${parentId} ${lines} ${JSON.stringify(window)}`
  const diffs = new Map<string, TreeDiff>()
  const missing = steps.filter((step) => {
    const known = cache.get(id, step.id, presence, variantOf(step))
    if (known) diffs.set(step.id, known)
    return known === undefined
  })
  if (missing.length === 0) return diffs
  const evidence = missing.map((step) => presence.evidenceOf(step.id))
  const read = await readCommitDiffs(repositories, id, missing, { lines, window })
  for (const [i, step] of missing.entries()) {
    const [diff, before] = [read.get(step.id), evidence[i]]
    if (!diff || !before) continue
    diffs.set(step.id, diff)
    cache.set(id, step.id, diff, { before, presence, variant: variantOf(step) })
  }
  return diffs
}
