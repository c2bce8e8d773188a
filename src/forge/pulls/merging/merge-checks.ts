import { findMergeBase } from '../../../platform/git/history/history.ts'
import { readRef } from '../../../platform/git/refs/refs.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { MergeStyle } from '../../core/schema.ts'
import { openRepositoryById } from '../../repositories/access/permissions.ts'
import { MERGE_STYLES } from '../../repositories/commits/merge-styles.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import type { Repository } from '../../repositories/schema.ts'
import { checkMergeNotBlocked } from '../conversation/pull-dependencies.ts'
import { readMergeRights } from '../heads/merge-rights.ts'
import { type OpenPull, reopenPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { isWorkInProgress } from '../heads/work-in-progress.ts'
import { isStillScheduled } from './merge-schedules.ts'
import {
  type CheckedMerge,
  checkOpen,
  isScheduled,
  type MergeOptions,
  type MergeTips,
  type OpenMerge,
} from './open-merges.ts'
import { mergeProblem, unverifiedCommit } from './readiness.ts'

/** The checks before a merge, in the order of compatible systems. */

/** The style that records a merge that was made in Git. */
export const MANUALLY_MERGED = 'manually-merged'

const DEFAULT_STYLE = 'merge'

/** The repository setting that allows each style. */
const SETTINGS = {
  merge: 'allow_merge_commits',
  rebase: 'allow_rebase',
  'rebase-merge': 'allow_rebase_explicit',
  squash: 'allow_squash_merge',
  'fast-forward-only': 'allow_fast_forward_only_merge',
} as const satisfies Record<MergeStyle, keyof Repository>

/**
 * Opens a merge under the lock of the pull request and checks that the caller may make it.
 *
 * @throws PULL_REQUEST_NOT_FOUND, PULL_REQUEST_MERGED, PULL_REQUEST_CLOSED;
 *   AUTO_MERGE_NOT_SCHEDULED for a scheduled merge that was cancelled; MERGE_DENIED, MERGE_BLOCKED;
 *   MERGE_STYLE_NOT_ALLOWED for a manual merge; SERVER_BUSY
 */
export async function openMerge(
  app: ReposApp,
  caller: SignedIn,
  seen: OpenPull,
  options: MergeOptions,
): Promise<OpenMerge> {
  const open = await reopenPull(app, seen)
  checkOpen(open.pull)
  if (isScheduled(caller) && !(await isStillScheduled(app, open.pull)))
    throw new DomainError('AUTO_MERGE_NOT_SCHEDULED')
  const rights = await readMergeRights(app, caller, open, open.pull.base_branch)
  if (!rights.mayMerge) throw new DomainError('MERGE_DENIED')
  await checkMergeNotBlocked(app.db, open.pull)
  if (options.style === MANUALLY_MERGED && open.repository.allow_manual_merge === 0)
    throw styleNotAllowed(MANUALLY_MERGED)
  return { ...open, caller, options, rights }
}

/**
 * Finds the commits of a merge under the lock of the base branch, and checks that the pull request
 * is ready.
 *
 * @throws as `findTips` and `openRepositoryById`; a reason of `MergeProblem` if the pull request is
 *   not ready; MERGE_UNSIGNED, HEAD_COMMITS_UNVERIFIED, MERGE_STYLE_NOT_ALLOWED,
 *   HEAD_COMMIT_DIFFERS, SERVER_BUSY, GIT_TIMEOUT
 */
export async function checkMerge(app: ReposApp, merge: OpenMerge): Promise<CheckedMerge> {
  const { caller, options, rights } = merge
  const { force, whenChecksSucceed } = options
  const rule = rights.inForce?.rule
  const requested = options.style || DEFAULT_STYLE
  const tips = await findTips(app, merge)
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
 *
 * @throws PULL_REQUEST_WORK_IN_PROGRESS, PULL_REQUEST_NOT_MERGEABLE, HEAD_COMMIT_DIFFERS,
 *   REF_NOT_FOUND, SERVER_BUSY, GIT_TIMEOUT
 */
async function findTips(app: ReposApp, { repository, owner, pull }: OpenPull): Promise<MergeTips> {
  if (isWorkInProgress(app, pull.title)) throw new DomainError('PULL_REQUEST_WORK_IN_PROGRESS')
  const base = await readRef(app.git, repository.id, `refs/heads/${pull.base_branch}`)
  if (base === undefined) throw notMergeable('ERROR')
  const head = await prepareHead(app, pull)
  if (head !== pull.head_commit) throw new DomainError('HEAD_COMMIT_DIFFERS')
  const mergeBase = (await reading(findMergeBase(app.git, repository.id, base, head))) ?? ''
  if (mergeBase === head) throw notMergeable('ANCESTOR')
  return { repository, owner, pull, base, head, mergeBase }
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
  const style = MERGE_STYLES.find((known) => known === name)
  if (style === undefined || repository[SETTINGS[style]] === 0) throw styleNotAllowed(name)
  return style
}

/** Returns the styles that a repository allows. */
export function allowedStyles(repository: Repository): MergeStyle[] {
  return MERGE_STYLES.filter((style) => repository[SETTINGS[style]] === 1)
}

function styleNotAllowed(style: string): DomainError {
  return new DomainError('MERGE_STYLE_NOT_ALLOWED', { style: metadataText(style) })
}
