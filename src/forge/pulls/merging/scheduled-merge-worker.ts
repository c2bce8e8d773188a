import { transaction } from '../../../platform/database/database.ts'
import { findScheduler } from '../../accounts/credentials/delegated-tokens.ts'
import { findTokenExpiry } from '../../accounts/credentials/personal-access-tokens.rows.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { onBehalfOf } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import {
  type DueWork,
  type DueWorker,
  finishDueWork,
  startDueWork,
} from '../../core/scheduled-work.ts'
import type { User } from '../../core/schema.ts'
import { Scopes } from '../../core/scopes.ts'
import { accessOfUser } from '../../repositories/access/permissions.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranchRules } from '../../repositories/protection/branch-rules.ts'
import { queueIn } from '../../repositories/protection/merge-queue-settings.ts'
import type { OpenPull } from '../heads/open-pulls.ts'
import { findPullRequestById, touchPull } from '../heads/pull-requests.rows.ts'
import type { ScheduledMerge } from '../schema.ts'
import type { MergeOptions } from './merge-checks.ts'
import { isTemporary } from './merge-follow-ups.ts'
import { mergePull } from './merge-pull.ts'
import * as rows from './scheduled-merges.rows.ts'
import { dropScheduledMerge } from './scheduled-merges.ts'

/**
 * The worker that makes scheduled merges. A scheduled merge needs what a merge by its user would
 * need at the time when it happens: the rights of the user, limited by the token that scheduled the
 * merge, and the rules of the branch.
 */

/** Limits of merges that run at once. A merge takes processes, and with hooks up to minutes. */
const MAX_RUNNING = 2
const MAX_RUNNING_PER_OWNER = 1

/** The delay after a temporary refusal or an internal error. */
const RETRY_MS = 15_000

/**
 * The delay after any other refusal. Most changes that can make a pull request ready make its merge
 * due at once. A new key, a changed team or a changed hook does not.
 */
const REST_MS = 60 * 60 * 1000

/**
 * Starts the worker. All scheduled merges are due at the start, because the server does not know
 * what changed while it was down.
 */
export async function startScheduledMerges(app: ReposApp): Promise<DueWorker> {
  await transaction(app.db, (tx) => rows.wakeAllScheduledMerges(tx, app.clock.now()))
  return startDueWork(app, scheduledMerges(app))
}

/** Makes all scheduled merges that are due. For tests, whose clock stands still. */
export function finishScheduledMerges(app: ReposApp): Promise<void> {
  return finishDueWork(app, scheduledMerges(app))
}

function scheduledMerges(app: ReposApp): DueWork {
  return {
    failure: 'a scheduled merge failed',
    maxRunning: MAX_RUNNING,
    maxRunningPerOwner: MAX_RUNNING_PER_OWNER,
    signal: app.signals.scheduledMerges,
    ...rows.scheduledMergeQueue(app.db),
    run: (pullId) => tryInOrder(app, pullId),
  }
}

/**
 * Merges a pull request if it is ready. Those into a branch with a merge queue enter it in the order in
 * which they were scheduled.
 */
async function tryInOrder(app: ReposApp, pullId: number): Promise<void> {
  const pull = await findPullRequestById(app.db, pullId)
  if (!pull) return
  const { repository_id: repositoryId, base_branch: branch } = pull
  const rules = await readBranchRules(app, repositoryId, undefined, { code: 'none' })
  if (!queueIn(rules.inForceFor(branch))) return tryMerge(app, pullId)
  await app.coordination.exclusive(`entering ${repositoryId} ${branch}`, async () => {
    for (const id of await rows.dueMergesInto(app.db, app.clock.now(), repositoryId, branch))
      await tryMerge(app, id)
  })
}

/**
 * Merges a pull request if it is ready. Postpones the scheduled merge if it is not, and drops the
 * scheduled merge if its user may not merge any more.
 */
async function tryMerge(app: ReposApp, pullId: number): Promise<void> {
  const merge = await rows.findScheduledMerge(app.db, pullId)
  const pull = merge && (await findPullRequestById(app.db, pullId))
  const repository = pull && (await findRepositoryById(app.db, pull.repository_id))
  const owner = repository && (await findOwnerById(app.db, repository.owner_id))
  if (!owner) return
  const scheduler = await findScheduler(app, merge.scheduler_id, merge.token_uuid)
  if (!scheduler) return drop(app, merge)
  try {
    const caller = onBehalfOf(scheduler, scopesIn(merge), merge.token_uuid ?? undefined)
    const name = { owner: owner.name, repo: repository.name, number: pull.number }
    // A push in between makes the merge due again.
    await mergePull(app, caller, name, optionsOf(merge, pull.head_commit))
  } catch (error) {
    const isRefused = error instanceof DomainError
    if (isRefused && (await hasLostRight(app, scheduler, { repository, owner }, error)))
      return drop(app, merge)
    await postpone(app, merge, isRefused && !isTemporary(error) ? REST_MS : RETRY_MS)
    if (!isRefused) throw error
    app.log.debug({ pullRequest: pullId, reason: error.reason }, 'a scheduled merge has to wait')
  }
}

/**
 * Returns whether a merge was refused because its user has lost the right to merge. A repository
 * that only the token may not see is not lost.
 */
async function hasLostRight(
  app: ReposApp,
  scheduler: User,
  { repository, owner }: Pick<OpenPull, 'repository' | 'owner'>,
  { reason }: DomainError,
): Promise<boolean> {
  if (reason === 'MERGE_DENIED') return true
  return (
    reason === 'REPOSITORY_NOT_FOUND' &&
    (await accessOfUser(app, scheduler, repository, owner)).code === 'none'
  )
}

/** Postpones a scheduled merge, at most until its token expires. */
async function postpone(app: ReposApp, merge: ScheduledMerge, delayMs: number): Promise<void> {
  const expiry =
    merge.token_uuid === null ? undefined : await findTokenExpiry(app.db, merge.token_uuid)
  const dueTime = Math.min(app.clock.now() + delayMs, expiry ?? Number.POSITIVE_INFINITY)
  await transaction(app.db, (tx) => rows.restScheduledMerge(tx, merge, dueTime))
}

/** Drops a scheduled merge, unless another one has replaced it. */
async function drop(
  app: ReposApp,
  { pull_request_id: pullId, scheduler_id, create_time }: ScheduledMerge,
): Promise<void> {
  await changeWatched(app, async (tx) => {
    const present = await rows.findScheduledMerge(tx, pullId)
    if (present?.scheduler_id !== scheduler_id || present.create_time !== create_time) return
    await dropScheduledMerge(app, tx, undefined, pullId)
    await touchPull(tx, pullId, nowSeconds(app.clock))
  })
  app.log.info(
    { pullRequest: pullId },
    'a scheduled merge is dropped: the user who scheduled it may not merge any more',
  )
}

function scopesIn({ scopes }: ScheduledMerge): Scopes | undefined {
  return scopes === null ? undefined : Scopes.fromText(scopes)
}

function optionsOf(
  { style, title, message, delete_branch }: ScheduledMerge,
  headCommitId: string,
): MergeOptions {
  return {
    style,
    title,
    message,
    headCommitId,
    deleteBranch: delete_branch === null ? undefined : delete_branch === 1,
    force: false,
    mergeCommitId: '',
    whenChecksSucceed: false,
  }
}
