import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { readRef } from '../../../platform/git/refs/refs.ts'
import { findScheduler } from '../../accounts/credentials/delegated-tokens.ts'
import { onBehalfOf, type SignedIn } from '../../core/access.ts'
import { DomainError, type Reason } from '../../core/errors.ts'
import { type DueWork, type DueWorker, startDueWork } from '../../core/scheduled-work.ts'
import { Scopes } from '../../core/scopes.ts'
import { openRepositoryById } from '../../repositories/access/permissions.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranchRules } from '../../repositories/protection/branch-rules.ts'
import { pushUpdates } from '../../repositories/refs/ref-updates.ts'
import { listBroughtCommits } from '../changes/pull-commits.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { openHeadBranches } from '../heads/pull-heads.rows.ts'
import { findPullRequestById } from '../heads/pull-requests.rows.ts'
import { entriesAbove } from '../queue/merge-queue.rows.ts'
import type { MergeFollowUp, PullRequest } from '../schema.ts'
import type { MergeResult } from './merge-checks.ts'
import * as rows from './merge-follow-ups.rows.ts'
import { movesAbove } from './restack.ts'
import { recordRestackFailure } from './restack-failures.ts'

/**
 * Follow-ups of merges: deleting the head branch, if the merge asked for that, and listing the
 * commits of the pull request, by which it can be found later. Both need Git, so the transaction
 * that records the merge only stores a follow-up. The merge itself or a worker, whichever is first,
 * completes it. Every step can be repeated, so a crash loses nothing.
 */

/** Limits of follow-ups that run at once. */
const MAX_RUNNING = 2
const MAX_RUNNING_PER_REPOSITORY = 1

/** The delay after the first failure. It doubles after each further failure. */
const RETRY_MS = 15_000

/** The next look at a head branch that a merge queue needs, unless an entry leaves before. */
const STACK_MS = 3_600_000

/** Failures after which a follow-up is given up, after four hours. */
const MAX_TRIES = 10

/**
 * Stores the follow-up of a merge, in the transaction that records the merge.
 *
 * @param result `merger_id` is the id of an existing account, or null.
 */
export async function recordFollowUp(
  app: ReposApp,
  tx: Tx,
  pull: PullRequest,
  result: MergeResult,
): Promise<void> {
  const { base_commit, delete_head, merger_id, scopes, token_uuid } = result
  const isDeleted = delete_head === 1
  await rows.insertFollowUp(tx, {
    pull_request_id: pull.id,
    repository_id: pull.repository_id,
    base_commit,
    deleter_id: isDeleted ? merger_id : null,
    scopes: isDeleted ? scopes : null,
    token_uuid: isDeleted ? token_uuid : null,
    due_time: app.clock.now(),
  })
}

/** Deletes the head branch of a pull request after its merge, if the merge asked for that. */
export async function deleteWantedHead(app: ReposApp, pullId: number): Promise<void> {
  try {
    const followUp = await rows.findFollowUp(app.db, pullId)
    if (followUp && followUp.deleter_id !== null) await complete(app, pullId)
  } catch (err) {
    app.log.error({ err, pullRequest: pullId }, FAILURE)
  }
}

/** Starts the worker that completes follow-ups. */
export async function startFollowUps(app: ReposApp): Promise<DueWorker> {
  await transaction(app.db, (tx) => rows.wakeAllFollowUps(tx, app.clock.now()))
  return startDueWork(app, followUps(app))
}

const FAILURE = 'a follow-up of a merge failed'

function followUps(app: ReposApp): DueWork {
  return {
    failure: FAILURE,
    maxRunning: MAX_RUNNING,
    maxRunningPerOwner: MAX_RUNNING_PER_REPOSITORY,
    signal: app.signals.mergeFollowUps,
    ...rows.followUpQueue(app.db),
    run: (pullId) => complete(app, pullId),
  }
}

async function complete(app: ReposApp, pullId: number): Promise<void> {
  await withPullLock(app, pullId, async () => {
    const followUp = await rows.findFollowUp(app.db, pullId)
    const pull = followUp && (await findPullRequestById(app.db, pullId))
    if (!pull) return
    try {
      const isKept = followUp.deleter_id !== null && (await isInQueue(app, pullId))
      if (!isKept) await deleteMergedHead(app, followUp, pull)
      await listBroughtCommits(app, followUp, pull)
      if (isKept) return
    } catch (err) {
      app.log.warn({ err, pullRequest: pullId, tries: followUp.tries + 1 }, FAILURE)
      const dueTime = app.clock.now() + RETRY_MS * 2 ** followUp.tries
      if (followUp.tries + 1 < MAX_TRIES)
        return transaction(app.db, (tx) => rows.restFollowUp(tx, pullId, dueTime))
    }
    await transaction(app.db, (tx) => rows.deleteFollowUp(tx, pullId))
  })
}

/**
 * Returns whether a merge queue has a pull request that stands on a merged one. The head branch is
 * kept so long, so that the base, the approvals and the commits of that one stay. When it leaves the
 * queue, the follow-up is due.
 */
async function isInQueue(app: ReposApp, pullId: number): Promise<boolean> {
  if ((await entriesAbove(app.db, pullId)).length === 0) return false
  return transaction(app.db, async (tx) => {
    // Before the second look, since an entry that leaves meanwhile makes the follow-up due.
    await rows.postponeFollowUp(tx, pullId, app.clock.now() + STACK_MS)
    const isStacked = (await entriesAbove(tx, pullId)).length > 0
    if (!isStacked) await rows.wakeFollowUp(tx, pullId, app.clock.now())
    return isStacked
  })
}

/**
 * Deletes the head branch of a merged pull request, if its merge asked for that, as a push of the
 * user who merged with their current rights. A branch that other pull requests or settings need
 * stays; so does one that has moved since the merge. May be called again after a failure.
 *
 * Pull requests into the deleted branch move to the base of the merged one (`pull-branches.ts`).
 * Where the repository wants that, they are rebased in the same push.
 *
 * @throws temporary refusals and internal errors.
 */
async function deleteMergedHead(
  app: ReposApp,
  wanted: MergeFollowUp,
  pull: PullRequest,
): Promise<void> {
  const { head_repository_id: id, head_branch } = pull
  if (wanted.deleter_id === null || id === null) return
  const deleter = await findScheduler(app, wanted.deleter_id, wanted.token_uuid)
  if (!deleter) return
  const scopes = wanted.scopes === null ? undefined : Scopes.fromText(wanted.scopes)
  const caller = onBehalfOf(deleter, scopes, wanted.token_uuid ?? undefined)
  const update = { name: `refs/heads/${head_branch}`, from: pull.head_commit, to: undefined }
  try {
    if (!(await isDispensable(app, caller, id, head_branch))) return
    if ((await readRef(app.git, id, update.name)) !== update.from) return
    if (!(await deleteWithRestack(app, caller, pull, update)))
      await pushUpdates(app, caller, id, [update])
  } catch (error) {
    if (!(error instanceof DomainError) || isTemporary(error)) throw error
    app.log.info(
      { err: error, pullRequest: pull.id },
      'the branch of a merged pull request was not deleted',
    )
  }
}

/**
 * Deletes the head branch of a merged pull request and rebases the stack above it, in one push, where
 * the repository wants that.
 *
 * @returns false if nothing has happened: there is no stack, it conflicts, or a rule refuses.
 * @throws temporary refusals.
 */
async function deleteWithRestack(
  app: ReposApp,
  caller: SignedIn,
  pull: PullRequest,
  deletion: RefUpdate,
): Promise<boolean> {
  const repository = await findRepositoryById(app.db, pull.repository_id)
  if (repository?.rebase_stacks !== 1) return false
  try {
    const moves = await movesAbove(app, caller, pull)
    if (moves.length === 0) return false
    await pushUpdates(app, caller, repository.id, [deletion, ...moves])
    return true
  } catch (error) {
    if (!(error instanceof DomainError) || isTemporary(error)) throw error
    app.log.info({ err: error, pullRequest: pull.id }, 'a stack was not rebased after a merge')
    // Before the branch is deleted, after which nothing would say that it had to be told.
    await recordRestackFailure(app, pull, error)
    return false
  }
}

/** Returns whether nothing else needs the branch. */
async function isDispensable(
  app: ReposApp,
  caller: SignedIn,
  id: number,
  branch: string,
): Promise<boolean> {
  if ((await openHeadBranches(app.db, id, [branch])).length > 0) return false
  const { repository, units } = await openRepositoryById(app, caller, id, 'write')
  if ([repository.default_branch, repository.default_target_branch].includes(branch)) return false
  return (await readBranchRules(app, id, caller.user.id, units)).inForceFor(branch) === undefined
}

const TEMPORARY: readonly Reason[] = [
  'GIT_TIMEOUT',
  'HEAD_COMMIT_DIFFERS',
  'MERGE_OUT_OF_DATE',
  'REF_CHANGED',
  'SERVER_BUSY',
  'TOO_MANY_GIT_HOOKS',
]

/** Returns whether a merge, or a step after it, may succeed when it is tried again soon. */
export function isTemporary({ reason }: DomainError): boolean {
  return TEMPORARY.includes(reason)
}
