import { findMergeBase } from '../../../platform/git/history/history.ts'
import { readRef } from '../../../platform/git/refs/refs.ts'
import { findScheduler } from '../../accounts/credentials/delegated-tokens.ts'
import { checkMergeNotBlocked } from '../../conversations/dependencies.ts'
import { type SignedIn, scopesOf, tokenUuidOf } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError, metadataText, type Reason } from '../../core/errors.ts'
import { compileGlob } from '../../core/globs.ts'
import type { MergeStyle } from '../../core/schema.ts'
import { openRepositoryById } from '../../repositories/access/permissions.ts'
import { listContextStates } from '../../repositories/commits/commit-statuses.rows.ts'
import { combineStatuses } from '../../repositories/commits/commit-statuses.ts'
import { findUnverified } from '../../repositories/commits/commit-verification.ts'
import { allowedStyles } from '../../repositories/commits/merge-styles.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type FactSource, gatherFacts } from '../../repositories/protection/branch-review.ts'
import { type BranchRule, NO_FACTS_NEEDED } from '../../repositories/protection/protection-rules.ts'
import type { CommitStatus, Repository } from '../../repositories/schema.ts'
import { type MergeRights, readMergeRights } from '../heads/merge-rights.ts'
import { type OpenPull, reopenPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { isWorkInProgress } from '../lists/pull-views.ts'
import type { StackPlace } from '../queue/queue-stacks.ts'
import { countApprovals } from '../review/review-states.ts'
import type { PullMergeAttempt, PullRequest } from '../schema.ts'
import * as schedules from './scheduled-merges.rows.ts'

/** A merge from the request to its result. */

/** How a caller wants a pull request to be merged. */
export interface MergeOptions {
  /** Empty for the default. */
  readonly style: string
  /** Title and body of the commit message; empty for the default. */
  readonly title: string
  readonly message: string
  /** The commit that already merged the pull request in Git; for the style `manually-merged`. */
  readonly mergeCommitId: string
  /** The commit that the caller expects at the head; empty for any. */
  readonly headCommitId: string
  /** Whether to merge a pull request that is not ready. */
  readonly force: boolean
  /** Whether to schedule the merge if the pull request is not ready. */
  readonly whenChecksSucceed: boolean
  /** Whether to delete the head branch; undefined for the default of the repository. */
  readonly deleteBranch: boolean | undefined
}

/** A merge that the caller may make. Everything in here is read once. */
export interface OpenMerge extends OpenPull {
  readonly caller: SignedIn
  readonly options: MergeOptions
  /** Rights on the branch into which the merge goes. */
  readonly rights: MergeRights
  /** Undefined for a merge into the base branch. */
  readonly place?: StackPlace | undefined
}

/** Returns the branch into which a merge goes. */
export function targetOf({ pull, place }: Pick<OpenMerge, 'pull' | 'place'>): string {
  return place?.branch ?? pull.base_branch
}

/** The commits that a merge joins. All of them are in the base repository. */
interface MergeTips extends Pick<OpenMerge, 'repository' | 'owner' | 'pull' | 'place'> {
  /** Id of the commit that the base branch points to. */
  readonly base: string
  /** Id of the commit to merge. */
  readonly head: string
  /** Id of the merge base, in a stack with the head below; empty if the histories are unrelated. */
  readonly mergeBase: string
}

/** A merge whose commits, style and readiness are known. */
export interface CheckedMerge extends OpenMerge, MergeTips {
  readonly style: MergeStyle
  /** Whether to schedule the merge because the pull request is not ready. */
  readonly mustWait: boolean
}

export type MergeOutcome = 'merged' | 'scheduled' | 'queued'

/** Record of a merge in the row of its pull request, and the work after the merge. */
export type MergeResult = Omit<
  PullMergeAttempt,
  'pending_update_id' | 'pull_request_id' | 'merger_id' | 'position'
> & {
  /** Null if the user who merged is unknown. */
  readonly merger_id: number | null
}

/** Whether to delete the head branch after a merge, and the credential to do so with. */
type HeadDeletion = Pick<PullMergeAttempt, 'delete_head' | 'scopes' | 'token_uuid'>

export const NO_DELETION: HeadDeletion = { delete_head: 0, scopes: null, token_uuid: null }

/** The commits of a merge, as rows name them. */
type MergedCommits = Pick<
  PullMergeAttempt,
  'base_commit' | 'merge_base' | 'head_commit' | 'merge_commit'
>

/** Returns whether the server merges for a user who scheduled the merge. */
export function isScheduled({ credential }: SignedIn): boolean {
  return credential.kind === 'scheduled'
}

/** Refuses a merged or closed pull request. */
export function checkOpen({ state }: Pick<PullRequest, 'state'>): void {
  if (state === 'MERGED') throw new DomainError('PULL_REQUEST_MERGED')
  if (state === 'CLOSED') throw new DomainError('PULL_REQUEST_CLOSED')
}

/** Returns the result of a merge that the caller makes now. */
export function mergeResult(
  { clock }: ReposApp,
  merge: OpenMerge,
  commits: MergedCommits,
): Omit<PullMergeAttempt, 'pending_update_id' | 'pull_request_id' | 'position'> {
  const { caller, repository, options } = merge
  const { deleteBranch } = options
  return {
    ...commits,
    base_branch: targetOf(merge),
    merger_id: caller.user.id,
    time: nowSeconds(clock),
    delete_head: Number(deleteBranch ?? repository.default_delete_branch_after_merge === 1),
    scopes: scopesOf(caller)?.text ?? null,
    token_uuid: tokenUuidOf(caller) ?? null,
  }
}

/** The checks before a merge, in the order of compatible systems. */

/** The style that records a merge that was made in Git. */
export const MANUALLY_MERGED = 'manually-merged'

const DEFAULT_STYLE = 'merge'

/**
 * Opens a merge under the lock of the pull request and checks that the caller may make it.
 *
 * @param place of a pull request in a stack.
 */
export async function openMerge(
  app: ReposApp,
  caller: SignedIn,
  seen: OpenPull,
  options: MergeOptions,
  place?: StackPlace,
): Promise<OpenMerge> {
  const open = await reopenPull(app, seen)
  checkOpen(open.pull)
  if (isScheduled(caller) && !(await isStillScheduled(app, open.pull)))
    throw new DomainError('AUTO_MERGE_NOT_SCHEDULED')
  const rights = await readMergeRights(app, caller, open, targetOf({ ...open, place }))
  if (!rights.mayMerge) throw new DomainError('MERGE_DENIED')
  await checkMergeNotBlocked(app.db, open.pull, place?.belowIds)
  if (options.style === MANUALLY_MERGED && open.repository.allow_manual_merge === 0)
    throw styleNotAllowed(MANUALLY_MERGED)
  return { ...open, caller, options, rights, place }
}

/** Returns whether a merge is still scheduled, by a user who may still sign in. */
async function isStillScheduled(app: ReposApp, { id }: PullRequest): Promise<boolean> {
  const merge = await schedules.findScheduledMerge(app.db, id)
  return (
    merge !== undefined &&
    (await findScheduler(app, merge.scheduler_id, merge.token_uuid)) !== undefined
  )
}

/**
 * Finds the commits of a merge under the lock of the base branch, and checks that the pull request
 * is ready.
 *
 * @param onto the commit to merge with; undefined for the base branch.
 */
export async function checkMerge(
  app: ReposApp,
  merge: OpenMerge,
  onto?: string,
): Promise<CheckedMerge> {
  const { caller, options, rights } = merge
  const { force, whenChecksSucceed } = options
  const rule = rights.inForce?.rule
  const requested = options.style || DEFAULT_STYLE
  const tips = await findTips(app, merge, onto)
  const problemOf = async () =>
    rule && !(force && rights.mayForce) ? mergeProblem(app, tips, rule) : undefined
  const problem = whenChecksSucceed ? undefined : await problemOf()
  if (problem) throw new DomainError(problem.reason, problem.metadata)
  if (rule) await checkSignatures(app, tips, rule, requested)
  // A scheduled merge can begin before a setting changes, and find its checks successful after that.
  const { repository } = await openRepositoryById(app, caller, tips.repository.id, 'read', 'pulls')
  const style = checkStyle(repository, requested)
  const { headCommitId } = options
  if (headCommitId !== '' && headCommitId.toLowerCase() !== tips.head)
    throw new DomainError('HEAD_COMMIT_DIFFERS')
  const mustWait = whenChecksSucceed && (await problemOf()) !== undefined
  return { ...merge, ...tips, repository, style, mustWait }
}

/**
 * Finds the commits that a merge joins, and brings them to the base repository.
 *
 * Whether the commits conflict is left to the merge, whatever the last mergeability check found:
 * only the merge can name the files in conflict.
 */
async function findTips(
  app: ReposApp,
  { repository, owner, pull, place }: OpenMerge,
  onto: string | undefined,
): Promise<MergeTips> {
  if (isWorkInProgress(app, pull.title)) throw new DomainError('PULL_REQUEST_WORK_IN_PROGRESS')
  const branch = targetOf({ pull, place })
  const base = onto ?? (await readRef(app.git, repository.id, `refs/heads/${branch}`))
  if (base === undefined) throw notMergeable('ERROR')
  const head = await prepareHead(app, pull)
  if (head !== pull.head_commit) throw new DomainError('HEAD_COMMIT_DIFFERS')
  const below = place?.belowHead ?? base
  const mergeBase = (await reading(findMergeBase(app.git, repository.id, below, head))) ?? ''
  if (mergeBase === head) throw notMergeable('ANCESTOR')
  return { repository, owner, pull, place, base, head, mergeBase }
}

function notMergeable(mergeability: string): DomainError {
  return new DomainError('PULL_REQUEST_NOT_MERGEABLE', { mergeability })
}

/** Checks that a merge adds no unsigned commits to a branch whose rule requires signatures. */
async function checkSignatures(
  app: ReposApp,
  tips: MergeTips,
  rule: BranchRule,
  style: string,
): Promise<void> {
  if (!rule.require_signed_commits) return
  if (style !== 'fast-forward-only' && !app.settings.signing)
    throw new DomainError('MERGE_UNSIGNED')
  // The other styles create new commits, which the server signs.
  if (style !== 'fast-forward-only' && style !== 'merge') return
  const sha = await unverifiedCommit(app, tips, rule)
  if (sha !== undefined) throw new DomainError('HEAD_COMMITS_UNVERIFIED', { sha })
}

/** Returns the style with a name if the repository allows it. */
function checkStyle(repository: Repository, name: string): MergeStyle {
  const style = allowedStyles(repository).find((known) => known === name)
  if (style === undefined) throw styleNotAllowed(name)
  return style
}

/** The error for a style that the repository, or a queue, does not allow. */
export function styleNotAllowed(style: string): DomainError {
  return new DomainError('MERGE_STYLE_NOT_ALLOWED', { style: metadataText(style) })
}

/** The reason why a pull request is not ready. */
interface MergeProblem {
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
    tips.place ? 'other branch' : 'base',
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
  const needed = { ...NO_FACTS_NEEDED, files: true }
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
 */
async function unverifiedCommit(
  app: ReposApp,
  { pull, base, head }: MergeTips,
  rule: BranchRule,
): Promise<string | undefined> {
  const needed = { ...NO_FACTS_NEEDED, signatures: true }
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

/** The latest status of a context of a commit. */
type ContextState = Pick<CommitStatus, 'context' | 'state'>

/** The combined result of the statuses that a rule requires. */
export type StatusResult = 'success' | 'pending' | 'failure'

/**
 * Evaluates the statuses of a commit by the patterns of a rule.
 *
 * Each pattern must match at least one context, and all contexts that it matches must be `success`
 * or `skipped`. Invalid patterns are ignored. Without patterns, the commit must have at least one
 * status, and the combined status must be `success`.
 *
 * @param latest the latest status of each context.
 */
export function evaluateStatuses(
  { status_check_contexts }: Pick<BranchRule, 'status_check_contexts'>,
  latest: readonly ContextState[],
): StatusResult {
  const matchers = status_check_contexts.flatMap((pattern) => compileGlob(pattern, '') ?? [])
  if (matchers.length === 0) return combineStatuses(new Set(latest.map(({ state }) => state)))
  const results = matchers.map((matches) =>
    combineStatuses(
      new Set(latest.flatMap(({ context, state }) => (matches(context) ? state : []))),
    ),
  )
  if (results.includes('failure')) return 'failure'
  return results.includes('pending') ? 'pending' : 'success'
}
