import type { TreeEntry } from '../objects/trees.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { type RepositoryResults, resultsOf } from '../repositories/repository-results.ts'
import { findFarChanges } from './last-changes.by-git.ts'
import { findNearChanges, type NearLimits } from './last-changes.in-process.ts'
import { type LastChanges, PendingEntries } from './pending-entries.ts'

export type { LastChanges } from './pending-entries.ts'

/** Memory of all cached last changes, and of one without its path. */
const MAX_LAST_CHANGES_BYTES = 16 * 1024 ** 2
const CHANGE_BYTES = 150

/** Memory of the paths of folders that were searched. */
const MAX_SEARCHED_BYTES = 1024 ** 2

/** Longest paths of a directory, together, whose last changes are cached. */
const MAX_CACHED_CHARACTERS = 256 * 1024

/**
 * Limits of a search without Git, which needs two processes. They cost as much as a hundred reads.
 * Such a search is likely to end only at a commit whose answers are known.
 */
const AFTER_SEARCH: NearLimits = { reads: 100, bytes: 2 * 1024 ** 2 }
const FIRST_SEARCH: NearLimits = { reads: 30, bytes: 256 * 1024 }

/**
 * Returns the last commits that changed the entries of a directory, as `git log -1 -- path` does
 * for each entry. Entries whose commit is too old are left out.
 *
 * The search goes back from the commit until all entries are found, or until a commit whose answers
 * are known: a push needs only the new commits. Results are cached, incomplete ones too, since a
 * second search would take as long. Those of a directory with very long paths are not, since clients
 * can push names of any length.
 *
 * @param directory result of `treePath`.
 * @param entries entries of the directory in the commit, with their paths from the root.
 * @throws GitError BUSY
 */
export function lastChanges(
  repositories: Repositories,
  id: number,
  commitId: string,
  directory: string,
  entries: readonly TreeEntry[],
): Promise<LastChanges> {
  const cache = cacheIn(repositories)
  const paths = entries.map(({ path }) => path)
  const find = () =>
    search(repositories, id, {
      commitId,
      folder: directory,
      below: directory,
      paths,
      knownAt: (earlierId) => cache.peek(id, keyOf(earlierId, directory)),
    })
  const characters = paths.reduce((sum, path) => sum + path.length, 0)
  return characters > MAX_CACHED_CHARACTERS
    ? find()
    : cache.get(id, keyOf(commitId, directory), find)
}

/**
 * Returns the last commit that changed a file, symbolic link or submodule, in the same way.
 *
 * @throws GitError BUSY
 */
export async function lastChangeOf(
  repositories: Repositories,
  id: number,
  commitId: string,
  { path }: TreeEntry,
): Promise<LastChanges> {
  const cache = cacheIn(repositories)
  const folder = path.slice(0, Math.max(path.lastIndexOf('/'), 0))
  const knownAt = (knownId: string) => {
    // A reader usually comes from the folder.
    const ofFolder = cache.peek(id, keyOf(knownId, folder))
    return ofFolder?.has(path) ? ofFolder : cache.peek(id, keyOf(knownId, path))
  }
  const known = knownAt(commitId)
  if (known) return known
  return cache.get(id, keyOf(commitId, path), () =>
    search(repositories, id, { commitId, folder, below: path, paths: [path], knownAt }),
  )
}

interface Search {
  readonly commitId: string
  /** The folder of the entries. */
  readonly folder: string
  /** The folder, or its only entry that is looked for. */
  readonly below: string
  readonly paths: readonly string[]
  /** Returns the answers of an earlier search from a commit. */
  readonly knownAt: (commitId: string) => LastChanges | undefined
}

async function search(
  repositories: Repositories,
  id: number,
  { commitId, folder, below, paths, knownAt }: Search,
): Promise<LastChanges> {
  const pending = new PendingEntries(commitId, paths)
  const searched = resultsOf<boolean>(repositories, 'searched folders', MAX_SEARCHED_BYTES)
  const limits = searched.peek(id, folder) ? AFTER_SEARCH : FIRST_SEARCH
  await findNearChanges(repositories, id, { folder, pending, knownAt, limits })
  await findFarChanges(repositories, id, { below, pending, knownAt })
  searched.set(id, folder, true)
  return pending.found
}

function cacheIn(repositories: Repositories): RepositoryResults<LastChanges> {
  return resultsOf<LastChanges>(repositories, 'last changes', MAX_LAST_CHANGES_BYTES, memoryOf)
}

function memoryOf(changes: LastChanges): number {
  return [...changes.keys()].reduce((sum, path) => sum + path.length * 2 + CHANGE_BYTES, 0)
}

function keyOf(commitId: string, path: string): string {
  return `${commitId} ${path}`
}
