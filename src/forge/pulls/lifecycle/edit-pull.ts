import { isUniqueViolation } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { isRefName } from '../../../platform/git/refs/refs.ts'
import { blockExists } from '../../accounts/users/blocks.rows.ts'
import { findAssignees, setAssignees } from '../../conversations/assignees.ts'
import { type Concerns, newMentions } from '../../conversations/concerns.ts'
import { checkBody, endOfDay, readTitle } from '../../conversations/conversation-fields.ts'
import {
  checkLabelCount,
  labelOwnersFor,
  setConversationLabels,
} from '../../conversations/conversation-labels.ts'
import { checkCloseNotBlocked } from '../../conversations/dependencies.ts'
import type { LabelOwner } from '../../conversations/labels.rows.ts'
import { findMilestone } from '../../conversations/milestones.rows.ts'
import { assigneesOf, insertParticipants } from '../../conversations/participants.rows.ts'
import { recordReferences } from '../../conversations/text-references.ts'
import {
  deadlineEvent,
  milestoneEvent,
  recordTimelineEvents,
  type TimelineEvent,
} from '../../conversations/timeline.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { ConversationName } from '../../core/names.ts'
import {
  checkNotArchived,
  type OpenRepository,
  openRepositoryById,
} from '../../repositories/access/permissions.ts'
import { changeWatched, type PullEventType } from '../../repositories/activity/repository-events.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { findBranch } from '../../repositories/refs/branches.rows.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { isPoster, type OpenPull, openPull } from '../heads/open-pulls.ts'
import { editEvents, recordPullChange, usualEvents } from '../heads/pull-changes.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import {
  findPullRequestBetween,
  findPullRequestById,
  touchPull,
  updatePullRequest,
} from '../heads/pull-requests.rows.ts'
import { isWorkInProgress, type PullView } from '../lists/pull-views.ts'
import { dropScheduledMerge } from '../merging/scheduled-merges.ts'
import { findOpenTopic } from '../proposals/proposals.rows.ts'
import { leaveAsDraft } from '../queue/queue-exits.ts'
import { findCodeOwners, requestCodeOwners } from '../review/code-owners.ts'
import type { Reviewers } from '../review/review-requests.ts'
import {
  compareReviewsSoon,
  isAvailable,
  mergeBaseOf,
  recomputeOfficial,
} from '../review/review-states.ts'
import type { PullRequest, PullRequestChanges, Review } from '../schema.ts'
import { pullExists } from './create-pull.ts'
import { viewWritten } from './pull-requests.ts'

/**
 * Changes a pull request. Only users who may write to pull requests change assignees, milestone and
 * labels; other callers' values are ignored.
 */
export async function editPull(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
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
  const place = { conversationId: id, actorId: caller.user.id }
  const assigned = { before: await assigneesOf(tx, id), after: read.assigneeIds }
  if (read.assigneeIds) {
    await setAssignees(app, tx, place, read.assigneeIds)
    await insertParticipants(tx, id, read.assigneeIds)
  }
  const asked = await requestCodeOwners(app, tx, caller.user.id, pull, read.owners)
  if (read.labels) await setConversationLabels(app, tx, place, read.labels.owners, read.labels.ids)
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
  if (changes.title !== undefined || changes.body !== undefined)
    await recordReferences(app, tx, caller, { conversation: edited, text: edited, isNew: false })
  if (isWorkInProgress(app, edited.title)) await leaveAsDraft(app, tx, caller.user.id, edited)
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

/** Changes of a pull request. Undefined, empty and 0 mean no change. */
export interface PullEdit {
  readonly title: string
  /** An empty description is a change. */
  readonly body: string | undefined
  /** Number of changes of the description that the caller has seen. */
  readonly contentVersion: number | undefined
  /** RFC 3339: the end of that day in its time zone. */
  readonly dueDate: string
  readonly unsetDueDate: boolean
  /** A username, in addition to `assignees`. */
  readonly assignee: string
  /** Usernames of all assignees. */
  readonly assignees: readonly string[] | undefined
  /** 0 removes it. */
  readonly milestoneId: number | undefined
  /** All labels. */
  readonly labelIds: readonly number[] | undefined
  /** `open` or `closed`. */
  readonly state: string | undefined
  /** Name of the new base branch. */
  readonly base: string
  readonly allowMaintainerEdit: boolean | undefined
}

/** The part of an edit that can be read without the pull request. */
interface ReadEdit {
  readonly title: string
  /** Null removes it. */
  readonly dueTime: number | null | undefined
  readonly state: 'OPEN' | 'CLOSED' | undefined
  readonly assigneeIds: readonly number[] | undefined
  readonly labels: { readonly owners: LabelOwner; readonly ids: readonly number[] } | undefined
  /** Null removes it. */
  readonly milestoneId: number | null | undefined
  /** The merge base of the head and the new base. Undefined without a new base. */
  readonly mergeBase: string | undefined
  /** The code owners to request because the pull request is ready now. */
  readonly owners: Reviewers
}

/** Reads and checks what needs no transaction, in the order in which it is applied. */
async function readEdit(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  edit: PullEdit,
): Promise<ReadEdit> {
  const writes = suffices(open.access, 'write')
  await checkWelcome(app.db, caller, open)
  const title = readTitle(edit.title)
  checkBody(edit.body)
  const dueTime = edit.unsetDueDate
    ? null
    : edit.dueDate === ''
      ? undefined
      : endOfDay(edit.dueDate)
  const assigneeIds = writes ? await readAssignees(app, caller, open, edit) : undefined
  const milestoneId = !writes ? undefined : edit.milestoneId === 0 ? null : edit.milestoneId
  if (milestoneId) await requireMilestone(app.db, open, milestoneId)
  const ids = writes ? edit.labelIds : undefined
  if (ids) checkLabelCount(ids)
  const labels = ids && { owners: await labelOwnersFor(app, caller, open), ids }
  const state = readState(edit, open.pull)
  const mergeBase = await readBase(app, open, edit, state)
  if (edit.allowMaintainerEdit !== undefined) await checkMayLetEdit(app, caller, open)
  const owners = await readOwners(app, open, {
    title: title || open.pull.title,
    state: state ?? open.pull.state,
    base_branch: edit.base || open.pull.base_branch,
  })
  return { title, dueTime, state, assigneeIds, labels, milestoneId, mergeBase, owners }
}

/**
 * Returns the code owners of a pull request that becomes ready: it was work in progress, closed, or
 * had another base.
 */
async function readOwners(
  app: ReposApp,
  open: OpenPull,
  after: Pick<PullRequest, 'title' | 'state' | 'base_branch'>,
): Promise<Reviewers> {
  const { pull } = open
  const isReady = ({ title, state }: typeof after) =>
    state === 'OPEN' && !isWorkInProgress(app, title)
  const wasReady = isReady(pull) && after.base_branch === pull.base_branch
  if (wasReady || !isReady(after) || !(await isAvailable(app, pull)))
    return { users: [], teams: [] }
  const mergeBase = await mergeBaseOf(app, { ...pull, ...after }, pull.head_commit)
  if (mergeBase === undefined) return { users: [], teams: [] }
  const { poster_id: posterId, head_commit: head } = pull
  return findCodeOwners(app, open, { posterId, baseBranch: after.base_branch, mergeBase, head })
}

async function checkWelcome(
  db: ReposApp['db'],
  { user }: SignedIn,
  { owner, access }: OpenPull,
): Promise<void> {
  if (!suffices(access, 'write') && (await blockExists(db, [owner.id], user.id)))
    throw new DomainError('USER_BLOCKED')
}

async function readAssignees(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  { assignee, assignees }: PullEdit,
): Promise<number[] | undefined> {
  if (assignees === undefined && assignee === '') return undefined
  const names = [...(assignees ?? []), assignee].filter((name) => name !== '')
  return findAssignees(app, caller, open, 'pulls', names)
}

async function requireMilestone(
  db: ReposApp['db'],
  { repository }: OpenRepository,
  id: number,
): Promise<void> {
  if (!(await findMilestone(db, repository.id, id))) throw new DomainError('MILESTONE_NOT_FOUND')
}

function readState({ state }: PullEdit, pull: PullRequest): 'OPEN' | 'CLOSED' | undefined {
  if (!state) return undefined
  if (pull.state === 'MERGED') throw new DomainError('PULL_REQUEST_STATE_FIXED')
  if (state === 'open') return 'OPEN'
  if (state === 'closed') return 'CLOSED'
  throw new DomainError('INVALID_PULL_REQUEST_STATE', { state: metadataText(state) })
}

/**
 * Checks whether a pull request can get another base.
 *
 * @returns the merge base. Undefined when the base does not change.
 */
async function readBase(
  app: ReposApp,
  { repository, pull }: OpenPull,
  { base }: PullEdit,
  state: 'OPEN' | 'CLOSED' | undefined,
): Promise<string | undefined> {
  if (base === '' || base === pull.base_branch) return undefined
  if (pull.state === 'MERGED') throw new DomainError('RETARGET_OF_MERGED')
  const branch = isRefName(base) ? await readBranch(app, repository, base) : undefined
  if (!branch) throw noBase(base)
  if ((state ?? pull.state) !== 'OPEN') throw new DomainError('RETARGET_OF_CLOSED')
  if (isOwnHead(pull, base)) throw new DomainError('PULL_REQUEST_WITHOUT_CHANGES')
  const head = await prepareHead(app, pull)
  const mergeBase = await reading(findMergeBase(app.git, repository.id, branch.commit_id, head))
  if (mergeBase === undefined) throw new DomainError('PULL_REQUEST_UNRELATED')
  return mergeBase
}

function noBase(branch: string): DomainError {
  return new DomainError('NEW_BASE_NOT_FOUND', { branch: metadataText(branch) })
}

function isOwnHead(
  { repository_id, head_repository_id, head_branch }: PullRequest,
  branch: string,
): boolean {
  return head_repository_id === repository_id && head_branch === branch
}

/** Checks that the caller is the author, with write access to the head. */
async function checkMayLetEdit(app: ReposApp, caller: SignedIn, { pull }: OpenPull): Promise<void> {
  const head = isPoster(caller, pull) ? await openHeadOf(app, caller, pull) : undefined
  if (!head || !suffices(head.access, 'write')) throw new DomainError('MAINTAINER_EDIT_DENIED')
}

async function seesHead(app: ReposApp, caller: SignedIn, { pull }: OpenPull): Promise<boolean> {
  // The commits that a push proposed are in the base repository.
  return pull.agit_topic !== null || (await openHeadOf(app, caller, pull)) !== undefined
}

/** Opens the head repository, if the caller may read it. */
async function openHeadOf(
  app: ReposApp,
  caller: SignedIn,
  { head_repository_id }: PullRequest,
): Promise<OpenRepository | undefined> {
  if (head_repository_id === null) return undefined
  try {
    return await openRepositoryById(app, caller, head_repository_id, 'read')
  } catch (error) {
    if (error instanceof DomainError) return undefined
    throw error
  }
}

function checkVersion({ contentVersion }: PullEdit, { content_version }: PullRequest): void {
  if (contentVersion !== undefined && contentVersion !== content_version)
    throw new DomainError('PULL_REQUEST_CHANGED')
}

/** Returns the changes that differ from the present values. */
function differing(pull: PullRequest, changes: PullRequestChanges): PullRequestChanges {
  const before = new Map<string, unknown>(Object.entries(pull))
  return Object.fromEntries(
    Object.entries(changes).filter(([column, value]) => before.get(column) !== value),
  )
}

/** @param seen the pull request as the caller saw it. */
function changesOfBody(seen: PullRequest, pull: PullRequest, edit: PullEdit): PullRequestChanges {
  checkVersion(edit, pull)
  if (edit.body === undefined) return {}
  if (pull.content_version !== seen.content_version) throw new DomainError('PULL_REQUEST_CHANGED')
  return edit.body === pull.body
    ? {}
    : { body: edit.body, content_version: pull.content_version + 1 }
}

async function changesOfState(
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
  const { repository_id, base_branch, head_branch } = pull
  const head = await presentHead(tx, pull)
  if (head === undefined) throw branchGone(head_branch)
  // With a new base, the former base need not exist.
  if (mergeBase === undefined && !(await findBranch(tx, repository_id, base_branch))) {
    throw branchGone(base_branch)
  }
  return { state, close_time: null, head_commit: head }
}

/**
 * Returns the commit at the head of a pull request that is opened again; undefined if its branch is
 * gone.
 *
 * @throws PULL_REQUEST_EXISTS
 */
async function presentHead(tx: Tx, pull: PullRequest): Promise<string | undefined> {
  const { repository_id, head_repository_id, head_branch, agit_topic: topic } = pull
  if (topic === null)
    return head_repository_id === null
      ? undefined
      : (await findBranch(tx, head_repository_id, head_branch))?.commit_id
  const posterId = pull.poster_id ?? 0
  const name = { repositoryId: repository_id, posterId, base: pull.base_branch, topic }
  const rival = await findOpenTopic(tx, name)
  if (rival) throw pullExists(rival)
  return pull.head_commit
}

function branchGone(branch: string): DomainError {
  return new DomainError('PULL_REQUEST_BRANCH_GONE', { branch })
}

async function changesOfBase(
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

/**
 * Returns the events of an edit for the timeline, besides those of the state, and those of labels,
 * assignees and reviewers, which their writers record.
 *
 * @param pull the pull request before the edit.
 */
function timelineOfEdit(
  { title, base_branch, milestone_id, due_time }: PullRequest,
  changes: PullRequestChanges,
): TimelineEvent[] {
  const events: TimelineEvent[] = []
  if (changes.title !== undefined)
    events.push({ type: 'change_title', oldValue: title, newValue: changes.title })
  if (changes.base_branch !== undefined)
    events.push({
      type: 'change_target_branch',
      oldValue: base_branch,
      newValue: changes.base_branch,
    })
  if (changes.milestone_id !== undefined)
    events.push(milestoneEvent(milestone_id, changes.milestone_id))
  if (changes.due_time !== undefined) events.push(deadlineEvent(due_time, changes.due_time))
  return events
}

/** The users that an edit of a pull request names. */
type EditConcerns = Omit<Concerns, 'everybody'>

/** The users whom an edit assigns. */
interface Assignment {
  readonly before: readonly number[]
  /** Undefined for no change. */
  readonly after: readonly number[] | undefined
}

/**
 * Returns whom an edit of a pull request names.
 *
 * @param asked the requests for reviews that the edit causes.
 */
function editConcerns(
  before: Pick<PullRequest, 'body'>,
  after: Pick<PullRequest, 'body'>,
  assignment: Assignment,
  asked: readonly Pick<Review, 'reviewer_id' | 'team_id'>[],
): EditConcerns {
  return {
    mentioned: before.body === after.body ? [] : newMentions([after.body], before.body),
    assignees: (assignment.after ?? []).filter((id) => !assignment.before.includes(id)),
    reviewers: asked.flatMap(({ reviewer_id }) => reviewer_id ?? []),
    reviewerTeams: asked.flatMap(({ team_id }) => team_id ?? []),
  }
}
