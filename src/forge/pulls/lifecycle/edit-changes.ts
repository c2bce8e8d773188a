import type { Tx } from '../../../platform/database/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { findBranch } from '../../repositories/refs/branches.rows.ts'
import { checkCloseNotBlocked } from '../conversation/pull-dependencies.ts'
import type { PullRequest, PullRequestChanges } from '../schema.ts'
import { checkVersion, noBase, type PullEdit, type ReadEdit } from './edit-reading.ts'

/** Returns the changes that differ from the present values. */
export function differing(pull: PullRequest, changes: PullRequestChanges): PullRequestChanges {
  const before = new Map<string, unknown>(Object.entries(pull))
  return Object.fromEntries(
    Object.entries(changes).filter(([column, value]) => before.get(column) !== value),
  )
}

/**
 * @param seen the pull request as the caller saw it.
 * @throws PULL_REQUEST_CHANGED when the description has changed since.
 */
export function changesOfBody(
  seen: PullRequest,
  pull: PullRequest,
  edit: PullEdit,
): PullRequestChanges {
  checkVersion(edit, pull)
  if (edit.body === undefined) return {}
  if (pull.content_version !== seen.content_version) throw new DomainError('PULL_REQUEST_CHANGED')
  return edit.body === pull.body
    ? {}
    : { body: edit.body, content_version: pull.content_version + 1 }
}

/** @throws PULL_REQUEST_STATE_FIXED, CLOSE_BLOCKED, PULL_REQUEST_BRANCH_GONE */
export async function changesOfState(
  app: ReposApp,
  tx: Tx,
  pull: PullRequest,
  { state, mergeBase }: ReadEdit,
): Promise<PullRequestChanges> {
  if (state === undefined) return {}
  if (pull.state === 'MERGED') throw new DomainError('PULL_REQUEST_STATE_FIXED')
  if (pull.state === state) return {}
  if (state === 'CLOSED') {
    await checkCloseNotBlocked(tx, pull)
    return { state, close_time: nowSeconds(app.clock) }
  }
  const { repository_id, base_branch, head_repository_id, head_branch } = pull
  const head =
    head_repository_id === null ? undefined : await findBranch(tx, head_repository_id, head_branch)
  if (!head) throw branchGone(head_branch)
  // With a new base, the former base need not exist.
  if (mergeBase === undefined && !(await findBranch(tx, repository_id, base_branch))) {
    throw branchGone(base_branch)
  }
  return { state, close_time: null, head_commit: head.commit_id }
}

export function branchGone(branch: string): DomainError {
  return new DomainError('PULL_REQUEST_BRANCH_GONE', { branch })
}

/**
 * @throws RETARGET_OF_MERGED, RETARGET_OF_CLOSED, NEW_BASE_NOT_FOUND when the state or the branch
 *   changed meanwhile.
 */
export async function changesOfBase(
  tx: Tx,
  pull: PullRequest,
  { base }: PullEdit,
  { mergeBase, state }: ReadEdit,
): Promise<PullRequestChanges> {
  if (mergeBase === undefined || base === pull.base_branch) return {}
  if (pull.state === 'MERGED') throw new DomainError('RETARGET_OF_MERGED')
  if ((state ?? pull.state) !== 'OPEN') throw new DomainError('RETARGET_OF_CLOSED')
  if (!(await findBranch(tx, pull.repository_id, base))) throw noBase(base)
  return { base_branch: base, merge_base: mergeBase }
}
