import { transaction } from '../../../platform/database/database.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import { inspectObjects } from '../../../platform/git/objects/objects.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { dismissalEvent, recordTimelineEvents } from '../../conversations/timeline.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { listBranchProtections } from '../../repositories/protection/branch-protections.rows.ts'
import {
  type BranchRule,
  effectiveRule,
  inOrder,
} from '../../repositories/protection/protection-rules.ts'
import { findBranch } from '../../repositories/refs/branches.rows.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { findPullRequestById, touchPull } from '../heads/pull-requests.rows.ts'
import type { PullRequest } from '../schema.ts'
import { hasAllOf, sameChanges } from './diff-hunks.ts'
import {
  type Approvals,
  evaluateApprovals,
  findOfficials,
  type Home,
  officialVotes,
} from './review-rules.ts'
import * as rows from './reviews.rows.ts'

/**
 * The states of reviews while a pull request changes.
 *
 * A review is stale if the head proposes another change than the one that was reviewed. Git
 * compares the two. The row of a review stores the result with the head commit and the merge base
 * that were compared. A result for another head does not count, so no work is needed when the head
 * moves, and a process may end at any time. Callers that need the result start the comparison and
 * notice when a force push has moved the base behind the merge base. After a push to the head or a
 * force push to the base, a background task compares. A change of the base branch deletes all
 * results, in the same transaction.
 */

/**
 * Maximum number of reviewed commits to compare, newest first. For older reviews the result is
 * unknown.
 */
const MAX_COMPARED = 50

/** Timeline text of an approval that a rule dismisses. */
const STALE_APPROVAL =
  'The pull request has changed since, and the rule of its base dismisses such approvals.'

/** Time limit of the comparison, for callers that wait. */
const MAX_COMPARING_MS = 20_000

/**
 * Compares reviews with the head of a pull request where the result is unknown. Dismisses stale
 * approvals if the rule for the base requires it.
 *
 * @param reviews all reviews, or only those that count. A caller that waits passes only those that
 *   count, because any reader can submit reviews.
 */
export async function compareReviews(
  app: ReposApp,
  pull: PullRequest,
  reviews: 'all' | 'official' = 'all',
): Promise<void> {
  if (pull.state !== 'OPEN') return
  const bases = await rows.comparedBases(app.db, pull.id)
  if (bases.length === 0 || !(await isAvailable(app, pull))) return
  const tip = (await findBranch(app.db, pull.repository_id, pull.base_branch))?.commit_id
  const found =
    tip && (await reading(findMergeBase(app.git, pull.repository_id, tip, pull.head_commit)))
  const mergeBase = found ?? ''
  if (bases.some((base) => base !== mergeBase && base !== tip)) {
    await transaction(app.db, (tx) => rows.forgetOtherBases(tx, pull.id, mergeBase, tip ?? ''))
  }
  const uncompared = await rows.listUncompared(
    app.db,
    pull.id,
    pull.head_commit,
    reviews,
    MAX_COMPARED,
  )
  const deadline = performance.now() + MAX_COMPARING_MS
  for (const reviewed of uncompared) {
    if (performance.now() > deadline) return
    const base = tip && mergeBase && (await baseOfSame(app, pull, reviewed, { tip, mergeBase }))
    await recordComparison(app, pull, reviewed, { tip, base: base || mergeBase }, !base)
  }
}

/**
 * Returns whether the head of a pull request is available in the base repository. The head
 * repository may have been deleted before the head was fetched.
 */
export async function isAvailable(app: ReposApp, pull: PullRequest): Promise<boolean> {
  try {
    return (await prepareHead(app, pull)) === pull.head_commit
  } catch (error) {
    if (error instanceof DomainError && error.reason === 'REF_NOT_FOUND') return false
    throw error
  }
}

/** Compares reviews in the background after the head or the base of a pull request has changed. */
export function compareReviewsSoon(app: ReposApp, pullId: number): void {
  app.background.run('compare reviews', async () => {
    const pull = await findPullRequestById(app.db, pullId)
    if (pull) await compareReviews(app, pull)
  })
}

/**
 * Returns the merge base of a commit in the base repository. Undefined if the base is deleted or
 * has no common history.
 */
export async function mergeBaseOf(
  app: ReposApp,
  pull: PullRequest,
  commitId: string,
): Promise<string | undefined> {
  const base = await findBranch(app.db, pull.repository_id, pull.base_branch)
  if (!base) return undefined
  return reading(findMergeBase(app.git, pull.repository_id, base.commit_id, commitId))
}

/**
 * Returns the commit on which it depends that the head of a pull request proposes the reviewed change:
 * the merge base, or the tip of the base branch. Undefined if the head proposes another change.
 *
 * A squash of the pull request below leaves its commits in the history above. The head proposes the
 * reviewed change as long as the branch has all changes of what was below at the review.
 */
async function baseOfSame(
  app: ReposApp,
  { repository_id: id, head_commit: head }: PullRequest,
  { commit_id, merge_base }: rows.Reviewed,
  { tip, mergeBase }: { readonly tip: string; readonly mergeBase: string },
): Promise<string | undefined> {
  if (commit_id === head && merge_base === mergeBase) return mergeBase
  if (merge_base === '') return undefined
  // Git may have collected the commits after a force push.
  const found = await reading(inspectObjects(app.git, id, [commit_id, merge_base]))
  if (!found.has(commit_id) || !found.has(merge_base)) return undefined
  const before = { base: merge_base, head: commit_id }
  if (await sameChanges(app, id, before, { base: mergeBase, head })) return mergeBase
  if (merge_base === mergeBase) return undefined
  const apart = await reading(independentCommits(app.git, id, [merge_base, head]))
  const isOnBranch = !apart.has(merge_base) && (await hasAllOf(app, id, tip, merge_base))
  const isSame = isOnBranch && (await sameChanges(app, id, before, { base: merge_base, head }))
  return isSame ? tip : undefined
}

/** @param base the tip of the base branch, and the commit on which the result depends. */
async function recordComparison(
  app: ReposApp,
  pull: PullRequest,
  reviewed: rows.Reviewed,
  { tip, base: comparedBase }: { readonly tip: string | undefined; readonly base: string },
  isStale: boolean,
): Promise<void> {
  await changeWatched(app, async (tx) => {
    const present = await findPullRequestById(tx, pull.id)
    const isAsCompared =
      present?.head_commit === pull.head_commit && present.base_branch === pull.base_branch
    const base = await findBranch(tx, pull.repository_id, pull.base_branch)
    if (!isAsCompared || base?.commit_id !== tip) return
    const compared = { head: pull.head_commit, base: comparedBase }
    await rows.setCompared(tx, pull.id, reviewed, compared, isStale)
    const dismisses = isStale && (await findRule(tx, pull))?.dismiss_stale_approvals
    if (!dismisses) return
    const ids = await rows.dismissApprovals(tx, pull.id, reviewed)
    const events = ids.map((id) => dismissalEvent(id, STALE_APPROVAL))
    await recordTimelineEvents(app, tx, { conversationId: pull.id, actorId: undefined }, events)
    if (ids.length > 0) {
      await touchPull(tx, pull.id, nowSeconds(app.clock))
      await recordPullChange(app, tx, undefined, present, 'PULL_REQUEST_REVIEWED')
    }
  })
}

/** Returns the rule for the base of a pull request. Undefined without one. */
export async function findRule(
  db: Db,
  { repository_id, base_branch }: Pick<PullRequest, 'repository_id' | 'base_branch'>,
): Promise<BranchRule | undefined> {
  return effectiveRule(inOrder(await listBranchProtections(db, repository_id)), base_branch)
}

/**
 * Computes again which reviews are official, and deletes the results of rows. Runs in the
 * transaction that changes the base of the pull request.
 *
 * @param pull the pull request with its new base.
 */
export async function recomputeOfficial(tx: Tx, pull: PullRequest): Promise<void> {
  // Pending reviews lose their results, too: they were compared with the old base.
  await rows.forgetComparisons(tx, pull.id)
  const votes = await rows.listVotes(tx, pull.id)
  const requests = await rows.listReviewRequests(tx, [pull.id])
  if (votes.length + requests.length === 0) return
  const userIds = [...votes, ...requests].flatMap(({ reviewer_id }) => reviewer_id ?? [])
  const teamIds = requests.flatMap(({ team_id }) => team_id ?? [])
  const rule = await findRule(tx, pull)
  const officials = await findOfficials(
    tx,
    await homeOf(tx, pull),
    rule,
    [...new Set(userIds)],
    teamIds,
  )
  const asked = new Set(requests.flatMap(({ reviewer_id }) => reviewer_id ?? []))
  await rows.setOfficialVotes(tx, pull.id, officialVotes(votes, officials, asked))
  for (const { id, reviewer_id, team_id } of requests) {
    const isOfficial =
      officials.userIds.has(reviewer_id ?? 0) || officials.teamIds.has(team_id ?? 0)
    await rows.setOfficialRequest(tx, id, isOfficial)
  }
}

/**
 * Makes the latest votes of reviewers count again after their review requests were withdrawn, in
 * the same transaction. Without this, a caller could remove a vote by a request and its withdrawal.
 */
export async function restoreVotes(
  tx: Tx,
  pull: PullRequest,
  userIds: readonly number[],
): Promise<void> {
  const votes = (await rows.listVotes(tx, pull.id)).filter(({ reviewer_id }) =>
    userIds.includes(reviewer_id ?? 0),
  )
  if (votes.length === 0) return
  const officials = await findOfficials(
    tx,
    await homeOf(tx, pull),
    await findRule(tx, pull),
    userIds,
    [],
  )
  for (const id of userIds) await rows.clearOfficialVotes(tx, pull.id, id)
  for (const id of officialVotes(votes, officials, new Set()))
    await rows.updateReview(tx, id, { official: 1 })
}

/** Returns the base repository of a pull request and its owner. */
export async function homeOf(
  db: Db,
  { repository_id }: Pick<PullRequest, 'repository_id'>,
): Promise<Home> {
  const repository = await findRepositoryById(db, repository_id)
  const owner = repository && (await findOwnerById(db, repository.owner_id))
  if (!owner) throw new DomainError('REPOSITORY_NOT_FOUND')
  return { repository, owner }
}

/**
 * Counts the votes of the present reviews of a pull request under a rule.
 *
 * A review counts while its author has the right to vote and, if the rule requires it, while it is
 * known to be about the change of `pull.head_commit`.
 *
 * @param pull the pull request as it was read. The result applies to its head only.
 * @param rule the rule for the branch that the pull request is merged into. Undefined without one.
 * @param target whether that is its base. For another branch, the rows do not say which votes are
 *   official, and no stale approval was dismissed, so such a rule ignores stale approvals.
 */
export async function countApprovals(
  app: ReposApp,
  home: Home,
  pull: PullRequest,
  rule: BranchRule | undefined,
  target: 'base' | 'other branch' = 'base',
): Promise<Approvals> {
  await compareReviews(app, pull, 'official')
  if (target === 'other branch') return approvalsElsewhere(app, home, pull, rule)
  const reviews = await rows.listOfficial(app.db, pull.id)
  const userIds = [...new Set(reviews.flatMap(({ reviewer_id }) => reviewer_id ?? []))]
  const teamIds = reviews.flatMap(({ team_id }) => team_id ?? [])
  const officials = await findOfficials(app.db, home, rule, userIds, teamIds)
  return evaluateApprovals(reviews, pull.head_commit, rule, officials)
}

/** Counts reviews under the rule of a branch that is not the base. */
async function approvalsElsewhere(
  { db }: ReposApp,
  home: Home,
  pull: PullRequest,
  rule: BranchRule | undefined,
): Promise<Approvals> {
  const votes = await rows.listVotes(db, pull.id)
  const requests = await rows.listReviewRequests(db, [pull.id])
  const people = [...votes, ...requests]
  const userIds = [...new Set(people.flatMap(({ reviewer_id }) => reviewer_id ?? []))]
  const teamIds = people.flatMap(({ team_id }) => team_id ?? [])
  const officials = await findOfficials(db, home, rule, userIds, teamIds)
  const asked = new Set(requests.flatMap(({ reviewer_id }) => reviewer_id ?? []))
  const counting = officialVotes(votes, officials, asked)
  const reviews = people.map((vote) => ({
    ...vote,
    official: Number(vote.state === 'REQUEST_REVIEW' || counting.has(vote.id)),
  }))
  const isStrict = rule?.ignore_stale_approvals || rule?.dismiss_stale_approvals
  const strict = rule && { ...rule, ignore_stale_approvals: isStrict === true }
  return evaluateApprovals(reviews, pull.head_commit, strict, officials)
}
