import type { Lease } from '../../../platform/concurrency/leases.ts'
import { GitError } from '../../../platform/git/core/errors.ts'
import type { RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { updateRefs } from '../../../platform/git/refs/refs.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { Unit } from '../access/permissions.ts'
import { checkObjectsRemain } from '../maintenance/removal-guard.ts'
import type { PendingPush, ReposApp } from '../ports.ts'
import type { PullPush } from '../protection/protection-rules.ts'
import { reserveForUpdates } from '../quotas/quota-checks.ts'
import { findBranchRename, putBranchRename } from './branches.rows.ts'
import { checkByGitHook, runGitHook } from './git-hooks.ts'
import {
  endPendingUpdate,
  isRunning,
  type RecordWithUpdate,
  recordPendingUpdate,
} from './pending-ref-updates.ts'
import type { Extent } from './ref-differences.ts'
import { reconcileRefs } from './ref-index.ts'
import { recordRefs } from './ref-recording.ts'
import { reviewUpdates } from './ref-review.ts'
import { measureLater } from './repository-size.ts'

/**
 * The ref-update pipeline. Each change of a ref goes through these steps: review, `pre-receive` and
 * `update` hooks, pending update, update, record, `post-receive` hook. In a push, Git updates the
 * refs itself, and `git-services.ts` does the other steps when Git asks for them.
 */

/** How updates by the server on behalf of a user differ from a push of that user. */
export interface PushOptions {
  /** The unit of the repository that the user must be able to write to. Default: `code`. */
  readonly unit?: Unit
  /** The branch that the updates rename. The caller has checked the rules for renames. */
  readonly rename?: RenamedBranch
  /** The pull request that the updates belong to. */
  readonly pull?: PullPush
}

/** The old and the new name of a branch, without `refs/heads/`. */
interface RenamedBranch {
  readonly oldName: string
  readonly newName: string
}

/**
 * Updates refs for a caller of the API, all of them or none, by the rules for a push of that user.
 * The objects must have been stored before.
 *
 * @throws REF_CHANGED if another update came first; REF_NAME_COLLISION; QUOTA_EXCEEDED
 */
export async function pushUpdates(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  updates: readonly RefUpdate[],
  { unit = 'code', rename, pull }: PushOptions = {},
): Promise<void> {
  const origin = rename ? 'rename' : 'push'
  const merge = pull?.trigger === 'pr-update-with-base' ? undefined : pull
  const proposed = { updates, quarantine: undefined, unit, origin, merge } as const
  const [refusal] = await reviewUpdates(app, caller, repositoryId, proposed)
  if (refusal) throw new DomainError(refusal.reason, refusal.metadata)
  const reservation = await reserveForUpdates(app, caller, repositoryId, updates, undefined).catch(
    (error: unknown) => {
      // The stored objects count from now on.
      measureLater(app, repositoryId)
      throw error
    },
  )
  // There is no quarantine: if a hook refuses, the objects stay in the repository, unreachable.
  await checkByGitHook(app, caller, repositoryId, 'pre-receive', { updates, pull })
  // As in an atomic push, one refused ref refuses all.
  for (const update of updates)
    await checkByGitHook(app, caller, repositoryId, 'update', { updates: [update], pull })
  try {
    await applyUpdates(app, repositoryId, updates, {
      pusherId: caller.user.id,
      reservation,
      also: rename ? recordRename(app, repositoryId, rename) : merge?.record,
    })
  } catch (error) {
    throw error instanceof GitError ? refusalOf(error, updates) : error
  }
  // The refs have moved: the result of this hook does not matter.
  await runGitHook(app, caller, repositoryId, 'post-receive', {
    pushed: { updates, origin: 'api', pull },
  }).catch((err: unknown) => app.log.error({ err, repository: repositoryId }, 'a Git hook failed'))
}

/** Who updates refs, and the rows that are recorded with the pending update. */
interface Origin extends Omit<PendingPush, 'updates'> {
  readonly also?: RecordWithUpdate | undefined
}

/**
 * Updates refs, all of them or none. The objects must have been stored before.
 *
 * @param origin undefined for an update by the server.
 * @throws QUOTA_EXCEEDED; OBJECTS_REMOVED; GitError STALE, NAME_COLLISION, LOCKED, INVALID_NAME,
 *   NOT_FOUND; what `also` throws, before any ref moves.
 */
export async function applyUpdates(
  app: ReposApp,
  repositoryId: number,
  updates: readonly RefUpdate[],
  origin?: Origin,
): Promise<void> {
  const push = origin && { ...origin, updates }
  const lease = await app.coordination.lease()
  const updateId = await recordPendingUpdate(app, repositoryId, push, origin?.also)
  const move = async () => {
    await checkObjectsRemain(app, repositoryId, updates)
    await moveRefs(app, lease, repositoryId, updates)
  }
  const failure = await move().then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  try {
    // After a failure, too: the rows that the caller has read may differ from Git.
    await recordUpdates(app, repositoryId, updateId, updates)
  } catch (err) {
    if (!failure) throw err
    // The caller gets the reason of the failed update, and the operator sees the failed record. The
    // pending update stays.
    app.log.error({ err, repository: repositoryId }, 'ref updates could not be recorded')
  }
  if (failure) throw failure.error
}

/**
 * Moves refs, all of them or none. The caller has recorded a pending update, and records the result.
 *
 * @param lease taken before the pending update was recorded. Others end the pending update of a
 *   server that was stopped for long, and such a server must not move refs.
 */
export async function moveRefs(
  app: ReposApp,
  lease: Pick<Lease, 'check'>,
  repositoryId: number,
  updates: readonly RefUpdate[],
): Promise<void> {
  lease.check()
  await updateRefs(app.git, repositoryId, updates)
}

/** Returns a function that records the rename of a branch with its pending update. */
function recordRename(
  app: ReposApp,
  repositoryId: number,
  { oldName, newName }: RenamedBranch,
): RecordWithUpdate {
  return async (tx, updateId) => {
    const known = await findBranchRename(tx, repositoryId, oldName)
    const updateInProgress = known?.pending_update_id ?? undefined
    if (
      updateInProgress !== undefined &&
      (await isRunning(app, tx, repositoryId, updateInProgress))
    ) {
      throw new DomainError('REF_CHANGED', { ref: `refs/heads/${oldName}` })
    }
    await putBranchRename(tx, {
      repository_id: repositoryId,
      old_name: oldName,
      new_name: newName,
      pending_update_id: updateId,
    })
  }
}

/** Records the result of updates, and deletes their pending update. */
export function recordUpdates(
  app: ReposApp,
  repositoryId: number,
  updateId: number,
  updates: readonly RefUpdate[],
): Promise<void> {
  const names = updates.map(({ name }) => name)
  return recordExtent(app, repositoryId, updateId, names)
}

/** Records the result of an update of unknown refs, as by a fetch, and deletes the pending update. */
export function recordAllRefs(app: ReposApp, repositoryId: number, updateId: number) {
  return recordExtent(app, repositoryId, updateId, 'all')
}

async function recordExtent(
  app: ReposApp,
  repositoryId: number,
  updateId: number,
  extent: Extent,
): Promise<void> {
  try {
    await recordRefs(app, repositoryId, [updateId], extent)
  } catch (error) {
    endPendingUpdate(app, updateId)
    // Watchers wait for the events, and the next reader may come late.
    app.background.run('record refs again', () => reconcileRefs(app, repositoryId))
    throw error
  }
  endPendingUpdate(app, updateId)
}

/** Returns the error for the caller. Errors that are faults of the server stay as they are. */
function refusalOf(error: GitError, updates: readonly RefUpdate[]): Error {
  const ref = updates.length === 1 ? (updates[0]?.name ?? '') : ''
  if (error.kind === 'STALE' || error.kind === 'LOCKED')
    return new DomainError('REF_CHANGED', { ref })
  if (error.kind === 'NAME_COLLISION') {
    return new DomainError('REF_NAME_COLLISION', {
      ref,
      text: 'The branch with the same name already exists.',
    })
  }
  return error
}
