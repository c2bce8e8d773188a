import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { textOfPath } from '../core/path-text.ts'
import { readObjects } from '../objects/objects.ts'
import { parseCommit, type RawCommit } from '../objects/raw-objects.ts'
import type { TreeEntry } from '../objects/trees.ts'
import { type ReadOptions, readGit, splitAtZeros, textOf } from '../repositories/reading.ts'
import { cacheOf, type Repositories } from '../repositories/repositories.ts'
import { soleMergeBase } from './merge-bases.ts'

/** Cached numbers of commits, and merge bases: a key and a number or an id each. */
const MAX_COUNTS = 10_000
const MAX_MERGE_BASES = 10_000

/** Cached pages of histories: a hundred ids or fewer, mostly. */
const MAX_PAGES = 500

/** Cached last changes of directories: up to a thousand paths each. */
const MAX_LAST_CHANGES = 200

/** Longest paths of a directory, together, whose last changes are cached. */
const MAX_CACHED_CHARACTERS = 256 * 1024

/** A commit and the commits that are reachable from it, with filters. */
export interface History {
  /** Id of the commit. */
  readonly from: string
  /** Id of a commit. Excludes this commit and the commits that are reachable from it. */
  readonly without?: string | undefined
  /** The repository of that commit, when it is in another one. */
  readonly withoutIn?: number
  /** Only commits that change this path, a result of `treePath`. The root: all commits. */
  readonly path?: string
  /** Unix seconds. Only commits since, or until, this time. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** Longest commit that is read completely: a long message and two signatures. */
const MAX_COMMIT_BYTES = 256 * 1024

/** Largest offset that Git accepts. */
const MAX_OFFSET = 2 ** 31 - 1

/** Last changes are an addition to an answer, which must not be late. */
const LAST_CHANGES_TIMEOUT_MS = 2_000

/** Longest path or record. The length of a record grows with the number of parents. */
const MAX_RECORD_BYTES = 64 * 1024

/**
 * Returns the ids of a page of a history, newest first.
 *
 * The cost is a walk over the preceding commits. With `path`, the walk continues until enough
 * commits change the path. A page never changes and is cached.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function listHistory(
  repositories: Repositories,
  id: number,
  history: History,
  offset: number,
  limit: number,
): Promise<readonly string[]> {
  if (offset > MAX_OFFSET) return []
  const args = ['rev-list', `--skip=${offset}`, `--max-count=${limit}`, ...argumentsOf(history)]
  const key = `${id} ${args.join(' ')}`
  return cacheOf<readonly string[]>(repositories, 'pages', MAX_PAGES).get(key, async () => {
    const text = await textOf(readGit(repositories, id, args, sourcesOf(history)))
    return text.split('\n').slice(0, -1)
  })
}

/**
 * Returns the number of commits of a history. The result never changes and is cached.
 *
 * The cost is a walk over all commits: for 50,000 commits, 0.07 s with a commit-graph and 0.4 s
 * without; with `path`, 0.4 s and 2 s.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export function countHistory(
  repositories: Repositories,
  id: number,
  history: History,
): Promise<number> {
  const args = ['rev-list', '--count', ...argumentsOf(history)]
  return cacheOf<number>(repositories, 'commit counts', MAX_COUNTS).get(
    `${id} ${args.join(' ')}`,
    async () => Number(await textOf(readGit(repositories, id, args, sourcesOf(history)))),
  )
}

/**
 * Returns the best common ancestor of two commits, the first of git-merge-base(1) when there are
 * several, or undefined when there is none. The result never changes and is cached.
 *
 * @param one, other ids of commits in the repository.
 * @throws GitError NOT_FOUND, BUSY, TIMEOUT
 */
export function findMergeBase(
  repositories: Repositories,
  id: number,
  one: string,
  other: string,
): Promise<string | undefined> {
  if (!isObjectId(one) || !isObjectId(other)) throw new Error(`no ids of commits: ${one}, ${other}`)
  return cacheOf<string | undefined>(repositories, 'merge bases', MAX_MERGE_BASES).get(
    `${id} ${one} ${other}`,
    async () => {
      const sole = await soleMergeBase(repositories, id, one, other)
      if (sole !== undefined) return sole ?? undefined
      // Prints both commits and, with the prefix `^`, their merge bases (gitrevisions(7)). Unlike
      // git-merge-base(1), succeeds when there is none.
      const text = await textOf(readGit(repositories, id, ['rev-parse', `${one}...${other}`]))
      return /^\^([0-9a-f]{40})$/m.exec(text)?.[1]
    },
  )
}

function sourcesOf({ withoutIn }: History): { alsoFrom?: number } {
  return withoutIn === undefined ? {} : { alsoFrom: withoutIn }
}

function argumentsOf({ from, without, path, since, until }: History): string[] {
  return [
    ...(since === undefined ? [] : [`--max-age=${since}`]),
    ...(until === undefined ? [] : [`--min-age=${until}`]),
    from,
    ...(without === undefined ? [] : [`^${without}`]),
    '--',
    ...(path ? [path] : []),
  ]
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
  const cache = cacheOf<LastChanges>(repositories, 'last changes', MAX_LAST_CHANGES)
  return cache.get(`${id} ${commitId} ${directory}`, find)
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
