import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { checkWritable, type OpenRepository } from '../../repositories/access/permissions.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { findBranch } from '../../repositories/refs/branches.rows.ts'
import { isForcedMove } from '../heads/forced-moves.ts'
import { movedHead, recordPullChange } from '../heads/pull-changes.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { findPullRequestById, touchPull, updatePullRequest } from '../heads/pull-requests.rows.ts'
import { newPullRow, storePull } from '../lifecycle/create-pull.ts'
import { isWorkInProgress } from '../lists/pull-views.ts'
import { startCheck } from '../merging/mergeability.ts'
import { findCodeOwners } from '../review/code-owners.ts'
import { compareReviewsSoon } from '../review/review-states.ts'
import type { PullRequest } from '../schema.ts'

/** The rows of pull requests that pushes open and update. */

/** A pull request as a push proposes it. */
export interface ProposedPull {
  readonly base: string
  readonly topic: string
  /** Id of the head commit, whose objects are in the repository. */
  readonly head: string
  readonly mergeBase: string
  readonly title: string
  readonly body: string
}

/**
 * Opens a pull request.
 *
 * @returns undefined if the base branch was deleted meanwhile.
 */
export async function openProposed(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  { base, topic, head, mergeBase, title, body }: ProposedPull,
): Promise<PullRequest | undefined> {
  const { id } = open.repository
  const posterId = caller.user.id
  const owners = isWorkInProgress(app, title)
    ? { users: [], teams: [] }
    : await findCodeOwners(app, open, { posterId, baseBranch: base, mergeBase, head })
  const row = newPullRow(app, {
    repository_id: id,
    base_branch: base,
    // No branch leads to the head, so that no change of a branch moves or closes the pull request.
    head_repository_id: null,
    head_branch: '',
    agit_topic: topic,
    head_commit: head,
    merge_base: mergeBase,
    title,
    body,
    poster_id: posterId,
    allow_maintainer_edit: 0,
  })
  const opened = await changeWatched(app, async (tx) => {
    const repository = await findRepositoryById(tx, id)
    if (!repository || !(await findBranch(tx, id, base))) return undefined
    checkWritable(repository)
    return storePull(app, tx, caller, open, { row, owners })
  })
  if (opened) await showHead(app, opened)
  return opened
}

/**
 * Moves the head of an open pull request.
 *
 * @returns undefined if the pull request has changed meanwhile.
 */
export async function updateProposed(
  app: ReposApp,
  caller: SignedIn,
  { id, repository_id, head_commit: before }: PullRequest,
  head: string,
): Promise<PullRequest | undefined> {
  const { id: actorId } = caller.user
  const isForced = await isForcedMove(app, repository_id, before, head)
  const updated = await changeWatched(app, async (tx) => {
    const present = await findPullRequestById(tx, id)
    if (present?.state !== 'OPEN' || present.head_commit !== before) return undefined
    const moved = await updatePullRequest(tx, id, { head_commit: head })
    await touchPull(tx, id, nowSeconds(app.clock), actorId)
    await recordPullChange(app, tx, actorId, moved, movedHead(before, isForced))
    return moved
  })
  if (!updated) return undefined
  compareReviewsSoon(app, id)
  await showHead(app, updated)
  return updated
}

/** Brings `refs/pull/{number}/head` up to date before the push ends. A failure is repaired later. */
async function showHead(app: ReposApp, pull: PullRequest): Promise<void> {
  startCheck(app, pull)
  await prepareHead(app, pull).catch((err: unknown) => {
    app.log.error(
      { err, pullRequest: pull.id },
      'the ref of a pull request could not be brought up to date',
    )
    app.signals.pullHeads.notify()
  })
}
