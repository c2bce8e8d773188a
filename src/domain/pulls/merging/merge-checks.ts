import { findMergeBase } from '../../../git/history/history.ts'
import { readRef } from '../../../git/refs/refs.ts'
import type { MergeStyle, Repository } from '../../../storage/schema/repos.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { readBranchRules } from '../../repos/protection/branch-rules.ts'
import {
  type BranchRule,
  mayBypass,
  mayMerge,
  type RuleInForce,
} from '../../repos/protection/protection-rules.ts'
import { reading } from '../../repos/reading/git-reading.ts'
import { MERGE_STYLES } from '../../repos/writing/merge-styles.ts'
import type { OpenPull } from '../access/open-pulls.ts'
import { isWorkInProgress } from '../access/work-in-progress.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { type MergeTips, mergeProblem, unverifiedCommit } from './readiness.ts'

/**
 * What is looked at before a pull request is merged, in the order of compatible systems. Each
 * function refuses what is not as it has to be.
 */

/** A style that says that Git has merged it already. */
export const MANUALLY_MERGED = 'manually-merged'

/**
 * The rule for the base of a pull request, as it is for a caller; undefined without one.
 *
 * @throws SERVER_BUSY
 */
export async function ruleForBase(
  app: ReposApp,
  caller: SignedIn,
  { repository, units, pull }: OpenPull,
): Promise<RuleInForce | undefined> {
  const rules = await readBranchRules(app, repository.id, caller.user.id, units)
  return rules.inForceFor(pull.base_branch)
}

/**
 * Whether a caller may merge a pull request: by the list of the rule, if it has one; else who may
 * write code.
 */
export async function mayMergePull(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
): Promise<boolean> {
  return isAllowedToMerge(open, await ruleForBase(app, caller, open))
}

/** The same for who knows the rule. */
export function isAllowedToMerge(
  { units }: Pick<OpenPull, 'units'>,
  inForce: RuleInForce | undefined,
): boolean {
  return inForce ? mayMerge(inForce.rule, inForce.pusher) : suffices(units.code, 'write')
}

/** Whether a caller who may merge a pull request may do so although it is not ready. */
export function isAllowedToForce(
  { units }: Pick<OpenPull, 'units'>,
  inForce: RuleInForce | undefined,
): boolean {
  return inForce ? mayBypass(inForce.rule, inForce.pusher) : suffices(units.code, 'admin')
}

/**
 * What is to be merged with what, at this moment. Its objects are in the repository of the base
 * from then on.
 *
 * Whether the two go together is for the merge to find out, whatever the last check has found: who
 * asks gets the same answer before that check and after it, with what is in conflict. Only what
 * brings nothing is told apart here.
 *
 * @throws PULL_REQUEST_WORK_IN_PROGRESS, PULL_REQUEST_NOT_MERGEABLE, HEAD_COMMIT_DIFFERS,
 *   REF_NOT_FOUND, SERVER_BUSY, GIT_TIMEOUT
 */
export async function findMergeTips(
  app: ReposApp,
  { repository, pull }: OpenPull,
): Promise<MergeTips> {
  if (isWorkInProgress(app, pull.title)) throw new DomainError('PULL_REQUEST_WORK_IN_PROGRESS')
  const base = await readRef(app.git, repository.id, `refs/heads/${pull.base_branch}`)
  if (base === undefined) throw notMergeable('ERROR')
  const head = await prepareHead(app, pull)
  if (head !== pull.head_commit) throw new DomainError('HEAD_COMMIT_DIFFERS')
  const mergeBase = (await reading(findMergeBase(app.git, repository.id, base, head))) ?? ''
  if (mergeBase === head) throw notMergeable('ANCESTOR')
  return { pull, base, head, mergeBase }
}

function notMergeable(mergeability: string): DomainError {
  return new DomainError('PULL_REQUEST_NOT_MERGEABLE', { mergeability })
}

/**
 * Refuses what is not ready by a rule.
 *
 * @throws STATUS_CHECKS_MISSING, APPROVALS_MISSING, CHANGES_REQUESTED, REVIEWS_MISSING,
 *   HEAD_BEHIND_BASE, PROTECTED_FILES_CHANGED, SERVER_BUSY, GIT_TIMEOUT
 */
export async function checkReady(app: ReposApp, tips: MergeTips, rule: BranchRule): Promise<void> {
  const problem = await mergeProblem(app, tips, rule)
  if (problem) throw new DomainError(problem.reason, problem.metadata)
}

/**
 * Refuses what would bring commits without signatures to a branch whose rule requires them.
 *
 * @throws MERGE_UNSIGNED, HEAD_COMMITS_UNVERIFIED, SERVER_BUSY, GIT_TIMEOUT
 */
export async function checkSignatures(
  app: ReposApp,
  tips: MergeTips,
  rule: BranchRule,
  style: string,
): Promise<void> {
  if (!rule.require_signed_commits) return
  if (style !== 'fast-forward-only' && !app.settings.signing)
    throw new DomainError('MERGE_UNSIGNED')
  // The other styles bring none of them, but others in their places.
  if (style !== 'fast-forward-only' && style !== 'merge') return
  const sha = await unverifiedCommit(app, tips, rule)
  if (sha !== undefined) throw new DomainError('HEAD_COMMITS_UNVERIFIED', { sha })
}

/**
 * The style that a word stands for, where the repository allows it.
 *
 * @throws MERGE_STYLE_NOT_ALLOWED
 */
export function checkStyle(repository: Repository, word: string): MergeStyle {
  const style = MERGE_STYLES.find((known) => known === word)
  if (style === undefined || repository[SETTINGS[style]] === 0) throw styleNotAllowed(word)
  return style
}

/** @throws MERGE_STYLE_NOT_ALLOWED */
export function checkManualMerges({ allow_manual_merge }: Repository): void {
  if (allow_manual_merge === 0) throw styleNotAllowed(MANUALLY_MERGED)
}

function styleNotAllowed(style: string): DomainError {
  return new DomainError('MERGE_STYLE_NOT_ALLOWED', { style: metadataText(style) })
}

/** What a repository allows each style by. */
const SETTINGS = {
  merge: 'allow_merge_commits',
  rebase: 'allow_rebase',
  'rebase-merge': 'allow_rebase_explicit',
  squash: 'allow_squash_merge',
  'fast-forward-only': 'allow_fast_forward_only_merge',
} as const satisfies Record<MergeStyle, keyof Repository>
