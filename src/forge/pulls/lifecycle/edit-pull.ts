import { isUniqueViolation } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { PullName } from '../../core/names.ts'
import { checkNotArchived } from '../../repositories/access/permissions.ts'
import { changeWatched, type PullEventType } from '../../repositories/activity/repository-events.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { assigneesOf } from '../conversation/pull-assignees.rows.ts'
import { setPullAssignees } from '../conversation/pull-assignees.ts'
import { setPullLabels } from '../conversation/pull-labels.ts'
import { insertParticipants } from '../conversation/pull-participants.rows.ts'
import { recordTimelineEvents } from '../conversation/pull-timeline.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { type OpenPull, openPull } from '../heads/open-pulls.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import {
  findPullRequestBetween,
  findPullRequestById,
  touchPull,
  updatePullRequest,
} from '../heads/pull-requests.rows.ts'
import { editEvents, usualEvents } from '../heads/pull-webhook-events.ts'
import type { PullView } from '../lists/pull-views.ts'
import { dropScheduledMerge } from '../merging/scheduled-merges.ts'
import { requestCodeOwners } from '../review/code-owners.ts'
import { compareReviewsSoon, recomputeOfficial } from '../review/review-states.ts'
import type { PullRequest } from '../schema.ts'
import { pullExists } from './create-pull.ts'
import {
  branchGone,
  changesOfBase,
  changesOfBody,
  changesOfState,
  differing,
} from './edit-changes.ts'
import { editConcerns } from './edit-concerns.ts'
import {
  checkVersion,
  checkWelcome,
  type PullEdit,
  type ReadEdit,
  readEdit,
  requireMilestone,
  seesHead,
} from './edit-reading.ts'
import { timelineOfEdit } from './edit-timeline.ts'
import { viewWritten } from './pull-records.ts'

/**
 * Changes a pull request. Only users who may write to pull requests change assignees, milestone and
 * labels; other callers' values are ignored.
 *
 * @throws the errors of `openPull` for 'poster or write'; PULL_REQUEST_CHANGED; USER_BLOCKED;
 *   INVALID_FIELD; the errors of `findAssignees`; MILESTONE_NOT_FOUND; PULL_REQUEST_STATE_FIXED,
 *   INVALID_PULL_REQUEST_STATE, CLOSE_BLOCKED, PULL_REQUEST_BRANCH_GONE; RETARGET_OF_MERGED,
 *   NEW_BASE_NOT_FOUND, RETARGET_OF_CLOSED, PULL_REQUEST_WITHOUT_CHANGES, PULL_REQUEST_UNRELATED;
 *   PULL_REQUEST_EXISTS;
 *   MAINTAINER_EDIT_DENIED; SERVER_BUSY, GIT_TIMEOUT
 */
export async function editPull(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  edit: PullEdit,
): Promise<PullView> {
  const reopen = () => openPull(app, caller, name, 'poster or write')
  const open = await reopen()
  // A merge depends on state and base.
  const setsCourse = Boolean(edit.state) || edit.base !== ''
  const edited = setsCourse
    ? await withPullLock(app, open.pull.id, async () => change(app, caller, await reopen(), edit))
    : await change(app, caller, open, edit)
  if (edited.base_branch !== open.pull.base_branch) compareReviewsSoon(app, edited.id)
  return viewWritten(app, caller, open, edited)
}

async function change(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  edit: PullEdit,
): Promise<PullRequest> {
  checkVersion(edit, open.pull)
  const read = await readEdit(app, caller, open, edit)
  const headIsSeen = await seesHead(app, caller, open)
  // A closed pull request whose head is hidden must not be opened again by others to reveal later
  // commits of the branch.
  if (read.state === 'OPEN' && open.pull.state === 'CLOSED' && !headIsSeen)
    throw branchGone(open.pull.head_branch)
  try {
    return await changeWatched(app, (tx) => apply(app, tx, caller, open, { edit, read }))
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw (await findRival(app, open.pull, edit, headIsSeen)) ?? error
  }
}

/** An edit, and the values that were read from it. */
interface CheckedEdit {
  readonly edit: PullEdit
  readonly read: ReadEdit
}

/** Applies an edit to the present row of the pull request. */
async function apply(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  open: OpenPull,
  { edit, read }: CheckedEdit,
): Promise<PullRequest> {
  const { id } = open.pull
  const pull = await findPullRequestById(tx, id)
  const repository = await findRepositoryById(tx, open.repository.id)
  if (!pull || !repository) throw new DomainError('PULL_REQUEST_NOT_FOUND')
  checkNotArchived(repository)
  await checkWelcome(tx, caller, open)
  if (read.milestoneId) await requireMilestone(tx, open, read.milestoneId)
  const changes = differing(pull, {
    ...(read.title !== '' && { title: read.title }),
    ...changesOfBody(open.pull, pull, edit),
    ...(read.dueTime !== undefined && { due_time: read.dueTime }),
    ...(read.milestoneId !== undefined && { milestone_id: read.milestoneId }),
    ...(await changesOfState(app, tx, pull, read)),
    ...(await changesOfBase(tx, pull, edit, read)),
    ...(edit.allowMaintainerEdit !== undefined && {
      allow_maintainer_edit: Number(edit.allowMaintainerEdit),
    }),
  })
  const place = { pullId: id, actorId: caller.user.id }
  const assigned = { before: await assigneesOf(tx, id), after: read.assigneeIds }
  if (read.assigneeIds) {
    await setPullAssignees(app, tx, place, read.assigneeIds)
    await insertParticipants(tx, id, read.assigneeIds)
  }
  const asked = await requestCodeOwners(app, tx, caller.user.id, pull, read.owners)
  if (read.labels) await setPullLabels(app, tx, place, read.labels.owners, read.labels.ids)
  const isChanged = Object.keys(changes).length > 0
  if (!isChanged && !read.assigneeIds && !read.labels) return pull
  if (isChanged) {
    const edited = await updatePullRequest(tx, id, changes)
    if (changes.base_branch !== undefined) await recomputeOfficial(tx, edited)
    // A scheduled merge was meant for the former base.
    if (changes.state === 'CLOSED' || changes.base_branch !== undefined) {
      await dropScheduledMerge(app, tx, caller.user.id, id)
    }
  }
  await touchPull(tx, id, nowSeconds(app.clock), caller.user.id)
  const edited = (await findPullRequestById(tx, id)) ?? pull
  await recordTimelineEvents(app, tx, place, timelineOfEdit(pull, changes))
  let told = editEvents(changes, read.assigneeIds, read.labels?.ids)
  let named = editConcerns(pull, edited, assigned, asked)
  for (const type of eventsOf(pull, edited)) {
    const usual = type === 'PULL_REQUEST_EDITED' ? [] : usualEvents(type)
    const everybody = type === 'PULL_REQUEST_CLOSED' || type === 'PULL_REQUEST_REOPENED'
    await recordPullChange(app, tx, caller.user.id, edited, {
      type,
      told: [...usual, ...told],
      concerns: { everybody, ...named },
    })
    told = []
    named = {}
  }
  return edited
}

/** Returns the events of a change: those of its state and base, or else one about an edit. */
function eventsOf(before: PullRequest, after: PullRequest): PullEventType[] {
  const types: PullEventType[] = []
  if (before.state !== after.state)
    types.push(after.state === 'OPEN' ? 'PULL_REQUEST_REOPENED' : 'PULL_REQUEST_CLOSED')
  if (before.base_branch !== after.base_branch) types.push('PULL_REQUEST_RETARGETED')
  return types.length > 0 ? types : ['PULL_REQUEST_EDITED']
}

/** Returns the error about the open pull request between the same branches. */
async function findRival(
  app: ReposApp,
  { repository_id, base_branch, head_repository_id, head_branch }: PullRequest,
  { base }: PullEdit,
  headIsSeen: boolean,
): Promise<DomainError | undefined> {
  if (head_repository_id === null) return undefined
  const coordinates = {
    repository_id,
    base_branch: base || base_branch,
    head_repository_id,
    head_branch,
  }
  const rival = await findPullRequestBetween(app.db, coordinates)
  return rival && pullExists(rival, headIsSeen)
}
