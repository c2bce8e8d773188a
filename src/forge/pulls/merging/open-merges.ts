import { type SignedIn, scopesOf, tokenUuidOf } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { MergeStyle } from '../../core/schema.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { MergeRights } from '../heads/merge-rights.ts'
import type { OpenPull } from '../heads/open-pulls.ts'
import type { PullMergeAttempt, PullRequest } from '../schema.ts'

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
  readonly rights: MergeRights
}

/** The commits that a merge joins. All of them are in the base repository. */
export interface MergeTips extends Pick<OpenPull, 'repository' | 'owner' | 'pull'> {
  /** Id of the commit that the base branch points to. */
  readonly base: string
  /** Id of the commit to merge. */
  readonly head: string
  /** Id of the merge base; empty if the histories are unrelated. */
  readonly mergeBase: string
}

/** A merge whose commits, style and readiness are known. */
export interface CheckedMerge extends OpenMerge, MergeTips {
  readonly style: MergeStyle
  /** Whether to schedule the merge because the pull request is not ready. */
  readonly mustWait: boolean
}

export type MergeOutcome = 'merged' | 'scheduled'

/** Record of a merge in the row of its pull request, and the work after the merge. */
export type MergeResult = Omit<PullMergeAttempt, 'note_id' | 'pull_request_id' | 'merger_id'> & {
  /** Null if the user who merged is unknown. */
  readonly merger_id: number | null
}

/** Whether to delete the head branch after a merge, and the credential to do so with. */
export type HeadDeletion = Pick<PullMergeAttempt, 'delete_head' | 'scopes' | 'token_uuid'>

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

/** @throws PULL_REQUEST_MERGED, PULL_REQUEST_CLOSED */
export function checkOpen({ state }: Pick<PullRequest, 'state'>): void {
  if (state === 'MERGED') throw new DomainError('PULL_REQUEST_MERGED')
  if (state === 'CLOSED') throw new DomainError('PULL_REQUEST_CLOSED')
}

/** Returns the result of a merge that the caller makes now. */
export function mergeResult(
  { clock }: ReposApp,
  { caller, repository, options: { deleteBranch } }: OpenMerge,
  commits: MergedCommits,
): Omit<PullMergeAttempt, 'note_id' | 'pull_request_id'> {
  return {
    ...commits,
    merger_id: caller.user.id,
    time: nowSeconds(clock),
    delete_head: Number(deleteBranch ?? repository.default_delete_branch_after_merge === 1),
    scopes: scopesOf(caller)?.text ?? null,
    token_uuid: tokenUuidOf(caller) ?? null,
  }
}
