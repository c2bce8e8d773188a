import { transaction } from '../../../storage/database/database.ts'
import { findAutoMerge } from '../../../storage/pulls/auto-merges.ts'
import { markSeen, unseenPulls } from '../../../storage/pulls/pull-participants.ts'
import { findPullRequestById } from '../../../storage/pulls/pull-requests.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import { findScheduler } from '../../accounts/credentials/schedulers.ts'
import { type Caller, type SignedIn, scopesOf, tokenUuidOf } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { PullName } from '../../core/names.ts'
import { checkWritable } from '../../repos/access/permissions.ts'
import { changeWatched } from '../../repos/events/repository-events.ts'
import type { ReposApp } from '../../repos/ports.ts'
import type { RuleInForce } from '../../repos/protection/protection-rules.ts'
import { pushUpdates } from '../../repos/refs/ref-updates.ts'
import { type OpenPull, openPull } from '../access/open-pulls.ts'
import { withMergeLock, withPullLock } from '../heads/merge-locks.ts'
import { checkMergeNotBlocked } from '../listing/pull-dependencies.ts'
import { mergeManually } from './manual-merge.ts'
import { checkOpen, checkSame, recordMerge, recordMergeAttempt } from './merge-attempts.ts'
import {
  checkReady,
  checkSignatures,
  checkStyle,
  findMergeTips,
  isAllowedToForce,
  isAllowedToMerge,
  MANUALLY_MERGED,
  ruleForBase,
} from './merge-checks.ts'
import { makeMerge } from './merge-commits.ts'
import { deleteWantedHead } from './merge-follow-ups.ts'
import type { HeadDeletion, MergeOrder, MergeOutcome } from './merge-order.ts'
import { type MergeTips, mergeProblem } from './readiness.ts'
import { scheduleAutoMerge } from './scheduled-merges.ts'

/** How pull requests are merged unless somebody says otherwise. */
const DEFAULT_STYLE = 'merge'

/**
 * Merges a pull request, or lets it be merged once it is ready. Its head branch may be deleted by
 * that; that this fails changes nothing.
 *
 * @throws as `openPull`; REPOSITORY_IS_MIRROR; PULL_REQUEST_MERGED, PULL_REQUEST_CLOSED,
 *   MERGE_DENIED, MERGE_BLOCKED; AUTO_MERGE_NOT_SCHEDULED for one that was, and is not any more;
 *   what `findMergeTips`, `checkReady`, `checkSignatures`, `checkStyle`, `makeMerge` and
 *   `mergeManually` throw; HEAD_COMMIT_DIFFERS; MERGE_PUSH_REFUSED, TOO_MANY_GIT_HOOKS,
 *   MERGE_OUT_OF_DATE; AUTO_MERGE_SCHEDULED; SERVER_BUSY, GIT_TIMEOUT
 */
export async function mergePull(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  order: MergeOrder,
): Promise<MergeOutcome> {
  const open = (): Promise<OpenPull> => openPull(app, caller, name, 'take part')
  const { repository, pull } = await open()
  checkWritable(repository)
  if (!isScheduled(caller)) await see(app, caller, pull)
  const outcome = await withPullLock(app, pull.id, async () =>
    mergeAlone(app, caller, await open(), order),
  )
  if (outcome === 'merged') await deleteWantedHead(app, pull.id)
  return outcome
}

/** Whoever merges a pull request has looked at it. */
async function see({ db }: ReposApp, { user }: SignedIn, { id }: PullRequest): Promise<void> {
  if ((await unseenPulls(db, [id], user.id)).size > 0)
    await transaction(db, (tx) => markSeen(tx, id, user.id))
}

/** Whether nobody asks for the merge now. */
function isScheduled({ credential }: SignedIn): boolean {
  return credential.kind === 'scheduled'
}

async function isStillOrdered(app: ReposApp, { id }: PullRequest): Promise<boolean> {
  const order = await findAutoMerge(app.db, id)
  return (
    order !== undefined &&
    (await findScheduler(app, order.scheduler_id, order.token_uuid)) !== undefined
  )
}

/** For who has the turn of the pull request. */
async function mergeAlone(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  order: MergeOrder,
): Promise<MergeOutcome> {
  checkOpen(open.pull)
  // Whoever had the turn before may have taken it back.
  if (isScheduled(caller) && !(await isStillOrdered(app, open.pull)))
    throw new DomainError('AUTO_MERGE_NOT_SCHEDULED')
  const inForce = await ruleForBase(app, caller, open)
  if (!isAllowedToMerge(open, inForce)) throw new DomainError('MERGE_DENIED')
  await checkMergeNotBlocked(app.db, open.pull)
  if (order.style === MANUALLY_MERGED) {
    await mergeManually(app, caller, open, order.mergeCommitId, deletionBy(caller, open, order))
    return 'merged'
  }
  const { repository_id, base_branch } = open.pull
  return withMergeLock(app, repository_id, base_branch, () =>
    mergeToBase(app, caller, open, inForce, order),
  )
}

/** For who has the turn of the base branch, too. */
async function mergeToBase(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  inForce: RuleInForce | undefined,
  order: MergeOrder,
): Promise<MergeOutcome> {
  const word = order.style || DEFAULT_STYLE
  const tips = await findMergeTips(app, open)
  const isForced = order.force && isAllowedToForce(open, inForce)
  if (inForce && !isForced && !order.whenChecksSucceed) await checkReady(app, tips, inForce.rule)
  if (inForce) await checkSignatures(app, tips, inForce.rule, word)
  const style = checkStyle(open.repository, word)
  if (order.headCommitId !== '' && order.headCommitId.toLowerCase() !== tips.head) {
    throw new DomainError('HEAD_COMMIT_DIFFERS')
  }
  if (
    order.whenChecksSucceed &&
    inForce &&
    !isForced &&
    (await mergeProblem(app, tips, inForce.rule))
  ) {
    await scheduleAutoMerge(app, caller, open, { ...order, style })
    return 'scheduled'
  }
  const to = await makeMerge(app, caller, open, tips, { style, wanted: order })
  await moveBase(app, caller, tips, to, deletionBy(caller, open, order))
  return 'merged'
}

/** Whether the head branch goes after the merge, and by which credential. */
function deletionBy(
  caller: SignedIn,
  { repository }: OpenPull,
  { deleteBranch }: MergeOrder,
): HeadDeletion {
  return {
    delete_head:
      deleteBranch === undefined
        ? repository.default_delete_branch_after_merge
        : Number(deleteBranch),
    scopes: scopesOf(caller)?.text ?? null,
    token_uuid: tokenUuidOf(caller) ?? null,
  }
}

/**
 * Lets the base branch hold what has come of a merge, and marks the pull request as merged: both,
 * or neither.
 */
async function moveBase(
  app: ReposApp,
  caller: SignedIn,
  tips: MergeTips,
  to: string,
  deletion: HeadDeletion,
): Promise<void> {
  const { pull, base, head, mergeBase } = tips
  const [merger_id, time] = [caller.user.id, nowSeconds(app.clock)]
  const commits = { base_commit: base, merge_base: mergeBase, head_commit: head, merge_commit: to }
  const result = { merger_id, ...commits, time, ...deletion }
  if (to === base) {
    // All that is proposed is there.
    await changeWatched(app, async (tx) => {
      await checkSame(tx, pull)
      await recordMerge(app, tx, pull.id, result)
    })
    return
  }
  const update = { name: `refs/heads/${pull.base_branch}`, from: base, to }
  try {
    await pushUpdates(app, caller, pull.repository_id, [update], {
      pull: {
        trigger: 'pr-merge-to-base',
        pull,
        problemOf: async (rule) => (await mergeProblem(app, tips, rule))?.text,
        record: (tx, updateId) => recordMergeAttempt(tx, updateId, pull, result),
      },
    })
  } catch (error) {
    throw refusalOf(error)
  }
  const merged = await findPullRequestById(app.db, pull.id)
  // Git had it, and somebody else took it back before it was recorded.
  if (merged?.state !== 'MERGED') throw new DomainError('MERGE_OUT_OF_DATE')
}

/** What the door refuses, as what a merge is refused for. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error
  const { reason, metadata } = error
  switch (reason) {
    case 'REF_CHANGED':
      return new DomainError('MERGE_OUT_OF_DATE')
    case 'REPOSITORY_ACCESS_DENIED':
      return new DomainError('MERGE_DENIED')
    case 'BRANCH_PROTECTED':
    case 'REF_REFUSED':
    case 'GIT_HOOK_REFUSED':
      return new DomainError('MERGE_PUSH_REFUSED', { text: metadata.text ?? '' })
    default:
      return error
  }
}

/**
 * Makes sure that a pull request is merged.
 *
 * @throws as `openPull`; PULL_REQUEST_NOT_MERGED
 */
export async function checkMerged(app: ReposApp, caller: Caller, name: PullName): Promise<void> {
  const { pull } = await openPull(app, caller, name, 'read')
  if (pull.state !== 'MERGED') throw new DomainError('PULL_REQUEST_NOT_MERGED')
}
