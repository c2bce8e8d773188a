import { findMergeBase } from '../../../platform/git/history/history.ts'
import { isRefName } from '../../../platform/git/refs/refs.ts'
import { blockExists } from '../../accounts/users/blocks.rows.ts'
import type { LabelOwner } from '../../conversations/labels.rows.ts'
import { findMilestone } from '../../conversations/milestones.rows.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import { type OpenRepository, openRepositoryById } from '../../repositories/access/permissions.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import { findAssignees } from '../conversation/pull-assignees.ts'
import { checkLabelCount, labelOwnersFor } from '../conversation/pull-labels.ts'
import { isPoster, type OpenPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { isWorkInProgress } from '../heads/work-in-progress.ts'
import { checkBody, checkTitle, endOfDay } from '../lists/pull-fields.ts'
import { findCodeOwners } from '../review/code-owners.ts'
import type { Reviewers } from '../review/review-requests.ts'
import { isAvailable, mergeBaseOf } from '../review/review-states.ts'
import type { PullRequest } from '../schema.ts'

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
export interface ReadEdit {
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
export async function readEdit(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  edit: PullEdit,
): Promise<ReadEdit> {
  const writes = suffices(open.access, 'write')
  await checkWelcome(app.db, caller, open)
  const title = checkTitle(edit.title)
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

/** @throws USER_BLOCKED when the owner of the repository blocks a caller without write access. */
export async function checkWelcome(
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
  return findAssignees(app, caller, open, names)
}

export async function requireMilestone(
  db: ReposApp['db'],
  { repository }: OpenRepository,
  id: number,
): Promise<void> {
  if (!(await findMilestone(db, repository.id, id))) throw new DomainError('MILESTONE_NOT_FOUND')
}

/** @throws PULL_REQUEST_STATE_FIXED, INVALID_PULL_REQUEST_STATE */
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

export function noBase(branch: string): DomainError {
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

export async function seesHead(
  app: ReposApp,
  caller: SignedIn,
  { pull }: OpenPull,
): Promise<boolean> {
  return (await openHeadOf(app, caller, pull)) !== undefined
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

/** @throws PULL_REQUEST_CHANGED */
export function checkVersion({ contentVersion }: PullEdit, { content_version }: PullRequest): void {
  if (contentVersion !== undefined && contentVersion !== content_version)
    throw new DomainError('PULL_REQUEST_CHANGED')
}
