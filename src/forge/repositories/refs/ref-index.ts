import { withoutDeadline } from '../../../platform/concurrency/call-deadlines.ts'
import { transaction } from '../../../platform/database/database.ts'
import { HEADS, TAGS } from '../../../platform/git/core/ref-names.ts'
import { isRefName, readDefaultBranch, readRef } from '../../../platform/git/refs/refs.ts'
import {
  createRepository,
  deleteRepository as deleteFolder,
  finish,
  isUnfinished,
  repositoryExists,
  withRepositoryLock,
} from '../../../platform/git/repositories/repositories.ts'
import type { Worker } from '../../core/coordination.ts'
import type { Page } from '../../core/names.ts'
import { deleteRepository, findRepositoryById } from '../lifecycle/repositories.rows.ts'
import type { RefObserver, ReposApp } from '../ports.ts'
import type { Branch, PendingRefUpdate, Repository, Tag } from '../schema.ts'
import {
  branchNamesFrom,
  countBranches,
  findBranch,
  pageOfBranches,
  pendingRefUpdatesOf,
  repositoriesWithPendingRefUpdates,
} from './branches.rows.ts'
import { isSettled, leftoverUpdates } from './pending-ref-updates.ts'
import { findDifferences, REF_TABLES, readGitRefs } from './ref-differences.ts'
import { recordRefs, recordRefsLocked } from './ref-recording.ts'
import { measureLater } from './repository-size.ts'
import { countTags, findTag, findTagInAnyCase, pageOfTags } from './tags.rows.ts'

/**
 * The rows of branches and tags. Git is the source of truth. The ref-update pipeline writes the
 * rows after each update, lists read them instead of Git, and a reader that finds them outdated
 * updates them from Git.
 */

/** Differences that an operator sees. */
const MAX_PROBLEMS = 100

/** A page of refs. */
export interface RefPage<T> {
  readonly refs: readonly T[]
  /** Number of refs in the whole list. */
  readonly total: number
}

/**
 * Compares all rows about the refs of a repository with Git, and updates those that differ.
 *
 * @returns the number of refs that differed.
 */
export function syncRefIndex(app: ReposApp, repositoryId: number): Promise<number> {
  return recordRefs(app, repositoryId, [], 'all')
}

/**
 * Returns a sentence for each difference between Git and the rows about the refs of a repository.
 * On a running server this includes updates that have not been recorded yet.
 */
export async function compareRefIndex(app: ReposApp, repositoryId: number): Promise<string[]> {
  const repository = await findRepositoryById(app.db, repositoryId)
  if (!repository) return []
  const held = await readGitRefs(app, repositoryId, 'all')
  const differences = await findDifferences(app, repositoryId, held, 'all')
  const words = new Map(REF_TABLES.map(([table, , word]) => [table, word]))
  const problems = differences.slice(0, MAX_PROBLEMS).map(({ table, name, objectId, known }) => {
    const word = words.get(table)
    return `${word} "${name}" is ${objectId ?? 'missing'} in Git and ${known ?? 'missing'} in the database`
  })
  const defaultBranch = await readDefaultBranch(app.git, repositoryId)
  if (defaultBranch === repository.default_branch) return problems
  return [
    ...problems,
    `the default branch is "${defaultBranch}" in Git and "${repository.default_branch}" in the database`,
  ]
}

/**
 * Reconciles all repositories that have leftover updates. Runs when the server starts, before any
 * ref moves.
 *
 * @param isDue returns whether the repository of a leftover update is read. Default: each.
 */
export async function reconcilePendingUpdates(
  app: ReposApp,
  isDue: (update: PendingRefUpdate) => boolean = () => true,
): Promise<void> {
  for (const repositoryId of await repositoriesWithPendingRefUpdates(app.db)) {
    try {
      const due = (await leftoverUpdates(app, repositoryId)).filter(isDue)
      if (due.length > 0) await reconcileRefs(app, repositoryId)
    } catch (err) {
      // The server can serve the others. The pending update stays, so the next reader tries again.
      app.log.error(
        { err, repository: repositoryId },
        'refs could not be read from Git after a crash',
      )
    }
  }
}

/**
 * Reads the refs of a repository from Git if it has leftover updates.
 *
 * A leftover stays for minutes, and each reader of the repository comes here meanwhile. Readers at
 * the same time share one run: what they have to see is only what no client was told of.
 */
export async function reconcileRefs(app: ReposApp, repositoryId: number): Promise<void> {
  if ((await leftoverUpdates(app, repositoryId)).length === 0) return
  await app.coordination.once(`reconciling ${repositoryId}`, () =>
    withoutDeadline(() => reconcileNow(app, repositoryId)),
  )
}

async function reconcileNow(app: ReposApp, repositoryId: number): Promise<void> {
  await withRepositoryLock(app.git, repositoryId, async () => {
    const updates = await leftoverUpdates(app, repositoryId)
    const repository = await findRepositoryById(app.db, repositoryId)
    if (!repository || updates.length === 0) return
    if (await isInterrupted(app, repository)) return forget(app, repositoryId)
    await completeFolder(app, repository)
    const differences = await recordRefsLocked(app, repository, {
      extent: 'all',
      ended: updates.map(({ id }) => id),
      settled: updates.filter((update) => isSettled(app, update)).map(({ id }) => id),
      size: 'unknown',
    })
    measureLater(app, repositoryId)
    if (differences > 0)
      app.log.warn(
        { repository: repositoryId, refs: differences },
        'rows were behind Git after a crash',
      )
  })
}

/**
 * Returns whether a crash has interrupted the creation of a repository: its folder is missing, or
 * its first commit. No client knows the repository. One with branches had a folder, which is missing
 * for another reason.
 */
async function isInterrupted(app: ReposApp, repository: Repository): Promise<boolean> {
  const { id, default_branch, branch_count } = repository
  if (branch_count > 0) return false
  if (!(await repositoryExists(app.git, id))) return true
  if (!(await isUnfinished(app.git, id))) return false
  return (await readRef(app.git, id, `${HEADS}${default_branch}`)) === undefined
}

async function completeFolder(app: ReposApp, { id, default_branch }: Repository): Promise<void> {
  if (await repositoryExists(app.git, id)) await finish(app.git, id)
  else await createRepository(app.git, id, default_branch)
}

async function forget(app: ReposApp, repositoryId: number): Promise<void> {
  await transaction(app.db, (tx) => deleteRepository(tx, repositoryId))
  await deleteFolder(app.git, repositoryId)
  app.log.warn(
    { repository: repositoryId },
    'a repository whose creation a crash has interrupted was removed',
  )
}

/** Reconciles the rows of a repository before a list is read. Adds them if there are none. */
async function prepareIndex(app: ReposApp, { id, branch_count }: Repository): Promise<void> {
  await reconcileRefs(app, id)
  // The repository is empty, an operator has placed it there, or its folder is being created.
  if (branch_count === 0 && (await repositoryExists(app.git, id))) await syncRefIndex(app, id)
}

/**
 * Returns a page of the branches of a repository, latest commit first, then by name.
 *
 * @param part text that the names contain, in upper or lower case. Empty for all branches.
 */
export async function readBranchIndex(
  app: ReposApp,
  repository: Repository,
  part: string,
  { offset, limit }: Page,
): Promise<RefPage<Branch>> {
  await prepareIndex(app, repository)
  const refs = await pageOfBranches(app.db, repository.id, part, offset, limit)
  return { refs, total: await countBranches(app.db, repository.id, part) }
}

/** Returns the first names of branches, by name, that begin with a text. Case counts. */
export async function readBranchNames(
  app: ReposApp,
  repository: Repository,
  begin: string,
  limit: number,
): Promise<string[]> {
  await prepareIndex(app, repository)
  return branchNamesFrom(app.db, repository.id, begin, limit)
}

/** Returns a page of the tags of a repository, latest first, then by name. */
export async function readTagIndex(
  app: ReposApp,
  repository: Repository,
  { offset, limit }: Page,
): Promise<RefPage<Tag>> {
  await prepareIndex(app, repository)
  const refs = await pageOfTags(app.db, repository.id, offset, limit)
  return { refs, total: await countTags(app.db, repository.id) }
}

/** Returns a branch. Updates its row first if Git has another commit, which is cheap to check. */
export async function readBranch(
  app: ReposApp,
  { id }: Repository,
  name: string,
): Promise<Branch | undefined> {
  const ref = `${HEADS}${name}`
  const [branch, held] = await Promise.all([
    findBranch(app.db, id, name),
    readRef(app.git, id, ref),
  ])
  if (branch?.commit_id === held) return branch
  await repairRow(app, id, ref)
  return findBranch(app.db, id, name)
}

/** Returns a tag. Updates its row first if Git has another object. */
export async function readTag(
  app: ReposApp,
  { id }: Repository,
  name: string,
): Promise<Tag | undefined> {
  const ref = `${TAGS}${name}`
  const [tag, held] = await Promise.all([findTag(app.db, id, name), readRef(app.git, id, ref)])
  if (tag?.object_id === held) return tag
  await repairRow(app, id, ref)
  return findTag(app.db, id, name)
}

/**
 * Updates the row of a ref from Git. A pending update explains the difference, and affects only its
 * own refs. Without one, the database is damaged or refs have moved without the server. Then this
 * updates the rows of all refs, since one correct row would make the list look complete.
 */
async function repairRow(app: ReposApp, repositoryId: number, ref: string): Promise<void> {
  const isExplained = (await pendingRefUpdatesOf(app.db, repositoryId)).length > 0
  await recordRefs(app, repositoryId, [], isExplained ? [ref] : 'all')
}

/** Returns the tag with a name, or else one whose name differs only in upper and lower case. */
export async function readTagInAnyCase(
  app: ReposApp,
  repository: Repository,
  name: string,
): Promise<Tag | undefined> {
  const tag = isRefName(name) ? await readTag(app, repository, name) : undefined
  if (tag) return tag
  const other = await findTagInAnyCase(app.db, repository.id, name)
  return other && readTag(app, repository, other.name)
}

/**
 * The time between two searches for pending updates of servers that have ended. Readers of their
 * repositories do not wait for the search.
 */
const INTERVAL_MS = 5_000

/**
 * Starts the worker that reconciles the pending updates of other servers that have ended, so that
 * watchers and webhooks learn of them: once, and again when no process of that server can move refs
 * any more. A server that is alone does this at its start.
 */
export function startReconciling(app: ReposApp): Worker {
  const seen = new Set<number>()
  return reconcileOften(app, (update) => {
    const isKnown = seen.has(update.id)
    seen.add(update.id)
    return !isKnown || isSettled(app, update)
  })
}

/**
 * Starts the worker that records what this server could not record, for example while the database
 * was away. Other servers take such an update for one in progress. Each server runs this worker.
 */
export function startReconcilingOwn(app: ReposApp): Worker {
  return reconcileOften(app, ({ server_id }) => server_id === app.coordination.serverId)
}

function reconcileOften(app: ReposApp, isDue: (update: PendingRefUpdate) => boolean): Worker {
  if (app.coordination.serverId === null) return { stop() {} }
  let running = Promise.resolve()
  let isRunning = false
  const timer = setInterval(() => {
    if (isRunning) return
    isRunning = true
    running = reconcilePendingUpdates(app, isDue)
      .catch((err: unknown) => app.log.warn({ err }, 'pending updates cannot be read'))
      .finally(() => {
        isRunning = false
      })
  }, INTERVAL_MS)
  return {
    stop() {
      clearInterval(timer)
      return running
    },
  }
}

/** Returns an observer that takes part in the records of moved refs, and in nothing else. */
export function recordObserver(beginRecord: RefObserver['beginRecord']): RefObserver {
  return {
    beginRecord,
    pushableBranches: async () => new Set<string>(),
    async branchRenamed() {},
    async beforeFetch() {},
    async beforeDeletion() {},
    async duringDeletion() {},
    neededObjects: async () => [],
    pushMessages: async () => [],
  }
}
