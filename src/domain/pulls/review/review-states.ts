import { findMergeBase } from '../../../git/history/history.ts'
import { inspectObjects } from '../../../git/objects/objects.ts'
import { findOwnerById } from '../../../storage/accounts/owners.ts'
import { transaction } from '../../../storage/database/database.ts'
import { findPullRequestById, touchPull } from '../../../storage/pulls/pull-requests.ts'
import * as rows from '../../../storage/pulls/reviews.ts'
import { listBranchProtections } from '../../../storage/repos/branch-protections.ts'
import { findBranch } from '../../../storage/repos/branches.ts'
import { findRepositoryById } from '../../../storage/repos/repositories.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import type { Db, Tx } from '../../../storage/schema/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { changeWatched } from '../../repos/events/repository-events.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { type BranchRule, effectiveRule, inOrder } from '../../repos/protection/protection-rules.ts'
import { reading } from '../../repos/reading/git-reading.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { sameChanges } from './diff-hunks.ts'
import { findOfficials, type Home } from './official-reviewers.ts'
import { officialVotes } from './review-rules.ts'

/**
 * What reviews are worth as a pull request goes on.
 *
 * Whether one is stale is for Git to say, which compares what was reviewed with what the head
 * proposes. A row keeps the answer together with the head that it is about, and where that left the
 * base. An answer about another head than the present one is none, and nothing has to be done for
 * it to be none: the head may move, and the process may end, at any moment. Who needs the answer
 * asks Git first, which shows whether the base was forced back behind what the head left, and where
 * nobody does, somebody asks after the head has moved, or the base was forced. With another base
 * all answers are forgotten, in the transaction in which it becomes that.
 */

/**
 * Commits that were reviewed, the latest ones, compared at a time. Of the others it is not known
 * whether they are still proposed.
 */
const MAX_COMPARED = 50

/** How long to go on with them before whoever waits gets an answer. */
const MAX_COMPARING_MS = 20_000

/**
 * Finds out which reviews of a pull request still say something of what its head proposes, as far
 * as that is not known. Of those that do not, the approvals are dismissed where the rule for the
 * base says so.
 *
 * @param reviews all of them, or those alone that count: whoever may read can make others wait for
 *   what they say.
 * @throws SERVER_BUSY, GIT_TIMEOUT
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
  if (bases.some((base) => base !== mergeBase)) {
    await transaction(app.db, (tx) => rows.forgetOtherBases(tx, pull.id, mergeBase))
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
    const isSame = mergeBase !== '' && (await proposesSame(app, pull, reviewed, mergeBase))
    await recordComparison(app, pull, reviewed, { tip, mergeBase }, !isSame)
  }
}

/**
 * Whether the head of a pull request is where it can be looked at: its repository may have gone
 * before anybody did.
 */
export async function isAvailable(app: ReposApp, pull: PullRequest): Promise<boolean> {
  try {
    return (await prepareHead(app, pull)) === pull.head_commit
  } catch (error) {
    if (error instanceof DomainError && error.reason === 'REF_NOT_FOUND') return false
    throw error
  }
}

/** The same in the background, for a pull request whose head or base has become another one. */
export function compareReviewsSoon(app: ReposApp, pullId: number): void {
  app.background.run('compare reviews', async () => {
    const pull = await findPullRequestById(app.db, pullId)
    if (pull) await compareReviews(app, pull)
  })
}

/**
 * Where a commit of a pull request that is in the repository of the base left that; undefined when
 * the base is gone, or has nothing in common with it.
 *
 * @throws SERVER_BUSY, GIT_TIMEOUT
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
 * Whether the head of a pull request, which left the base at `mergeBase`, proposes what was
 * reviewed.
 */
async function proposesSame(
  app: ReposApp,
  { repository_id, head_commit }: PullRequest,
  { commit_id, merge_base }: rows.Reviewed,
  mergeBase: string,
): Promise<boolean> {
  if (commit_id === head_commit && merge_base === mergeBase) return true
  if (merge_base === '') return false
  // They may have been collected, if the head was moved away from them.
  const found = await reading(inspectObjects(app.git, repository_id, [commit_id, merge_base]))
  if (!found.has(commit_id) || !found.has(merge_base)) return false
  const [before, now] = [
    { base: merge_base, head: commit_id },
    { base: mergeBase, head: head_commit },
  ]
  return sameChanges(app, repository_id, before, now)
}

/** @param base what its branch held, and where the head left it. */
async function recordComparison(
  app: ReposApp,
  pull: PullRequest,
  reviewed: rows.Reviewed,
  { tip, mergeBase }: { readonly tip: string | undefined; readonly mergeBase: string },
  isStale: boolean,
): Promise<void> {
  await changeWatched(app, async (tx) => {
    const present = await findPullRequestById(tx, pull.id)
    const isAsCompared =
      present?.head_commit === pull.head_commit && present.base_branch === pull.base_branch
    const base = await findBranch(tx, pull.repository_id, pull.base_branch)
    if (!isAsCompared || base?.commit_id !== tip) return
    await rows.setCompared(tx, pull.id, reviewed, { head: pull.head_commit, mergeBase }, isStale)
    const dismisses = isStale && (await findRule(tx, pull))?.dismiss_stale_approvals
    if (dismisses && (await rows.dismissApprovals(tx, pull.id, reviewed))) {
      await touchPull(tx, pull.id, nowSeconds(app.clock))
      await recordPullChange(app, tx, undefined, present, 'PULL_REQUEST_REVIEWED')
    }
  })
}

/** The rule for the base of a pull request; undefined without one. */
export async function findRule(
  db: Db,
  { repository_id, base_branch }: Pick<PullRequest, 'repository_id' | 'base_branch'>,
): Promise<BranchRule | undefined> {
  return effectiveRule(inOrder(await listBranchProtections(db, repository_id)), base_branch)
}

/**
 * Finds out anew whose word about a pull request counts, in the transaction in which it goes to
 * another base, and forgets what its reviews were compared with.
 *
 * @param pull with its new base.
 */
export async function recomputeOfficial(tx: Tx, pull: PullRequest): Promise<void> {
  // Those that are pending say nothing of the new base either, once they are submitted.
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
 * Lets the last word of people count again where it does, in the transaction in which they are
 * asked for no other: it would be easy to get rid of what somebody says by asking for a review and
 * taking that back.
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

/** The repository of the base of a pull request, and whose it is. */
export async function homeOf(
  db: Db,
  { repository_id }: Pick<PullRequest, 'repository_id'>,
): Promise<Home> {
  const repository = await findRepositoryById(db, repository_id)
  const owner = repository && (await findOwnerById(db, repository.owner_id))
  if (!owner) throw new DomainError('REPOSITORY_NOT_FOUND')
  return { repository, owner }
}
