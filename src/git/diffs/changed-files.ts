import { objectCacheOf } from '../objects/object-cache.ts'
import { ObjectPresence } from '../objects/object-presence.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { measureTrees } from './change-sizes.ts'
import { memoryOfDiff } from './commit-diffs.ts'
import { type CommitRange, diffTrees, type FileWindow, type TreeDiff } from './diff.ts'

/**
 * Number of changed paths up to which the list of a range is cached. A longer list would displace
 * those of many other ranges.
 */
const MAX_CACHED_PATHS = 20_000

/** Memory of all cached lists. The longest takes about a third. */
const MAX_LISTS_BYTES = 32 * 1024 ** 2

const listsIn = (repositories: Repositories) =>
  objectCacheOf<TreeDiff>(repositories, 'changed files', MAX_LISTS_BYTES, memoryOfDiff)

/** A part of the files that a range of commits changes, without numbers of lines. */
export type FileList = Pick<TreeDiff, 'files' | 'totalFiles'>

/**
 * Returns a part of the files that a range of commits changes. Moved and copied files are found as
 * by `diffTrees`.
 *
 * The whole list never changes and is cached as long as the head is stored, so that the next page
 * takes no Git process.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function listChangedFiles(
  repositories: Repositories,
  id: number,
  { base, head }: CommitRange,
  window: FileWindow,
): Promise<FileList> {
  const presence = new ObjectPresence(repositories, id)
  const cache = listsIn(repositories)
  const variant = ` ${base}`
  const known = cache.get(id, head, presence, variant)
  if (known) return partOf(known, window)
  const before = presence.evidenceOf(head)
  const { paths } = await measureTrees(repositories, id, base, head)
  if (paths > MAX_CACHED_PATHS)
    return diffTrees(repositories, id, base, head, { lines: false, window })
  // No list has more files than changed paths.
  const whole = { offset: 0, limit: MAX_CACHED_PATHS }
  const list = await diffTrees(repositories, id, base, head, { lines: false, window: whole })
  cache.set(id, head, list, { before, presence, variant })
  return partOf(list, window)
}

function partOf({ files, totalFiles }: FileList, { from, offset, limit }: FileWindow): FileList {
  const start = from === undefined ? 0 : files.findIndex(({ path }) => path === from)
  if (start < 0) return { files: [], totalFiles }
  return { files: files.slice(start + offset, start + offset + limit), totalFiles }
}
