import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import nodegit from 'nodegit'
import { createExclusive, type Exclusive } from '../../concurrency/exclusive.ts'
import type { Limited } from '../../concurrency/limited.ts'
import type { PaceLimits } from '../../concurrency/pace.ts'
import { ResultCache } from '../../concurrency/result-cache.ts'
import { explained, GitError } from '../core/errors.ts'
import { hasCode } from '../core/system-errors.ts'
import { HookRunner } from '../hooks/hook-runner.ts'
import { createReviewLimits, installHooks } from '../hooks/push-review.ts'
import { ProcessLimit } from '../processes/process-limits.ts'
import { type PooledProcess, ProcessPool } from '../processes/process-pool.ts'
import { GitProcesses } from '../processes/running-processes.ts'
import { RepositoryHandles } from './repository-handles.ts'

/** All repositories of an instance. */
export interface Repositories {
  /** Absolute path. */
  readonly folder: string
  readonly processes: GitProcesses
  /** For this room only: what is behind the handles is nodegit's. */
  readonly handles: RepositoryHandles
  /** Locks of repositories. Use `withRepositoryLock`. */
  readonly locks: Exclusive
  /** Locks of the creation of refs. Use `withRefCreationLock`. */
  readonly refCreations: Exclusive
  /** Places for pushes with much to review, for each account. For this room only. */
  readonly reviews: Limited
  /** How many pushes to a repository are under way, of those that have one. For this room only. */
  readonly pushes: Map<number, number>
  /** Processes that read and end by themselves. For this room only. */
  readonly readers: ProcessLimit
  /** Processes that last as long as the clients that they print for. For this room only. */
  readonly streams: ProcessLimit
  /**
   * How fast these clients have to be where others find no place; left out, as `pace.ts` has it.
   */
  readonly streamPace?: PaceLimits
  /** Processes that bring objects from one repository to another. For this room only. */
  readonly transfers: ProcessLimit
  /** Runs scripts of people, once it is prepared. */
  readonly hooks: HookRunner
  /** Pools of processes, by the names of their modules. Use `poolOf`. */
  readonly pools: Map<string, ProcessPool<PooledProcess>>
  /** What modules have cached about repositories, by the names of the caches. Use `cacheOf`. */
  readonly caches: Map<string, unknown>
}

/** Readers at a time, which are short and busy, and those that may wait for a place. */
export const MAX_READERS = 16
const MAX_WAITING_READERS = 500

/**
 * A stream costs memory and a descriptor more than time. Nobody waits for what may last minutes;
 * `ProcessLimit` says who gets a place.
 */
const MAX_STREAMS = 32

/** Transfers at a time, most of which take a moment, and those that may wait for a place. */
export const MAX_TRANSFERS = 8
const MAX_WAITING_TRANSFERS = 200

/**
 * Repositories with a process that waits, of each kind, and how long it does: who merges one pull
 * request often merges another one, and each holds some megabytes and descriptors.
 */
const MAX_KEPT_PROCESSES = 16
const PROCESSES_KEPT_MS = 10_000

/** Folders by the last two hexadecimal digits of the id, so that none of them gets huge. */
const SHARDS = 256

/**
 * Repositories that are being made or removed. Whatever a crash leaves in there belongs to nobody.
 */
const SCRATCH_FOLDER = 'scratch'

/** The repositories of a folder, of which nothing is touched yet. */
export function repositoriesIn(folder: string): Repositories {
  return {
    folder,
    processes: new GitProcesses(),
    handles: new RepositoryHandles(),
    reviews: createReviewLimits(),
    pushes: new Map(),
    locks: createExclusive(),
    refCreations: createExclusive(),
    readers: new ProcessLimit(MAX_READERS, MAX_WAITING_READERS),
    streams: new ProcessLimit(MAX_STREAMS, 0),
    transfers: new ProcessLimit(MAX_TRANSFERS, MAX_WAITING_TRANSFERS),
    hooks: new HookRunner(join(folder, SCRATCH_FOLDER)),
    pools: new Map(),
    caches: new Map(),
  }
}

/** Returns the pool of a module, which is created when it is first used. */
export function poolOf<T extends PooledProcess>(
  { pools }: Repositories,
  name: string,
): ProcessPool<T> {
  const pool = pools.get(name) ?? new ProcessPool<T>(MAX_KEPT_PROCESSES, PROCESSES_KEPT_MS)
  pools.set(name, pool)
  // Each name belongs to one module, and so to one type.
  return pool as ProcessPool<T>
}

/**
 * Returns a cache of a module, which is created when it is first used.
 *
 * @param max number of results that it holds.
 */
export function cacheOf<T>({ caches }: Repositories, name: string, max: number): ResultCache<T> {
  const cache = caches.get(name) ?? new ResultCache<T>(max)
  caches.set(name, cache)
  // Each name belongs to one module, and so to one type.
  return cache as ResultCache<T>
}

/**
 * Makes the folder when it is missing, and removes what a crash left half made or half removed.
 * Only for the one server whose repositories these are.
 */
export async function prepareRepositories(repositories: Repositories): Promise<void> {
  const scratch = join(repositories.folder, SCRATCH_FOLDER)
  await rm(scratch, { recursive: true, force: true })
  await mkdir(scratch, { recursive: true, mode: 0o700 })
  await installHooks(hooksFolder(repositories))
}

/** Closes what is open, and ends what waits. */
export async function closeRepositories({ handles, pools }: Repositories): Promise<void> {
  handles.dropAll()
  await Promise.all([...pools.values()].map((pool) => pool.dropAll()))
}

/** Where the hooks of all repositories are. */
export function hooksFolder({ folder }: Repositories): string {
  return join(folder, 'hooks')
}

/**
 * Where a repository is or would be. An id leads to the same path for ever, whatever the repository
 * is called.
 */
export function repositoryPath({ folder }: Repositories, id: number): string {
  const shard = (id % SHARDS).toString(16).padStart(2, '0')
  return join(folder, shard, `${id}.git`)
}

/** Where a Git process works on a repository, and by which processes it is counted. */
export function placeOf(
  repositories: Repositories,
  id: number,
): { readonly processes: GitProcesses; readonly repository: string } {
  return { processes: repositories.processes, repository: repositoryPath(repositories, id) }
}

/**
 * Makes an empty bare repository. It is there in whole, or not at all.
 *
 * @param defaultBranch name of the branch that HEAD names, a valid one; the branch itself is not
 *   made.
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
 * Makes an empty bare repository that has no id yet, so that nobody finds it before it is
 * published. A crash leaves nothing of it.
 *
 * @returns its path.
 */
export async function createDraft(
  repositories: Repositories,
  defaultBranch: string,
): Promise<string> {
  const draft = scratchPath(repositories)
  const { BARE, NO_REINIT, MKPATH } = nodegit.Repository.INIT_FLAG
  const options = { flags: BARE | NO_REINIT | MKPATH, initialHead: defaultBranch }
  await explained(nodegit.Repository.initExt(draft, options))
  return draft
}

/**
 * Turns a draft into the repository of an id. When that fails the draft is gone too.
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
    // rename(2) replaces a directory only when that is empty.
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST'))
      throw new GitError('EXISTS', `repository ${id} exists`)
    throw error
  }
}

/** Removes a draft. One that was published, or removed before, is no error. */
export async function discardDraft(draft: string): Promise<void> {
  await rm(draft, { recursive: true, force: true })
}

/**
 * Removes a repository, which is gone at once for everybody who opens it from now on. One that is
 * not there is no error.
 */
export async function deleteRepository(repositories: Repositories, id: number): Promise<void> {
  const path = repositoryPath(repositories, id)
  const remains = scratchPath(repositories)
  try {
    await rename(path, remains)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  repositories.handles.drop(path)
  await Promise.all([...repositories.pools.values()].map((pool) => pool.drop(id)))
  await rm(remains, { recursive: true, force: true })
}

/** Whether there is a repository. */
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
 * Runs work alone among all work under the lock of a repository, in the order of asking. Pushes do
 * not take it: Git locks each ref that it moves.
 */
export function withRepositoryLock<T>(
  { locks }: Repositories,
  id: number,
  work: () => Promise<T>,
): Promise<T> {
  return locks(String(id), work)
}

/**
 * Runs work that creates refs of a repository while no other such work of this process runs. Two
 * Git processes that create `w` and `w/x` at the same time can stand in each other's way so that
 * neither ref is created.
 */
export function withRefCreationLock<T>(
  { refCreations }: Repositories,
  id: number,
  work: () => Promise<T>,
): Promise<T> {
  return refCreations(String(id), work)
}

/**
 * Does work under the locks of several repositories. They are taken in one order, so two such works
 * never wait for each other.
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

/** A new path for what a crash may take: a start removes all that is there. */
export function scratchPath({ folder }: Repositories): string {
  return join(folder, SCRATCH_FOLDER, randomUUID())
}
