import { findScheduler } from '../../accounts/credentials/delegated-tokens.ts'
import { checkMergeNotBlocked } from '../../conversations/dependencies.ts'
import { onBehalfOf } from '../../core/access.ts'
import { DomainError, type Reason } from '../../core/errors.ts'
import { Scopes } from '../../core/scopes.ts'
import { openRepositoryById } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { queueIn, queueStyle } from '../../repositories/protection/merge-queue-settings.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import { readMergeRights } from '../heads/merge-rights.ts'
import { findPullRequestById } from '../heads/pull-requests.rows.ts'
import {
  type CheckedMerge,
  checkMerge,
  checkOpen,
  type OpenMerge,
  targetOf,
} from '../merging/merge-checks.ts'
import { createMergeCommits } from '../merging/merge-commits.ts'
import { isTemporary } from '../merging/merge-follow-ups.ts'
import type { MergeQueueEntry } from '../schema.ts'
import { withRule } from './queue-entries.ts'
import { DRAFT, HEAD_MOVED, type LeaveReason } from './queue-exits.ts'
import { placeOf } from './queue-stacks.ts'

/** The commits that a merge queue makes of its entries. */

/** What was made of an entry. */
export interface MadeCandidate {
  /** The commit that the base would have. */
  readonly commit: string
  readonly mergeBase: string
}

/**
 * Makes the commits of an entry on another commit. No ref points to them yet.
 *
 * @throws DomainError if the entry may not be merged, or not on this commit.
 */
export async function makeCandidate(
  app: ReposApp,
  entry: MergeQueueEntry,
  onto: string,
): Promise<MadeCandidate> {
  const merge = await checkQueued(app, entry, onto)
  const commit = await createMergeCommits(app, merge)
  if (commit === onto)
    throw new DomainError('PULL_REQUEST_NOT_MERGEABLE', { mergeability: 'ANCESTOR' })
  return { commit, mergeBase: merge.mergeBase }
}

/**
 * Checks that an entry may be merged onto a commit now, by the rights of who added it and by the
 * rule. Statuses are not asked.
 *
 * @throws DomainError, for which `leaveReasonOf` returns the reason.
 */
export async function checkQueued(
  app: ReposApp,
  entry: MergeQueueEntry,
  onto: string,
): Promise<CheckedMerge> {
  return checkMerge(app, await openQueued(app, entry), onto)
}

async function openQueued(app: ReposApp, entry: MergeQueueEntry): Promise<OpenMerge> {
  const { adder_id, token_uuid, scopes, title, message, delete_branch, head_commit } = entry
  const adder = await findScheduler(app, adder_id, token_uuid)
  if (!adder) throw new DomainError('MERGE_DENIED')
  const limits = scopes === null ? undefined : Scopes.fromText(scopes)
  const caller = onBehalfOf(adder, limits, token_uuid ?? undefined)
  const pull = await findPullRequestById(app.db, entry.pull_request_id)
  if (!pull) throw new DomainError('PULL_REQUEST_NOT_FOUND')
  const open = await openRepositoryById(app, caller, pull.repository_id, 'read', 'pulls')
  checkOpen(pull)
  if (pull.head_commit !== head_commit) throw new DomainError('HEAD_COMMIT_DIFFERS')
  const place = await placeOf(app.db, entry)
  const rights = await readMergeRights(app, caller, open, targetOf({ pull, place }))
  const rule = queueIn(rights.inForce)
  if (!rights.mayMerge || !rule) throw new DomainError('MERGE_DENIED')
  await checkMergeNotBlocked(app.db, pull, place?.belowIds)
  const options = {
    style: queueStyle(open.repository, rule),
    title,
    message,
    mergeCommitId: '',
    headCommitId: head_commit,
    force: false,
    whenChecksSucceed: false,
    deleteBranch: delete_branch === null ? undefined : delete_branch === 1,
  }
  const merge = { ...open, access: open.units.pulls, pull, caller, options, rights, place }
  return withRule(merge, ruleForCandidates(rule))
}

/** The statuses of the candidate decide, and each candidate is up to date. */
function ruleForCandidates(rule: BranchRule): BranchRule {
  return { ...rule, enable_status_check: false, block_on_outdated_branch: false }
}

const TEXTS: Readonly<Partial<Record<Reason, string>>> = {
  APPROVALS_MISSING: 'the pull request does not have enough approvals',
  CHANGES_REQUESTED: 'changes are requested',
  REVIEWS_MISSING: 'there are official review requests',
  PROTECTED_FILES_CHANGED: 'the pull request changes protected files',
  MERGE_BLOCKED: 'the pull request is blocked by an open dependency',
  MERGE_UNSIGNED: 'the server does not sign commits',
  HEAD_COMMITS_UNVERIFIED: 'not all commits of the pull request are verified',
  MERGE_STYLE_NOT_ALLOWED: 'the repository does not allow the style of the queue',
  TOO_MANY_COMMITS_TO_REBASE: 'the pull request has too many commits for a rebase',
}

/**
 * Returns the reason for which an entry leaves after a refusal; undefined if it stays, since another
 * attempt may succeed.
 */
export function leaveReasonOf(error: DomainError): LeaveReason | undefined {
  const { reason, metadata } = error
  switch (reason) {
    case 'HEAD_COMMIT_DIFFERS':
      return HEAD_MOVED
    case 'PULL_REQUEST_WORK_IN_PROGRESS':
      return DRAFT
    case 'PULL_REQUEST_MERGED':
    case 'PULL_REQUEST_CLOSED':
    case 'PULL_REQUEST_NOT_FOUND':
      return { code: 'CLOSED', text: 'the pull request is not open' }
    case 'MERGE_DENIED':
    case 'REPOSITORY_NOT_FOUND':
    case 'REPOSITORY_UNIT_CLOSED':
    case 'REPOSITORY_ACCESS_DENIED':
      return { code: 'RIGHT_LOST', text: 'who added the pull request may not merge it any more' }
    case 'MERGE_CONFLICT':
    case 'REBASE_CONFLICT':
      return { code: 'CONFLICT', text: 'there are conflicts', files: pathsIn(metadata.paths) }
    case 'PULL_REQUEST_NOT_MERGEABLE':
      return { code: 'NOTHING_TO_MERGE', text: 'the base branch has every change already' }
    default:
      if (isTemporary(error) || reason === 'GIT_MEMORY_EXCEEDED' || reason === 'DISK_FULL')
        return undefined
      return { code: 'NOT_READY', text: TEXTS[reason] ?? reason.toLowerCase().replaceAll('_', ' ') }
  }
}

function pathsIn(list = '[]'): string[] {
  return JSON.parse(list) as string[]
}

/** Returns whether a refusal is about the commit below the entry, and not about the entry alone. */
export function isAboutBase({ code }: LeaveReason): boolean {
  return code === 'CONFLICT' || code === 'NOTHING_TO_MERGE'
}
