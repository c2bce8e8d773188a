import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { textOfPath } from '../core/path-text.ts'
import { readObjects, readRefObjects } from '../objects/objects.ts'
import { parseCommit, type RawCommit } from '../objects/raw-objects.ts'
import type { TreeEntry } from '../objects/trees.ts'
import { type ReadOptions, readGit, splitAtZeros, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { cacheOf } from '../repositories/repositories.ts'
import { soleMergeBase } from './merge-bases.ts'

/** Cached numbers of commits, and merge bases: a key and a number or an id each. */
const MAX_COUNTS = 10_000
const MAX_MERGE_BASES = 10_000

/** Cached last changes of directories: up to a thousand paths each. */
const MAX_LAST_CHANGES = 200

/** Commits that lead to a commit, which is one of them. */
export interface History {
  /** Id of the commit. */
  readonly from: string
  /** Id of a commit; without those that lead to it. */
  readonly without?: string | undefined
  /** The repository where that commit is, if it is in another one. */
  readonly withoutIn?: number
  /** Only commits that change what is at this path, as `treePath` gives it; all with the top. */
  readonly path?: string
  /** Unix seconds: only commits made since, or until, then. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** Kept of a commit: a message of some length, two signatures. */
const MAX_COMMIT_BYTES = 256 * 1024

/** Larger numbers are none to git. No history is as long. */
const MAX_OFFSET = 2 ** 31 - 1

/** For what nobody asked for by itself. */
const LAST_CHANGES_TIMEOUT_MS = 2_000

/** Kept of a path, or of a record, which is longer the more parents a merge has. */
const MAX_RECORD_BYTES = 64 * 1024

/**
 * The ids of some commits of a history, newest first.
 *
 * Costs a walk over those in front of them and no more, except with `path`, where it goes on until
 * enough commits change that.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function listHistory(
  repositories: Repositories,
  id: number,
  history: History,
  offset: number,
  limit: number,
): Promise<string[]> {
  if (offset > MAX_OFFSET) return []
  const args = ['rev-list', `--skip=${offset}`, `--max-count=${limit}`, ...argumentsOf(history)]
  const text = await textOf(readGit(repositories, id, args, sourcesOf(history)))
  return text.split('\n').slice(0, -1)
}

/**
 * How many commits a history has.
 *
 * Costs a walk over all of them: for 50,000 commits 0.07 s where there is a commit-graph and 0.4 s
 * where there is none, with `path` 0.4 and 2 s. The answer for a commit stays true for ever, so the
 * latest answers are kept.
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
 * The best commit that leads to both of two commits, the first that git-merge-base(1) names where
 * several are as good; undefined when none leads to both.
 *
 * The answer stays true for ever, so the latest ones are kept.
 *
 * @param one, other ids of commits that are in the repository.
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
      // Both, and their merge bases with a `^` before each (gitrevisions(7)); unlike
      // git-merge-base(1) it is content with none.
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
 * Commits by their ids, with their signatures; those that are not in the repository are left out.
 *
 * @param maxBytes kept of each, beginning with its headers.
 * @param options where else the objects may be, and how long to read.
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

/**
 * The commits that refs hold, by the names of the refs, in one look at both; refs that do not
 * exist, or hold something else, are left out.
 *
 * @param names in full, of refs that are there or were.
 * @throws GitError BUSY, TIMEOUT
 */
export async function readRefCommits(
  repositories: Repositories,
  id: number,
  names: readonly string[],
): Promise<ReadonlyMap<string, RawCommit>> {
  const commits = new Map<string, RawCommit>()
  let read = 0
  for await (const object of readRefObjects(repositories, id, names, MAX_COMMIT_BYTES)) {
    const name = names[read++] ?? ''
    if (object?.type === 'commit') commits.set(name, parseCommit(object.id, object.content))
  }
  return commits
}

/** The last commit that changed each entry of a directory, by the entry's path. */
export type LastChanges = ReadonlyMap<string, string>

/**
 * Finds the last commits that changed the entries of a directory; entries whose commit is too far
 * back are left out.
 *
 * One walk for all of them, from the newest commit on, until each is found or time is up: an entry
 * is as the first commit made it in which it differs from all parents, provided that the commit
 * gave it the object that it has now. (Another branch may have given it another one, and lost it in
 * a merge.) The latest answers are kept, those that are incomplete too: who asked once more would
 * wait as long for as little.
 *
 * @param directory as `treePath` gives it.
 * @param entries of that directory in that commit, with their paths from the top.
 * @throws GitError BUSY
 */
export function lastChanges(
  repositories: Repositories,
  id: number,
  commitId: string,
  directory: string,
  entries: readonly TreeEntry[],
): Promise<LastChanges> {
  return cacheOf<LastChanges>(repositories, 'last changes', MAX_LAST_CHANGES).get(
    `${id} ${commitId} ${directory}`,
    async () => {
      const missing = new Map(entries.map((entry) => [entry.path, entry.id]))
      const found = new Map<string, string>()
      try {
        for await (const { commitId: changedBy, path, objectId } of walkChanges(
          repositories,
          id,
          commitId,
          directory,
        )) {
          if (missing.get(path) !== objectId) continue
          missing.delete(path)
          found.set(path, changedBy)
          if (missing.size === 0) break
        }
      } catch (error) {
        if (!(error instanceof GitError && error.kind === 'TIMEOUT')) throw error
      }
      return found
    },
  )
}

/** What a commit made of a path. */
interface Change {
  readonly commitId: string
  readonly path: string
  /** Of the blob, tree or commit that the path has from then on; zeros where it has none. */
  readonly objectId: string
}

/** Marks the ids of commits in the output, where ids of objects are too. */
const MARK = '\x01'

/**
 * Goes through what commits differ in from all of their parents, newest first: a record of a colon
 * for each parent, modes, ids and letters, of which the last id is that of the commit itself; then
 * a path (git-diff-tree(1), "Raw output format").
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
