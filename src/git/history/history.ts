import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { textOfPath } from '../core/path-text.ts'
import { readObjects } from '../objects/objects.ts'
import { parseCommit, type RawCommit } from '../objects/raw-objects.ts'
import type { TreeEntry } from '../objects/trees.ts'
import { type ReadOptions, readGit, splitAtZeros, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'
import { soleMergeBase } from './merge-bases.ts'

/** Memory of all cached merge bases. */
const MAX_MERGE_BASES_BYTES = 4 * 1024 ** 2

/** Memory of all cached last changes, and of one without its path. */
const MAX_LAST_CHANGES_BYTES = 16 * 1024 ** 2
const CHANGE_BYTES = 150

/** Longest paths of a directory, together, whose last changes are cached. */
const MAX_CACHED_CHARACTERS = 256 * 1024

/** Longest commit that is read completely: a long message and two signatures. */
const MAX_COMMIT_BYTES = 256 * 1024

/** Last changes are an addition to an answer, which must not be late. */
const LAST_CHANGES_TIMEOUT_MS = 2_000

/** Longest path or record. The length of a record grows with the number of parents. */
const MAX_RECORD_BYTES = 64 * 1024

/**
 * Returns the best common ancestor of two commits, the first of git-merge-base(1) when there are
 * several, or undefined when there is none. The result never changes and is cached.
 *
 * @param one, other ids of commits in the repository, or in the other one.
 * @param alsoFrom id of another repository that has one of the commits.
 * @throws GitError NOT_FOUND, BUSY, TIMEOUT
 */
export function findMergeBase(
  repositories: Repositories,
  id: number,
  one: string,
  other: string,
  alsoFrom?: number,
): Promise<string | undefined> {
  if (!isObjectId(one) || !isObjectId(other)) throw new Error(`no ids of commits: ${one}, ${other}`)
  return resultsOf<string | undefined>(repositories, 'merge bases', MAX_MERGE_BASES_BYTES).get(
    id,
    `${one} ${other}${alsoFrom === undefined ? '' : ` ${alsoFrom}`}`,
    async () => {
      const isOne = alsoFrom === undefined
      const sole = isOne ? await soleMergeBase(repositories, id, one, other) : undefined
      if (sole !== undefined) return sole ?? undefined
      const sources = isOne ? {} : { alsoFrom }
      // Prints both commits and, with the prefix `^`, their merge bases (gitrevisions(7)). Unlike
      // git-merge-base(1), succeeds when there is none.
      const text = await textOf(
        readGit(repositories, id, ['rev-parse', `${one}...${other}`], sources),
      )
      return /^\^([0-9a-f]{40})$/m.exec(text)?.[1]
    },
  )
}

/**
 * Returns commits with their signatures by id, without those that are not in the repository.
 *
 * @param maxBytes length to which each commit is truncated.
 * @throws GitError BUSY, TIMEOUT
 */
export async function readCommits(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  maxBytes = MAX_COMMIT_BYTES,
  options: Omit<ReadOptions, 'input'> = {},
): Promise<ReadonlyMap<string, RawCommit>> {
  const commits = new Map<string, RawCommit>()
  for await (const object of readObjects(repositories, id, [...new Set(ids)], maxBytes, options)) {
    if (object.type === 'commit') commits.set(object.id, parseCommit(object.id, object.content))
  }
  return commits
}

/** The id of the last commit that changed each entry of a directory, by path. */
export type LastChanges = ReadonlyMap<string, string>

/**
 * Returns the last commits that changed the entries of a directory. Entries whose commit is too old
 * are left out.
 *
 * A single walk from the newest commit ends when all entries are found or after
 * `LAST_CHANGES_TIMEOUT_MS`. An entry was last changed by the first commit of the walk in which it
 * differs from all parents and has its current object. (A merge may have dropped the object of
 * another branch.) Results are cached, incomplete ones too, since a second walk would take as long.
 * Those of a directory with very long paths are not, since clients can push names of any length.
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
  const find = () => findChanges(walkChanges(repositories, id, commitId, directory), entries)
  const characters = entries.reduce((sum, { path }) => sum + path.length, 0)
  if (characters > MAX_CACHED_CHARACTERS) return find()
  const cache = resultsOf<LastChanges>(
    repositories,
    'last changes',
    MAX_LAST_CHANGES_BYTES,
    memoryOf,
  )
  return cache.get(id, `${commitId} ${directory}`, find)
}

function memoryOf(changes: LastChanges): number {
  return [...changes.keys()].reduce((sum, path) => sum + path.length * 2 + CHANGE_BYTES, 0)
}

/** Returns the first change of each entry. Ends without error when the walk exceeds its limits. */
async function findChanges(
  changes: AsyncIterable<Change>,
  entries: readonly TreeEntry[],
): Promise<LastChanges> {
  const missing = new Map(entries.map((entry) => [entry.path, entry.id]))
  const found = new Map<string, string>()
  try {
    for await (const { commitId, path, objectId } of changes) {
      if (missing.get(path) !== objectId) continue
      missing.delete(path)
      found.set(path, commitId)
      if (missing.size === 0) break
    }
  } catch (error) {
    if (!(error instanceof GitError && error.kind === 'TIMEOUT')) throw error
  }
  return found
}

/** A change of a path by a commit. */
interface Change {
  readonly commitId: string
  readonly path: string
  /** Id of the new blob, tree or commit. Zeros when the path was removed. */
  readonly objectId: string
}

/** Distinguishes ids of commits from other object ids in the output. */
const MARK = '\x01'

/**
 * Yields the changes of commits against all their parents, newest first. The output has pairs of
 * records: first a colon for each parent, modes, ids (the last one is the new id) and letters, then
 * the path (git-diff-tree(1), "Raw output format").
 */
async function* walkChanges(
  repositories: Repositories,
  id: number,
  from: string,
  directory: string,
): AsyncGenerator<Change, void, undefined> {
  const format = ['-z', '--format=%x01%H', '--raw', '-t', '-c', '--no-renames', '--no-abbrev']
  const args = ['log', ...format, from, '--', ...(directory === '' ? [] : [directory])]
  let commitId = ''
  let objectId: string | undefined
  for await (const token of splitAtZeros(
    readGit(repositories, id, args, { timeoutMs: LAST_CHANGES_TIMEOUT_MS }),
    MAX_RECORD_BYTES,
  )) {
    if (objectId !== undefined) {
      yield { commitId, path: textOfPath(token), objectId }
      objectId = undefined
      continue
    }
    const text = token.toString('latin1').trim()
    if (text.startsWith(MARK)) commitId = text.slice(MARK.length)
    else if (text.startsWith(':')) objectId = text.split(' ').at(-2) ?? ''
  }
}
