import { isObjectId } from '../core/object-ids.ts'
import { inspectObjects, readObject } from '../objects/objects.ts'
import { findEntry } from '../objects/trees.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** The file of a repository that lists commits which only change the form of lines. */
const PATH = '.git-blame-ignore-revs'

/** Limits of the file. Everybody who can push can write one, and each id is an argument of Git. */
const MAX_BYTES = 128 * 1024
const MAX_COMMITS = 1000

/**
 * Returns the commits that a blame passes over, by the file `.git-blame-ignore-revs` of a tree:
 * one full id for each line, with comments after `#` (git-blame(1), "--ignore-revs-file"). Ids of
 * other objects, and of commits that the repository does not have, do not count.
 *
 * @returns undefined without a file; 'faulty' for a file with other lines, or one that is too large.
 * @throws GitError BUSY, TIMEOUT
 */
export async function readIgnoredCommits(
  repositories: Repositories,
  id: number,
  treeId: string,
): Promise<readonly string[] | 'faulty' | undefined> {
  const entry = await findEntry(repositories, id, treeId, PATH)
  if (entry?.kind !== 'file') return undefined
  const file = await readObject(repositories, id, entry.id, ({ bytes }) =>
    bytes > MAX_BYTES ? 0 : bytes,
  )
  if (!file || file.bytes > MAX_BYTES) return 'faulty'
  const lines = file.content.toString('latin1').split('\n')
  const ids = [...new Set(lines.map(idOf))].filter((listed) => listed !== '')
  if (ids.length > MAX_COMMITS || !ids.every(isObjectId)) return 'faulty'
  const found = await inspectObjects(repositories, id, ids)
  return ids.filter((listed) => found.get(listed)?.type === 'commit')
}

/** Returns what a line has beside space and a comment. */
function idOf(line: string): string {
  const comment = line.indexOf('#')
  return (comment < 0 ? line : line.slice(0, comment)).trim().toLowerCase()
}
