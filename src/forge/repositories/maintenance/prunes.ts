import { setTimeout as pause } from 'node:timers/promises'
import { transaction } from '../../../platform/database/database.ts'
import {
  beginEntry,
  emptyLimbo,
  endEntry,
  limboEntries,
  repositoriesInLimbo,
} from '../../../platform/git/maintenance/limbo.ts'
import {
  clearLimbo,
  type Expiry,
  expireObjects,
  forgetKept,
  isWhole,
  keepObjects,
  removeGraph,
  removeLoose,
  undoPrunes,
} from '../../../platform/git/maintenance/prune.ts'
import {
  repositoriesWithReplaced,
  sweepReplaced,
} from '../../../platform/git/maintenance/replaced-files.ts'
import { type RepositoryState, readState } from '../../../platform/git/maintenance/state.ts'
import { runStep, StepError } from '../../../platform/git/maintenance/steps.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'
import { neededByUpdates, pendingUpdateIds } from '../refs/pending-ref-updates.ts'
import { commitsWithStatuses, putMaintenance } from './maintenance.rows.ts'

/**
 * The prune of a repository, beside pushes and other updates of refs:
 *
 * 1. Refs keep the objects that rows name.
 * 2. From now on, each update of refs checks its objects after it has recorded itself as pending
 *    (`removal-guard.ts`).
 * 3. Git moves objects into the limbo.
 * 4. The prune waits for the updates that were pending by then. Others see what is missing.
 * 5. If a ref or a row needs an object that is missing by now, all removed objects come back.
 *
 * After a crash in between, all removed objects come back, too.
 */

/** Time for which updates check their objects after a prune. No update takes longer. */
const GUARD_MS = 60 * 60_000

/** Time for which a prune waits for pending updates, and the pause between two looks. */
const MAX_WAIT_MS = 30_000
const LOOK_MS = 50

/**
 * Prunes a repository. The caller has its lock of maintenance.
 *
 * @throws StepError when pushes went on for so long that the objects came back; what
 *   `expireObjects` throws
 */
export async function prune(
  app: ReposApp,
  id: number,
  { state, expiry }: { readonly state: RepositoryState; readonly expiry: Expiry },
  signal: AbortSignal,
): Promise<void> {
  const entry = await beginEntry(app.git, id, app.clock.now())
  try {
    await keepObjects(app.git, id, await neededObjects(app, id))
    await guard(app, id, Number.MAX_SAFE_INTEGER)
    const startMs = Date.now()
    await expireObjects(app.git, id, { state, entry, expiry }, signal)
    // Git would trust the graph about commits that are gone.
    await removeGraph(app.git, id)
    const removed = await removeLoose(app.git, id, entry, startMs)
    if (removed.size > 0) await checkNothingIsMissing(app, id, removed, signal)
  } catch (error) {
    await undo(app, id)
    throw error
  }
  await forgetKept(app.git, id)
  await endEntry(entry)
  await guard(app, id, app.clock.now() + GUARD_MS)
  const after = await readState(app.git, id)
  if (after) await runStep(app.git, id, 'commit-graph', after, signal)
}

/** Undoes a prune that did not end. The caller has the lock of maintenance of the repository. */
export async function undo(app: ReposApp, id: number): Promise<void> {
  if (!(await undoPrunes(app.git, id))) return
  await guard(app, id, app.clock.now() + GUARD_MS)
}

/**
 * Removes all objects that no ref and no row needs for good, whatever their age, also from packs that
 * forks have and from the limbo. Forks and clones keep theirs.
 *
 * @throws StepError; GitError BUSY, NO_REPOSITORY, OUT_OF_MEMORY, TIMEOUT
 */
export async function purge(app: ReposApp, id: number, signal: AbortSignal): Promise<void> {
  await undo(app, id)
  const state = await readState(app.git, id)
  if (!state) return
  await prune(app, id, { state, expiry: { beforeMs: 'now', includesShared: true } }, signal)
  await clearLimbo(app.git, id)
}

/**
 * Deletes the objects for good that have been in the limbo for long, and brings those back that a
 * killed server was about to remove.
 */
export async function sweepLimbo(app: ReposApp): Promise<void> {
  for (const id of await repositoriesInLimbo(app.git)) {
    if (!(await findRepositoryById(app.db, id))) {
      await clearLimbo(app.git, id)
      continue
    }
    const entries = await limboEntries(app.git, id)
    if (entries.some(({ isUnfinished }) => isUnfinished))
      await app.coordination.exclusive(`maintenance ${id}`, () => undo(app, id))
    await emptyLimbo(app.git, id, app.clock.now() - app.settings.limboMs)
  }
}

/**
 * Removes the files that steps have replaced an hour ago, and what a killed server has left of such a
 * step.
 */
export async function sweepReplacedFiles(app: ReposApp): Promise<void> {
  for (const id of await repositoriesWithReplaced(app.git))
    await app.coordination.exclusive(`maintenance ${id}`, () =>
      sweepReplaced(app.git, id, app.clock.now()),
    )
}

/** @throws StepError when something is missing */
async function checkNothingIsMissing(
  app: ReposApp,
  id: number,
  removed: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  if (!(await untilUpdatesEnd(app, id, signal)))
    throw new StepError('updates of refs went on while objects were removed')
  const needed = await neededObjects(app, id)
  if (
    needed.some((objectId) => removed.has(objectId)) ||
    !(await isWhole(app.git, id, needed, signal))
  )
    throw new StepError('an update of refs needs objects that were removed meanwhile')
}

/** Waits for the updates that are pending now, also those that a killed server has left. */
async function untilUpdatesEnd(app: ReposApp, id: number, signal: AbortSignal): Promise<boolean> {
  const before = new Set(await pendingUpdateIds(app, id))
  const startMs = performance.now()
  for (let left = [...before]; left.length > 0; ) {
    if (performance.now() - startMs > MAX_WAIT_MS) return false
    await pause(LOOK_MS, undefined, { signal })
    left = (await pendingUpdateIds(app, id)).filter((update) => before.has(update))
  }
  return true
}

/** Returns the ids of the objects that rows name. Some may be missing. */
async function neededObjects(app: ReposApp, id: number): Promise<string[]> {
  const lists = await Promise.all([
    commitsWithStatuses(app.db, id),
    neededByUpdates(app, id),
    ...app.refObservers.map((observer) => observer.neededObjects(app, id)),
  ])
  return [...new Set(lists.flatMap((list) => [...list]))]
}

async function guard(app: ReposApp, id: number, removal_until: number): Promise<void> {
  await transaction(app.db, (tx) => putMaintenance(tx, id, { removal_until }))
}
