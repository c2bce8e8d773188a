import { independentCommits } from '../../../git/history/independent-commits.ts'
import { readCommit } from '../../../git/objects/commits.ts'
import { readRef } from '../../../git/refs/refs.ts'
import { findUserById } from '../../../storage/accounts/users.ts'
import { deleteAutoMerge } from '../../../storage/pulls/auto-merges.ts'
import {
  deleteMergeAttempt,
  listMergeAttempts,
  type MergeIntoBranch,
  putMergeAttempt,
} from '../../../storage/pulls/pull-merge-attempts.ts'
import { markSeen } from '../../../storage/pulls/pull-participants.ts'
import {
  findPullRequestById,
  touchPull,
  updatePullRequest,
} from '../../../storage/pulls/pull-requests.ts'
import type { PullMergeAttempt, PullRequest } from '../../../storage/schema/pulls.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { recordFollowUp } from './merge-follow-ups.ts'
import type { MergeResult } from './merge-order.ts'

/**
 * Merges between Git and rows. That a pull request is about to be merged is noted before Git is
 * asked to move its base branch; once that has moved, the pull request is merged in the transaction
 * that records so. Git is the truth about whether it has happened: the base leads to the commit of
 * the merge, or does not. A crash in between leaves a note, and whoever reads it finds out.
 */

/** A merge that nobody works on any more. */
export interface EndedMerge {
  readonly attempt: MergeIntoBranch
  /** What Git says. */
  readonly hasHappened: boolean
}

/**
 * Notes that a pull request is about to be merged, in the transaction of the note about its base
 * branch.
 *
 * @param pull as it was when it was decided to merge it: nothing of that may have changed.
 * @throws PULL_REQUEST_MERGED, PULL_REQUEST_CLOSED, HEAD_COMMIT_DIFFERS, MERGE_OUT_OF_DATE
 */
export async function recordMergeAttempt(
  tx: Tx,
  noteId: number,
  pull: PullRequest,
  result: Omit<PullMergeAttempt, 'note_id' | 'pull_request_id'>,
): Promise<void> {
  await checkSame(tx, pull)
  await putMergeAttempt(tx, { ...result, pull_request_id: pull.id, note_id: noteId })
}

/**
 * Makes sure that a pull request is as it was when it was decided to merge it.
 *
 * @throws PULL_REQUEST_NOT_FOUND, PULL_REQUEST_MERGED, PULL_REQUEST_CLOSED, HEAD_COMMIT_DIFFERS,
 *   MERGE_OUT_OF_DATE
 */
export async function checkSame(
  tx: Tx,
  { id, base_branch, head_commit }: PullRequest,
): Promise<void> {
  const present = await findPullRequestById(tx, id)
  if (!present) throw new DomainError('PULL_REQUEST_NOT_FOUND')
  checkOpen(present)
  if (present.head_commit !== head_commit) throw new DomainError('HEAD_COMMIT_DIFFERS')
  if (present.base_branch !== base_branch) throw new DomainError('MERGE_OUT_OF_DATE')
}

/** @throws PULL_REQUEST_MERGED, PULL_REQUEST_CLOSED */
export function checkOpen({ state }: Pick<PullRequest, 'state'>): void {
  if (state === 'MERGED') throw new DomainError('PULL_REQUEST_MERGED')
  if (state === 'CLOSED') throw new DomainError('PULL_REQUEST_CLOSED')
}

/** The merges that belong to notes whose work has ended, of a repository. */
export async function endedMerges(
  app: ReposApp,
  repositoryId: number,
  notes: readonly number[],
): Promise<EndedMerge[]> {
  const attempts = await listMergeAttempts(app.db, notes)
  return Promise.all(
    attempts.map(async (attempt) => ({
      attempt,
      hasHappened: await hasHappened(app, repositoryId, attempt),
    })),
  )
}

async function hasHappened(
  app: ReposApp,
  id: number,
  { base_branch, merge_commit }: MergeIntoBranch,
): Promise<boolean> {
  const tip = await readRef(app.git, id, `refs/heads/${base_branch}`)
  if (tip === undefined || tip === merge_commit) return tip !== undefined
  // A crash of the machine takes what nothing leads to.
  if (!(await readCommit(app.git, id, merge_commit))) return false
  return !(await independentCommits(app.git, id, [tip, merge_commit])).has(merge_commit)
}

/**
 * Marks pull requests as merged, in the transaction that records where their base branch has moved.
 *
 * @param settled notes whose work Git will not do any more if it has not.
 */
export async function settleMerges(
  app: ReposApp,
  tx: Tx,
  merges: readonly EndedMerge[],
  settled: readonly number[],
): Promise<void> {
  for (const { attempt, hasHappened } of merges) {
    if (hasHappened) await recordMerge(app, tx, attempt.pull_request_id, attempt)
    if (hasHappened || settled.includes(attempt.note_id)) await deleteMergeAttempt(tx, attempt)
  }
}

/**
 * Marks a pull request as merged, whatever it was besides: Git is the truth about that. Whoever
 * merged it has seen it.
 */
export async function recordMerge(
  app: ReposApp,
  tx: Tx,
  pullId: number,
  result: MergeResult,
): Promise<void> {
  const pull = await findPullRequestById(tx, pullId)
  if (!pull || pull.state === 'MERGED') return
  const { merge_base, merge_commit, head_commit, time } = result
  // Whose account may have gone meanwhile.
  const merger_id =
    (result.merger_id !== null && (await findUserById(tx, result.merger_id))?.id) || null
  const facts = { merger_id, merge_base, merge_commit, head_commit }
  const merged = await updatePullRequest(tx, pullId, {
    ...facts,
    state: 'MERGED',
    merge_time: time,
    close_time: time,
  })
  await touchPull(tx, pullId, nowSeconds(app.clock), merger_id ?? undefined)
  if (merger_id !== null) await markSeen(tx, pullId, merger_id)
  await deleteAutoMerge(tx, pullId)
  await recordFollowUp(app, tx, merged, { ...result, merger_id })
  await recordPullChange(app, tx, merger_id ?? undefined, merged, 'PULL_REQUEST_MERGED')
}
