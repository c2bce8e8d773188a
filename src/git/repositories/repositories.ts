import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import nodegit from 'nodegit'
import { explained, GitError } from '../core/errors.ts'
import type { ChangeSizes } from '../diffs/change-sizes.ts'
import type { ChangeCounts } from '../diffs/diff.ts'
import type { LastChanges } from '../history/history.ts'
import type { CommitPlace } from '../history/merge-bases.ts'
import { HookRunner } from '../hooks/hook-runner.ts'
import { createReviewPlaces, installHooks } from '../hooks/push-review.ts'
import type { Shares } from '../hooks/shares.ts'
import type { Merge, Merges } from '../merging/merge.ts'
import type { PaceLimits } from '../processes/pace.ts'
import { Gate } from '../processes/process-limits.ts'
import { KeptProcesses } from '../processes/process-pool.ts'
import type { RefTransactions } from '../refs/ref-transactions.ts'
import { Recent } from './recent.ts'
import { RepositoryHandles } from './repository-handles.ts'

/** All repositories of an instance. */
export interface Repositories {
  /** Absolute path. */
  readonly folder: string
  /** For this room only: what is behind the handles is nodegit's. */
  readonly handles: RepositoryHandles
  /** Last work under the lock of each repository that is locked. For this room only. */
  readonly locks: Map<number, Promise<unknown>>
  /**
   * Last creation of refs in each repository in which refs are being created. For this room only.
   */
  readonly refCreations: Map<number, Promise<unknown>>
  /** Places for pushes with much to review, for each account. For this room only. */
  readonly reviews: Shares
  /** How many pushes to a repository are under way, of those that have one. For this room only. */
  readonly pushes: Map<number, number>
  /** Processes that read and end by themselves. For this room only. */
  readonly readers: Gate
  /** Processes that last as long as the clients that they print for. For this room only. */
  readonly streams: Gate
  /**
   * How fast these clients have to be where others find no place; left out, as `pace.ts` has it.
   */
  readonly streamPace?: PaceLimits
  /** Processes that bring objects from one repository to another. For this room only. */
  readonly transfers: Gate
  /** Runs scripts of people, once it is prepared. */
  readonly hooks: HookRunner
  /** Processes of `merge.ts` and `refs.ts` that wait for the next to need one. */
  readonly keptMerges: KeptProcesses<Merges>
  readonly keptRefTransactions: KeptProcesses<RefTransactions>
  /** What `history.ts`, `diff.ts` and `merge.ts` have found out before. */
  readonly counts: Recent<number>
  /** By the id of the commit alone: it is the same wherever it is. */
  readonly commitPlaces: Recent<CommitPlace>
  readonly mergeBases: Recent<string | undefined>
  readonly lastChanges: Recent<LastChanges>
  readonly changeCounts: Recent<ChangeCounts | undefined>
  readonly changeSizes: Recent<ChangeSizes>
  readonly merges: Recent<Merge>
}

/** Readers at a time, which are short and busy, and those that may wait for a place. */
export const MAX_READERS = 16
const MAX_WAITING_READERS = 500

/**
 * A stream costs memory and a descriptor more than time. Nobody waits for what may last minutes;
 * `Gate` says who gets a place.
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

/** Half a kilobyte each. */
const MAX_KEPT_PLACES = 20_000

/** A key and a number, an id, or a few numbers each. */
const MAX_KEPT_COUNTS = 10_000
const MAX_KEPT_MERGE_BASES = 10_000
const MAX_KEPT_DIFFERENCES = 1_000

/** Up to a hundred kilobytes each, and mostly an id. */
const MAX_KEPT_MERGES = 500

/** Up to a thousand paths each. */
const MAX_KEPT_LAST_CHANGES = 200

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
    handles: new RepositoryHandles(),
    reviews: createReviewPlaces(),
    pushes: new Map(),
    locks: new Map(),
    refCreations: new Map(),
    readers: new Gate(MAX_READERS, MAX_WAITING_READERS),
    streams: new Gate(MAX_STREAMS, 0),
    transfers: new Gate(MAX_TRANSFERS, MAX_WAITING_TRANSFERS),
    hooks: new HookRunner(join(folder, SCRATCH_FOLDER)),
    keptMerges: new KeptProcesses(MAX_KEPT_PROCESSES, PROCESSES_KEPT_MS),
    keptRefTransactions: new KeptProcesses(MAX_KEPT_PROCESSES, PROCESSES_KEPT_MS),
    counts: new Recent(MAX_KEPT_COUNTS),
    commitPlaces: new Recent(MAX_KEPT_PLACES),
    mergeBases: new Recent(MAX_KEPT_MERGE_BASES),
    changeCounts: new Recent(MAX_KEPT_DIFFERENCES),
    changeSizes: new Recent(MAX_KEPT_DIFFERENCES),
    lastChanges: new Recent(MAX_KEPT_LAST_CHANGES),
    merges: new Recent(MAX_KEPT_MERGES),
  }
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
export async function closeRepositories({
  handles,
  keptMerges,
  keptRefTransactions,
}: Repositories): Promise<void> {
  handles.dropAll()
  await Promise.all([keptMerges.dropAll(), keptRefTransactions.dropAll()])
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
 * Yielder a draft into the repository of an id. When that fails the draft is gone too.
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
  await Promise.all([repositories.keptMerges.drop(id), repositories.keptRefTransactions.drop(id)])
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
  return afterOthers(locks, id, work)
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
  return afterOthers(refCreations, id, work)
}

async function afterOthers<T>(
  locks: Map<number, Promise<unknown>>,
  id: number,
  work: () => Promise<T>,
): Promise<T> {
  const before = locks.get(id)
  const mine = (before ?? Promise.resolve()).then(work)
  // A failure is for who asked for the work, not for those behind.
  const done = mine.catch(() => {})
  locks.set(id, done)
  try {
    return await mine
  } finally {
    if (locks.get(id) === done) locks.delete(id)
  }
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

/** Whether an error is one of these of the system, such as ENOENT. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
