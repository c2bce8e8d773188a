import { findOwnerById } from '../../../storage/accounts/owners.ts'
import { findTokenExpiry } from '../../../storage/accounts/personal-access-tokens.ts'
import { transaction } from '../../../storage/database/database.ts'
import * as rows from '../../../storage/pulls/auto-merges.ts'
import { findPullRequestById, touchPull } from '../../../storage/pulls/pull-requests.ts'
import { findRepositoryById } from '../../../storage/repos/repositories.ts'
import type { Owner, User } from '../../../storage/schema/accounts.ts'
import type { AutoMerge } from '../../../storage/schema/pulls.ts'
import type { Repository } from '../../../storage/schema/repos.ts'
import { findScheduler } from '../../accounts/credentials/schedulers.ts'
import { onBehalfOf, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { PullName } from '../../core/names.ts'
import {
  type DueWork,
  type DueWorker,
  finishDueWork,
  startDueWork,
} from '../../core/scheduled-work.ts'
import { Scopes } from '../../core/scopes.ts'
import { accessOfUser } from '../../repos/access/permissions.ts'
import { changeWatched } from '../../repos/events/repository-events.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { type OpenPull, openPull } from '../access/open-pulls.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { dropAutoMerge } from './dropped-merges.ts'
import { mayMergePull } from './merge-checks.ts'
import type { MergeOrder } from './merge-order.ts'
import { mergePull } from './merge-pull.ts'
import { isPassing } from './passing-refusals.ts'

/**
 * Merges that somebody has ordered for when everything is ready for them. They happen by the rights
 * that who ordered them has at that time, as far as the token that they used goes, and by the rules
 * of that time, as if they had asked for them again: what is ordered may have lost its approval
 * since.
 */

/**
 * Merges under way at once, of which for one account: a merge takes processes and, with hooks, its
 * time.
 */
const MAX_UNDER_WAY = 2
const MAX_UNDER_WAY_PER_OWNER = 1

/** After something that will pass by itself, or a fault of our own. */
const RETRY_MS = 15_000

/**
 * After anything else: most of what a merge may wait for makes it due, but not a key that was
 * added, a team or a hook that changed.
 */
const REST_MS = 60 * 60 * 1000

/**
 * Takes an order for a merge back.
 *
 * @throws as `openPull`; REPOSITORY_ARCHIVED; AUTO_MERGE_NOT_SCHEDULED; AUTO_MERGE_CANCEL_DENIED
 *   for who neither ordered it nor may merge; SERVER_BUSY
 */
export async function cancelAutoMerge(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
): Promise<void> {
  const open = await openPull(app, caller, name, 'take part')
  // What is under way comes to its end before: nobody is told of a merge taken back that happens
  // all the same.
  await withPullLock(app, open.pull.id, () => cancelAlone(app, caller, open))
}

/** For who has the turn of the pull request. */
async function cancelAlone(app: ReposApp, caller: SignedIn, open: OpenPull): Promise<void> {
  const { pull } = open
  const merge = await rows.findAutoMerge(app.db, pull.id)
  if (!merge) throw new DomainError('AUTO_MERGE_NOT_SCHEDULED')
  const isOwn = merge.scheduler_id === caller.user.id
  if (!isOwn && !(await mayMergePull(app, caller, open)))
    throw new DomainError('AUTO_MERGE_CANCEL_DENIED')
  await changeWatched(app, async (tx) => {
    if (!(await dropAutoMerge(app, tx, caller.user.id, pull.id)))
      throw new DomainError('AUTO_MERGE_NOT_SCHEDULED')
    await touchPull(tx, pull.id, nowSeconds(app.clock), caller.user.id)
  })
}

/**
 * Merges what was ordered as it becomes ready, until it is stopped. Everything is looked at once in
 * the beginning: nobody knows what happened while the server was down.
 */
export async function startAutoMerges(app: ReposApp): Promise<DueWorker> {
  await transaction(app.db, (tx) => rows.wakeAllAutoMerges(tx, app.clock.now()))
  return startDueWork(app, autoMerges(app))
}

/** Merges what is ready, until nothing is: for tests, whose time does not pass by itself. */
export function finishAutoMerges(app: ReposApp): Promise<void> {
  return finishDueWork(app, autoMerges(app))
}

function autoMerges(app: ReposApp): DueWork {
  return {
    failure: 'a merge that was ordered failed',
    maxRunning: MAX_UNDER_WAY,
    maxRunningPerOwner: MAX_UNDER_WAY_PER_OWNER,
    signal: app.signals.autoMerges,
    ...rows.autoMergeQueue(app.db),
    run: (pullId) => tryMerge(app, pullId),
  }
}

/**
 * Merges a pull request if it is ready, lets the order rest if it is not, and drops one that nobody
 * stands behind any more.
 */
async function tryMerge(app: ReposApp, pullId: number): Promise<void> {
  const order = await rows.findAutoMerge(app.db, pullId)
  const pull = order && (await findPullRequestById(app.db, pullId))
  const repository = pull && (await findRepositoryById(app.db, pull.repository_id))
  const owner = repository && (await findOwnerById(app.db, repository.owner_id))
  if (!owner) return
  const scheduler = await findScheduler(app, order.scheduler_id, order.token_uuid)
  if (!scheduler) return drop(app, order)
  try {
    const caller = onBehalfOf(scheduler, scopesIn(order), order.token_uuid ?? undefined)
    const name = { owner: owner.name, repo: repository.name, number: pull.number }
    await mergePull(app, caller, name, {
      ...orderOf(order),
      // What was looked at when it became due: a push in between makes it due again.
      headCommitId: pull.head_commit,
    })
  } catch (error) {
    const isRefused = error instanceof DomainError
    if (isRefused && (await hasLostRight(app, scheduler, repository, owner, error)))
      return drop(app, order)
    await rest(app, order, isRefused && !isPassing(error) ? REST_MS : RETRY_MS)
    if (!isRefused) throw error
    app.log.debug(
      { pullRequest: pullId, reason: error.reason },
      'a merge that was ordered has to wait',
    )
  }
}

/**
 * Whether a merge is refused because who ordered it may not do that any more, whatever their token
 * sees and the repository hides.
 */
async function hasLostRight(
  app: ReposApp,
  scheduler: User,
  repository: Repository,
  owner: Owner,
  { reason }: DomainError,
): Promise<boolean> {
  if (reason === 'MERGE_DENIED') return true
  return (
    reason === 'REPOSITORY_NOT_FOUND' &&
    (await accessOfUser(app, scheduler, repository, owner)).code === 'none'
  )
}

/** Lets an order wait for something to happen, or for its token to expire. */
async function rest(app: ReposApp, order: AutoMerge, restMs: number): Promise<void> {
  const expiry =
    order.token_uuid === null ? undefined : await findTokenExpiry(app.db, order.token_uuid)
  const dueTime = Math.min(app.clock.now() + restMs, expiry ?? Number.POSITIVE_INFINITY)
  await transaction(app.db, (tx) => rows.restAutoMerge(tx, order, dueTime))
}

/** Takes an order back, unless it is another one by now. */
async function drop(
  app: ReposApp,
  { pull_request_id: pullId, scheduler_id, create_time }: AutoMerge,
): Promise<void> {
  await changeWatched(app, async (tx) => {
    const present = await rows.findAutoMerge(tx, pullId)
    if (present?.scheduler_id !== scheduler_id || present.create_time !== create_time) return
    await dropAutoMerge(app, tx, undefined, pullId)
    await touchPull(tx, pullId, nowSeconds(app.clock))
  })
  app.log.info(
    { pullRequest: pullId },
    'a merge that was ordered is dropped: who ordered it may not merge any more',
  )
}

function scopesIn({ scopes }: AutoMerge): Scopes | undefined {
  return scopes === null ? undefined : Scopes.fromText(scopes)
}

function orderOf({
  style,
  title,
  message,
  delete_branch,
}: AutoMerge): Omit<MergeOrder, 'headCommitId'> {
  return {
    style,
    title,
    message,
    deleteBranch: delete_branch === null ? undefined : delete_branch === 1,
    force: false,
    mergeCommitId: '',
    whenChecksSucceed: false,
  }
}
