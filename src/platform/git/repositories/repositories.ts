import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { createExclusive, type Exclusive } from '../../concurrency/exclusive.ts'
import type { FairSlots } from '../../concurrency/fair-slots.ts'
import type { PaceLimits } from '../../concurrency/pace.ts'
import { ResultCache } from '../../concurrency/result-cache.ts'
import { explained, GitError } from '../core/errors.ts'
import { configuredLibgit2 } from '../core/libgit2.ts'
import { hasCode } from '../core/system-errors.ts'
import { HookRunner } from '../hooks/hook-runner.ts'
import { createReviewSlots, installHooks } from '../hooks/push-review.ts'
import { type PooledProcess, ProcessPool } from '../processes/process-pool.ts'
import { createProcessSlots } from '../processes/process-slots.ts'
import { ReadTurns } from '../processes/read-work.ts'
import { GitProcesses } from '../processes/running-processes.ts'
import { RepositoryHandles } from './repository-handles.ts'

/** All repositories of an instance. Members marked as internal are for `src/platform/git/` only. */
export interface Repositories {
  /** Absolute path. */
  readonly folder: string
  readonly processes: GitProcesses
  /** Internal: handles expose nodegit. */
  readonly handles: RepositoryHandles
  /** Folder of incomplete repositories and other temporary files of this process. */
  readonly scratch: string
  /** Whether other servers use the folder at the same time. */
  readonly isShared: boolean
  /** Whether the folder is on a network file system. Default: what the kernel says. */
  readonly isOnNetwork?: boolean
  /** Locks of repositories. Use `withRepositoryLock`. */
  readonly locks: Exclusive
  /** Locks of the creation of refs. Use `withRefCreationLock`. */
  readonly refCreations: Exclusive
  /** Internal: limit of the long reviews of pushes, by account. */
  readonly reviews: FairSlots
  /** Internal: number of pushes in progress, by repository. */
  readonly pushes: Map<number, number>
  /** Internal: limit of short processes that read. */
  readonly readers: FairSlots
  /** Internal: the work of reads in this process. */
  readonly readTurns: ReadTurns
  /** Internal: limit of processes whose output goes to a client. */
  readonly streams: FairSlots
  /** Minimum speed of these clients while other calls wait for a slot. Default: in `pace.ts`. */
  readonly streamPace?: PaceLimits
  /** Internal: limit of processes that transfer objects between repositories. */
  readonly transfers: FairSlots
  /** Internal: limit of searches in all files of a commit. */
  readonly searches: FairSlots
  /** Runs hook scripts of users, after `prepare`. */
  readonly hooks: HookRunner
  /** Pools of processes, by name. Use `poolOf`. */
  readonly pools: Map<string, ProcessPool<PooledProcess>>
  /** Caches of modules, by name. Use `cacheOf`. */
  readonly caches: Map<string, unknown>
  /** Caches of modules whose entries belong to repositories, by name. */
  readonly repositoryCaches: Map<string, RepositoryCache>
}

/** A cache whose entries belong to repositories. */
export interface RepositoryCache {
  /** Removes the entries of a repository. */
  delete(id: number): unknown
}

/** Limits of processes that read, which are short and use much CPU time. */
export const MAX_READERS = 16
const MAX_WAITING_READERS = 500

/** A stream costs memory and a descriptor, and may last minutes. No call waits for a slot. */
const MAX_STREAMS = 32

/** Limits of transfers, most of which are short. */
const MAX_TRANSFERS = 8
const MAX_WAITING_TRANSFERS = 200

/** Limits of searches, each of which may use a core for seconds. They take no slots of readers. */
const MAX_SEARCHES = 4
const MAX_WAITING_SEARCHES = 100

/**
 * Limits of each pool. A merge is often followed by another one in the same repository. An idle
 * process holds a few megabytes and descriptors.
 */
const MAX_IDLE_PROCESSES = 16
const MAX_IDLE_MS = 10_000

/** Number of folders, named by the last two hexadecimal digits of repository ids. */
const SHARDS = 256

/** Folder of repositories that are being created or removed. A start of the server empties it. */
const SCRATCH_FOLDER = 'scratch'

/** What the servers that share a folder of repositories do together. */
interface SharedRepositories {
  /** Scratch folder of this server: a subfolder of `scratchFolderOf`. */
  readonly scratch: string
  readonly locks: Exclusive
  readonly refCreations: Exclusive
}

/** Returns the scratch folder of a folder of repositories. */
export function scratchFolderOf(folder: string): string {
  return join(folder, SCRATCH_FOLDER)
}

/**
 * Returns the repositories of a folder. The folder is not accessed yet.
 *
 * @param shared left out if one server uses the folder.
 */
export function repositoriesIn(folder: string, shared?: SharedRepositories): Repositories {
  const scratch = shared?.scratch ?? scratchFolderOf(folder)
  return {
    folder,
    scratch,
    isShared: shared !== undefined,
    processes: new GitProcesses(),
    handles: new RepositoryHandles(),
    reviews: createReviewSlots(),
    pushes: new Map(),
    locks: shared?.locks ?? createExclusive(),
    refCreations: shared?.refCreations ?? createExclusive(),
    readers: createProcessSlots({ max: MAX_READERS, maxWaiting: MAX_WAITING_READERS }),
    readTurns: new ReadTurns(),
    streams: createProcessSlots({ max: MAX_STREAMS }),
    transfers: createProcessSlots({ max: MAX_TRANSFERS, maxWaiting: MAX_WAITING_TRANSFERS }),
    searches: createProcessSlots({ max: MAX_SEARCHES, maxWaiting: MAX_WAITING_SEARCHES }),
    hooks: new HookRunner(scratch),
    pools: new Map(),
    caches: new Map(),
    repositoryCaches: new Map(),
  }
}

/** Returns the process pool of a module. The first use creates the pool. */
export function poolOf<T extends PooledProcess>(
  { pools }: Repositories,
  name: string,
): ProcessPool<T> {
  const pool = pools.get(name) ?? new ProcessPool<T>(MAX_IDLE_PROCESSES, MAX_IDLE_MS)
  pools.set(name, pool)
  // Each name belongs to one module and therefore to one type.
  return pool as ProcessPool<T>
}

/**
 * Returns the cache of a module. The first use creates the cache.
 *
 * @param max number of cached results.
 */
export function cacheOf<T>({ caches }: Repositories, name: string, max: number): ResultCache<T> {
  const cache = caches.get(name) ?? new ResultCache<T>(max)
  caches.set(name, cache)
  // Each name belongs to one module and therefore to one type.
  return cache as ResultCache<T>
}

/**
 * Returns the cache of a module with one entry for each repository. The first use creates the
 * cache. The deletion of a repository removes its entry.
 *
 * @param maxBytes memory of all entries together.
 */
export function repositoryCacheOf<T extends { readonly bytes: number }>(
  { repositoryCaches }: Repositories,
  name: string,
  maxBytes: number,
): LRUCache<number, T> {
  const cache =
    repositoryCaches.get(name) ??
    new LRUCache<number, T>({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => bytes,
    })
  repositoryCaches.set(name, cache)
  // Each name belongs to one module and therefore to one type.
  return cache as LRUCache<number, T>
}

/**
 * Creates the folder if necessary and removes incomplete repositories that a crash left in the
 * scratch folder.
 *
 * The scratch folder of a server that shares the repositories is new, and has the lock by which other
 * servers know that its owner runs.
 */
export async function prepareRepositories(repositories: Repositories): Promise<void> {
  const { scratch, isShared } = repositories
  if (!isShared) await rm(scratch, { recursive: true, force: true })
  await mkdir(scratch, { recursive: true, mode: 0o700 })
  await installHooks(hooksFolder(repositories))
}

/** Closes all handles and ends idle processes. */
export async function closeRepositories({ handles, pools }: Repositories): Promise<void> {
  handles.dropAll()
  await Promise.all([...pools.values()].map((pool) => pool.dropAll()))
}

/** Returns the folder of the hooks, which all repositories share. */
export function hooksFolder({ folder }: Repositories): string {
  return join(folder, 'hooks')
}

/**
 * Returns the path of a repository, which may not exist. The path depends on the id only and never
 * changes.
 */
export function repositoryPath({ folder }: Repositories, id: number): string {
  const shard = (id % SHARDS).toString(16).padStart(2, '0')
  return join(folder, shard, `${id}.git`)
}

/** Returns the folder of the objects that prunes have removed from all repositories. */
export function limboFolder({ folder }: Repositories): string {
  return join(folder, 'limbo')
}

/** Returns the folder of the objects that prunes have removed from a repository. */
export function limboOf(repositories: Repositories, id: number): string {
  return join(limboFolder(repositories), String(id))
}

/** Returns the options of a Git process for a repository. */
export function processOptions(
  repositories: Repositories,
  id: number,
): { readonly processes: GitProcesses; readonly repository: string } {
  return { processes: repositories.processes, repository: repositoryPath(repositories, id) }
}

/**
 * Creates an empty bare repository atomically.
 *
 * @param defaultBranch valid name of the branch that HEAD points to. The branch is not created.
 * @throws GitError EXISTS
 */
export async function createRepository(
  repositories: Repositories,
  id: number,
  defaultBranch: string,
): Promise<void> {
  await publishDraft(repositories, await createDraft(repositories, defaultBranch), id)
}

/**
 * Creates an empty bare repository without an id, which no one can open until it is published.
 * After a crash, the next start removes the draft.
 *
 * @returns the path of the draft.
 */
export async function createDraft(
  repositories: Repositories,
  defaultBranch: string,
): Promise<string> {
  const draft = scratchPath(repositories)
  const { Repository } = configuredLibgit2()
  const { BARE, NO_REINIT, MKPATH } = Repository.INIT_FLAG
  const options = { flags: BARE | NO_REINIT | MKPATH, initialHead: defaultBranch }
  try {
    await explained(Repository.initExt(draft, options))
    return draft
  } catch (error) {
    await discardDraft(draft)
    throw error
  }
}

/**
 * Turns a draft into the repository of an id, or removes the draft on failure.
 *
 * @throws GitError EXISTS
 */
export async function publishDraft(
  repositories: Repositories,
  draft: string,
  id: number,
): Promise<void> {
  try {
    const path = repositoryPath(repositories, id)
    await mkdir(join(path, '..'), { recursive: true })
    await rename(draft, path)
  } catch (error) {
    await discardDraft(draft)
    // rename(2) replaces only an empty directory.
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST'))
      throw new GitError('EXISTS', `repository ${id} exists`)
    throw error
  }
}

/** Removes a draft, unless it was published or removed before. */
export async function discardDraft(draft: string): Promise<void> {
  await rm(draft, { recursive: true, force: true })
}

/**
 * Removes a repository, if it exists. From the start of the removal, no caller can open the
 * repository.
 */
export async function deleteRepository(repositories: Repositories, id: number): Promise<void> {
  await rm(limboOf(repositories, id), { recursive: true, force: true })
  const path = repositoryPath(repositories, id)
  const remains = scratchPath(repositories)
  try {
    await rename(path, remains)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  await dropReaders(repositories, id)
  await rm(remains, { recursive: true, force: true })
}

/**
 * Closes what this process keeps of the files of a repository: handles, idle processes and cached
 * refs. Work in progress goes on with what it has.
 */
export async function dropReaders(repositories: Repositories, id: number): Promise<void> {
  repositories.handles.drop(repositoryPath(repositories, id))
  for (const cache of repositories.repositoryCaches.values()) cache.delete(id)
  await Promise.all([...repositories.pools.values()].map((pool) => pool.drop(id)))
}

/** Returns whether a repository exists. */
export async function repositoryExists(repositories: Repositories, id: number): Promise<boolean> {
  return stat(repositoryPath(repositories, id)).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return false
      throw error
    },
  )
}

/**
 * Runs work under the lock of a repository, in the order of the calls. Pushes do not take this
 * lock: Git locks each ref that it moves.
 */
export function withRepositoryLock<T>(
  { locks }: Repositories,
  id: number,
  work: () => Promise<T>,
): Promise<T> {
  return locks(String(id), work)
}

/**
 * Runs work that creates refs, one at a time for each repository. Two Git processes that create `w`
 * and `w/x` at the same time can both fail.
 */
export function withRefCreationLock<T>(
  { refCreations }: Repositories,
  id: number,
  work: () => Promise<T>,
): Promise<T> {
  return refCreations(String(id), work)
}

/**
 * Runs work under the locks of several repositories. The order of the locks is always the same,
 * which prevents deadlocks.
 */
export function withRepositoryLocks<T>(
  repositories: Repositories,
  ids: readonly number[],
  work: () => Promise<T>,
): Promise<T> {
  const ordered = [...new Set(ids)].sort((a, b) => b - a)
  const locked = ordered.reduce(
    (inner, id) => () => withRepositoryLock(repositories, id, inner),
    work,
  )
  return locked()
}

/** Returns a new path in the scratch folder of this server. */
export function scratchPath({ scratch }: Repositories): string {
  return join(scratch, randomUUID())
}

/** A file in the folder of a repository that waits for its first commit. */
const MARK = 'branchline-unfinished'

/**
 * Creates an empty bare repository with a mark in its folder, for a repository that gets a first
 * commit before anybody knows of it. `finish` removes the mark.
 *
 * The mark is in the folder from the first moment, and a crash does not remove the mark. A server
 * that finds a marked repository without a commit therefore knows that the creation was interrupted,
 * and removes the repository. Without the mark, it would be an empty repository that somebody wanted.
 *
 * @param defaultBranch valid name of the branch that HEAD points to. The branch is not created.
 * @throws GitError EXISTS
 */
export async function createUnfinished(
  repositories: Repositories,
  id: number,
  defaultBranch: string,
): Promise<void> {
  const draft = await createDraft(repositories, defaultBranch)
  try {
    await writeFile(join(draft, MARK), '')
  } catch (error) {
    await discardDraft(draft)
    throw error
  }
  await publishDraft(repositories, draft, id)
}

/** Removes the mark. Called when the first commit is on the default branch. */
export async function finish(repositories: Repositories, id: number): Promise<void> {
  await rm(join(repositoryPath(repositories, id), MARK), { force: true })
}

/** Returns whether a repository has the mark. */
export function isUnfinished(repositories: Repositories, id: number): Promise<boolean> {
  return stat(join(repositoryPath(repositories, id), MARK)).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return false
      throw error
    },
  )
}
