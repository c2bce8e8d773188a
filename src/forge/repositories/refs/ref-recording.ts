import { repeatableTransaction, transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { HEADS, TAGS } from '../../../platform/git/core/ref-names.ts'
import { type RefTarget, readRefTargets } from '../../../platform/git/refs/ref-targets.ts'
import { readDefaultBranch, readRef, setDefaultBranch } from '../../../platform/git/refs/refs.ts'
import { withRepositoryLock } from '../../../platform/git/repositories/repositories.ts'
import { nowSeconds } from '../../core/core.ts'
import {
  recordMovedRefs,
  recordRepositoryChange,
  wakeWatchers,
} from '../activity/repository-events.ts'
import { queueRepositoryCreated } from '../activity/repository-webhook-events.ts'
import { findRepositoryById, updateRepository } from '../lifecycle/repositories.rows.ts'
import type { MovedRef, ReposApp } from '../ports.ts'
import { addOwnedBytes, endReservations } from '../quotas/quotas.rows.ts'
import { redateReleasesOfTags, withdrawReleasesOfTags } from '../releases/releases.rows.ts'
import type { Branch, PendingRefUpdate, Repository, Tag } from '../schema.ts'
import { endedRenames, findRenamed, settleRenames } from './branch-renames.ts'
import {
  deleteBranches,
  deletePendingRefUpdates,
  forgetPusher,
  type IndexedRefs,
  pendingRefUpdatesOf,
  putBranches,
} from './branches.rows.ts'
import { creationAmong, pushersOf } from './pending-ref-updates.ts'
import {
  type Extent,
  findDifferences,
  type RefDifference,
  type RefObjects,
  readGitRefs,
} from './ref-differences.ts'
import { measureLater } from './repository-size.ts'
import { deleteTags, putTags } from './tags.rows.ts'

/** Refs that one transaction records. Bounds its duration and the memory that it takes. */
const BATCH = 500

/** The refs and the pending updates that a record is about. */
interface RecordScope {
  readonly extent: Extent
  /** Numbers of the pending updates whose work has ended. */
  readonly ended: readonly number[]
  /** Those of them that the record completes. */
  readonly settled: readonly number[]
  /**
   * Whether the repository has grown by what the updates have reserved, or must be measured. Default:
   * `reserved`.
   */
  readonly size?: 'reserved' | 'unknown'
}

/**
 * Updates the rows of refs that may differ from Git, and the default branch of the repository. If
 * the default branch does not exist, the first existing branch takes its place.
 *
 * @param updates numbers of the pending updates that this completes.
 * @returns the number of refs whose rows differed from Git.
 */
export async function recordRefs(
  app: ReposApp,
  repositoryId: number,
  updates: readonly number[],
  extent: Extent,
): Promise<number> {
  // With the lock, since a concurrent writer could overwrite these rows with older ones.
  const differences = await withRepositoryLock(app.git, repositoryId, async () => {
    const repository = await findRepositoryById(app.db, repositoryId)
    // A deletion takes the same lock. It deletes pending updates and refs, too.
    if (!repository) return 0
    return recordRefsLocked(app, repository, { extent, ended: updates, settled: updates })
  })
  if (differences > 0) measureLater(app, repositoryId)
  return differences
}

/** Does the work of `recordRefs` for a caller that has the lock of the repository. */
export async function recordRefsLocked(
  app: ReposApp,
  repository: Repository,
  { extent, ended, settled, size = 'reserved' }: RecordScope,
): Promise<number> {
  const { id } = repository
  const held = await readGitRefs(app, id, extent)
  const [differences, pending, renames, recorders] = await Promise.all([
    findDifferences(app, id, held, extent),
    pendingRefUpdatesOf(app.db, id),
    endedRenames(app, id, ended),
    Promise.all(app.refObservers.map((o) => o.beginRecord(app, repository, ended))),
  ])
  const defaultBranch = await settleDefaultBranch(app, id, held)
  const hasNewDefault = defaultBranch !== repository.default_branch
  const pusherOf = pushersOf(pending)
  const creation = creationAmong(pending, ended)
  const allMoved: MovedRef[] = []
  // Without differences there is one empty batch, which completes the pending updates.
  for (let start = 0; start === 0 || start < differences.length; start += BATCH) {
    const batch = differences.slice(start, start + BATCH)
    const objectIds = batch.flatMap(({ objectId }) => objectId ?? [])
    const targets = await readRefTargets(app.git, id, objectIds)
    const isLast = start + BATCH >= differences.length
    const moved = movedRefs(batch, targets, pusherOf)
    allMoved.push(...moved)
    const refBatch = { moved, defaultBranch, isLast, settled }
    const reactions = await Promise.all(recorders.map((recorder) => recorder.prepare(refBatch)))
    // After a power failure, the pending updates lead to the same record.
    const run = ended.length > 0 ? repeatableTransaction : transaction
    await run(app.db, async (tx) => {
      const now = nowSeconds(app.clock)
      if (creation && start === 0) {
        await queueRepositoryCreated(app, tx, repository, creation.creatorId)
        // A later batch may fail, and a record repeats them all.
        await forgetPusher(tx, creation.updateId)
      }
      await writeRows(tx, id, batch, targets, now)
      await recordMovedRefs(app, tx, id, moved)
      for (const reaction of reactions) await reaction.record(tx)
      if (!isLast) return
      if (hasNewDefault) await recordRepositoryChange(app, tx, undefined, id, 'REPOSITORY_EDITED')
      await settleRenames(app, tx, repository, renames, settled)
      const isMoved = differences.length > 0 || hasNewDefault
      const grownBytes = isMoved ? reservedBytes(pending, settled) : 0
      // A reservation counts until a measurement. Without one, a quota must measure first.
      const isStale = size === 'unknown' || (isMoved && grownBytes === 0)
      if (isMoved || isStale)
        await updateRepository(tx, id, {
          ...(isMoved && { default_branch: defaultBranch, update_time: now }),
          ...(isStale && { size_stale: 1 }),
        })
      if (grownBytes > 0) await addOwnedBytes(tx, id, grownBytes)
      if (size === 'unknown') await endReservations(tx, ended)
      await deletePendingRefUpdates(tx, settled)
    })
    // After each commit, so that a failure of a later batch does not suppress the signals.
    wakeWatchers(app)
    for (const reaction of reactions) reaction.afterCommit()
  }
  for (const recorder of recorders) recorder.finish(allMoved)
  return differences.length
}

function reservedBytes(pending: readonly PendingRefUpdate[], ids: readonly number[]): number {
  return pending
    .filter(({ id }) => ids.includes(id))
    .reduce((sum, { reserved_bytes }) => sum + reserved_bytes, 0)
}

/** Returns what watchers see. A branch without a commit has no row, and counts as deleted. */
function movedRefs(
  differences: readonly RefDifference[],
  targets: ReadonlyMap<string, RefTarget>,
  pusherOf: ReturnType<typeof pushersOf>,
): MovedRef[] {
  return differences.flatMap(({ table, name, objectId, known }) => {
    const ref = `${table === 'branches' ? HEADS : TAGS}${name}`
    const isBroken =
      table === 'branches' &&
      objectId !== undefined &&
      targets.get(objectId)?.commitId === undefined
    const newId = isBroken ? undefined : objectId
    return newId === known ? [] : [{ ref, oldId: known, newId, pusherId: pusherOf(ref, newId) }]
  })
}

/** Writes rows. A branch without a commit, as in a corrupt repository, gets none. */
async function writeRows(
  tx: Tx,
  repositoryId: number,
  differences: readonly RefDifference[],
  targets: ReadonlyMap<string, RefTarget>,
  now: number,
): Promise<void> {
  const branches: Branch[] = []
  const tags: Tag[] = []
  const gone: Record<IndexedRefs, string[]> = { branches: [], tags: [] }
  for (const { table, name, objectId } of differences) {
    const target = objectId === undefined ? undefined : targets.get(objectId)
    if (table === 'branches' && target?.commitId !== undefined)
      branches.push({
        repository_id: repositoryId,
        name,
        commit_id: target.commitId,
        commit_time: target.time,
      })
    else if (table === 'tags' && objectId !== undefined)
      tags.push({ repository_id: repositoryId, name, object_id: objectId, ...tagColumns(target) })
    else gone[table].push(name)
  }
  await putBranches(tx, branches)
  await putTags(tx, tags)
  await deleteBranches(tx, repositoryId, gone.branches)
  await deleteTags(tx, repositoryId, gone.tags)
  await withdrawReleasesOfTags(tx, repositoryId, gone.tags)
  const moved = new Set(differences.flatMap(({ name, known }) => (known === undefined ? [] : name)))
  const movedTags = tags.filter(({ name }) => moved.has(name))
  await redateReleasesOfTags(
    tx,
    repositoryId,
    movedTags.map((tag) => ({ name: tag.name, time: tagTime(tag, now) })),
  )
}

/** Returns the time of a tag, or the current time if Git has none in the past. Unix seconds. */
export function tagTime({ time }: Pick<Tag, 'time'>, now: number): number {
  return time > 0 && time < now ? time : now
}

/** @param target undefined for the tag of a blob or a tree. */
function tagColumns(
  target: RefTarget | undefined,
): Pick<Tag, 'annotated' | 'commit_id' | 'time' | 'message'> {
  return {
    annotated: target?.isAnnotated ? 1 : 0,
    commit_id: target?.commitId ?? null,
    time: target?.time ?? 0,
    message: target?.message ?? '',
  }
}

/**
 * Returns the default branch after the updates. If it was renamed, this is its new name. If it does
 * not exist, the first branch of `held` becomes the default branch.
 */
async function settleDefaultBranch(
  app: ReposApp,
  repositoryId: number,
  held: RefObjects,
): Promise<string> {
  const current = await readDefaultBranch(app.git, repositoryId)
  const first = [...held.keys()].find((ref) => ref.startsWith(HEADS))
  if (first === undefined) return current
  const currentRef = `${HEADS}${current}`
  if (held.has(currentRef) || (await readRef(app.git, repositoryId, currentRef)) !== undefined)
    return current
  const branch = (await findRenamed(app, repositoryId, current)) ?? first.slice(HEADS.length)
  await setDefaultBranch(app.git, repositoryId, branch)
  return branch
}
