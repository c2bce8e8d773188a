import type { Reason } from '../../core/errors.ts'
import { listContextStates } from '../../repositories/commits/commit-statuses.rows.ts'
import { findUnverified } from '../../repositories/commits/commit-verification.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type FactSource, gatherFacts } from '../../repositories/protection/branch-review.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import { countApprovals } from '../review/approvals.ts'
import type { PullRequest } from '../schema.ts'
import type { MergeTips } from './open-merges.ts'
import { evaluateStatuses } from './required-statuses.ts'

/** The reason why a pull request is not ready. */
export interface MergeProblem {
  readonly reason: Extract<
    Reason,
    | 'STATUS_CHECKS_MISSING'
    | 'APPROVALS_MISSING'
    | 'CHANGES_REQUESTED'
    | 'REVIEWS_MISSING'
    | 'HEAD_BEHIND_BASE'
    | 'PROTECTED_FILES_CHANGED'
  >
  /** The message of compatible systems. */
  readonly text: string
  readonly metadata?: Readonly<Record<string, string>>
}

/** Time limit for Git to list the changed files and check signatures. */
const MAX_EXAMINATION_MS = 20_000

/**
 * Returns the first requirement of a rule that a pull request does not meet; undefined if the pull
 * request is ready to be merged.
 *
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function mergeProblem(
  app: ReposApp,
  tips: MergeTips,
  rule: BranchRule,
): Promise<MergeProblem | undefined> {
  const unmet = (await statusProblem(app, tips, rule)) ?? (await reviewProblem(app, tips, rule))
  if (unmet) return unmet
  if (rule.block_on_outdated_branch && tips.mergeBase !== tips.base) {
    return { reason: 'HEAD_BEHIND_BASE', text: 'The head branch is behind the base branch' }
  }
  const path = await protectedPath(app, tips, rule)
  if (path === undefined) return undefined
  return { reason: 'PROTECTED_FILES_CHANGED', text: 'Changed protected files', metadata: { path } }
}

async function statusProblem(
  app: ReposApp,
  { pull, head }: MergeTips,
  rule: BranchRule,
): Promise<MergeProblem | undefined> {
  if (!rule.enable_status_check) return undefined
  const latest = await listContextStates(app.db, {
    repository_id: pull.repository_id,
    commit_id: head,
  })
  if (evaluateStatuses(rule, latest) === 'success') return undefined
  return { reason: 'STATUS_CHECKS_MISSING', text: 'Not all required status checks successful' }
}

async function reviewProblem(
  app: ReposApp,
  tips: MergeTips,
  rule: BranchRule,
): Promise<MergeProblem | undefined> {
  const { required_approvals, block_on_rejected_reviews, block_on_official_review_requests } = rule
  if (required_approvals === 0 && !block_on_rejected_reviews && !block_on_official_review_requests)
    return undefined
  // Only reviews of the head to be merged count.
  const reviewed = { ...tips.pull, head_commit: tips.head }
  const { approvals, rejections, officialRequests } = await countApprovals(
    app,
    tips,
    reviewed,
    rule,
  )
  if (approvals < required_approvals) {
    return { reason: 'APPROVALS_MISSING', text: 'Does not have enough approvals' }
  }
  if (block_on_rejected_reviews && rejections > 0) {
    return { reason: 'CHANGES_REQUESTED', text: 'There are requested changes' }
  }
  if (block_on_official_review_requests && officialRequests > 0) {
    return { reason: 'REVIEWS_MISSING', text: 'There are official review requests' }
  }
  return undefined
}

/** Returns one of the changed files that the rule protects, in lower case. */
async function protectedPath(
  app: ReposApp,
  { pull, head, mergeBase }: MergeTips,
  rule: BranchRule,
): Promise<string | undefined> {
  if (rule.protected_file_patterns === '') return undefined
  const needed = { ancestry: false, signatures: false, files: true }
  const { files } = await gatherFacts(
    sourceFor(app, pull),
    rule,
    { from: mergeBase, to: head },
    needed,
  )
  return files.protectedPath
}

/**
 * Returns the id of the first commit that a merge would add to the base branch without a verified
 * signature; undefined if there is none.
 *
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function unverifiedCommit(
  app: ReposApp,
  { pull, base, head }: MergeTips,
  rule: BranchRule,
): Promise<string | undefined> {
  const needed = { ancestry: false, signatures: true, files: false }
  return (await gatherFacts(sourceFor(app, pull), rule, { from: base, to: head }, needed))
    .unverifiedCommit
}

function sourceFor(app: ReposApp, { repository_id: repositoryId }: PullRequest): FactSource {
  return {
    repositories: app.git,
    repositoryId,
    quarantine: undefined,
    deadline: performance.now() + MAX_EXAMINATION_MS,
    findUnverified: (commits) => findUnverified(app, commits),
  }
}
