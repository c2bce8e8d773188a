import { isUniqueViolation } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { fetchCommit } from '../../../platform/git/packs/forks.ts'
import { blockExists } from '../../accounts/users/blocks.rows.ts'
import { isBlocked } from '../../accounts/users/blocks.ts'
import { findAssignees, setAssignees } from '../../conversations/assignees.ts'
import { newMentions } from '../../conversations/concerns.ts'
import {
  checkBody,
  MAX_TITLE_CHARACTERS,
  readTitle,
} from '../../conversations/conversation-fields.ts'
import {
  checkLabelCount,
  labelOwnersFor,
  setConversationLabels,
} from '../../conversations/conversation-labels.ts'
import type { LabelOwner } from '../../conversations/labels.rows.ts'
import { findMilestone } from '../../conversations/milestones.rows.ts'
import { insertParticipants, markSeen } from '../../conversations/participants.rows.ts'
import { checkRate, countContribution } from '../../conversations/rates.ts'
import { recordReferences } from '../../conversations/text-references.ts'
import { milestoneEvent, recordTimelineEvents } from '../../conversations/timeline.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { RepositoryName } from '../../core/names.ts'
import {
  checkNotArchived,
  type OpenRepository,
  openRepository,
  openRepositoryById,
} from '../../repositories/access/permissions.ts'
import { findGrants } from '../../repositories/access/repository-grants.rows.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { findBranch } from '../../repositories/refs/branches.rows.ts'
import { type ComparedBranches, compareBranches } from '../heads/compared-branches.ts'
import { recordPullChange, usualEvents } from '../heads/pull-changes.ts'
import { findPullRequestBetween, insertPullRequest } from '../heads/pull-requests.rows.ts'
import { isWorkInProgress, type PullView } from '../lists/pull-views.ts'
import { findCodeOwners, requestCodeOwners } from '../review/code-owners.ts'
import { findReviewers, type Reviewers, requestReviews } from '../review/review-requests.ts'
import type { NewPullRequest, PullRequest } from '../schema.ts'
import { viewWritten } from './pull-requests.ts'

/** A pull request as a client requests it. */
export interface PullDraft {
  /** `branch`, `owner:branch` or `owner/repository:branch`. */
  readonly head: string
  /** Name of a branch. */
  readonly base: string
  /** Empty for the first line of the message of the head commit. */
  readonly title: string
  readonly body: string
  /** A username, or empty. */
  readonly assignee: string
  /** Usernames. Ignored when the first one is empty. */
  readonly assignees: readonly string[]
  /** 0 for none. */
  readonly milestoneId: number
  readonly labelIds: readonly number[]
  /** Unix seconds. */
  readonly dueTime: number | null
  readonly reviewers: readonly string[]
  readonly teamReviewers: readonly string[]
  /** Undefined for the default of the repository. */
  readonly allowMaintainerEdit: boolean | undefined
}

/** Number of attempts while the head keeps moving. */
const MAX_ROUNDS = 5

/** Everything about a new pull request that is known before its row is written. */
interface Proposal {
  readonly open: OpenRepository
  readonly compared: ComparedBranches
  readonly assigneeIds: readonly number[]
  readonly reviewers: Reviewers
}

/**
 * Opens a pull request. When the function returns, the head objects are in the base repository.
 *
 * The objects come first, then one transaction with the row and everything that belongs to it, then
 * the ref. A crash before the row leaves unreachable objects. A crash after it leaves a ref that is
 * created on the next read (`pull-heads.ts`).
 */
export async function createPull(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  draft: PullDraft,
): Promise<PullView> {
  const open = await openBase(app, caller, name)
  checkDraft(draft)
  await checkRate(app, app.db, { caller, open }, 'ISSUE')
  const compared = await compareBranches(app, caller, open, draft.base, draft.head)
  await checkNoOther(app, open, compared)
  await checkMilestone(app, open, draft)
  const assigneeIds = await findAssignees(app, caller, open, 'pulls', assigneesOf(draft))
  if (await isBlocked(app, [open.owner.id], caller.user.id)) throw new DomainError('USER_BLOCKED')
  await checkBelongs(app, caller, open, compared)
  const names = { users: draft.reviewers, teams: draft.teamReviewers }
  const reviewers = await findReviewers(app, caller, open, caller.user.id, names)
  const pull = await propose(app, caller, { open, compared, assigneeIds, reviewers }, draft)
  return viewWritten(app, caller, open, pull)
}

/** A caller who may not read the code gets the answer that the repository does not exist. */
async function openBase(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<OpenRepository> {
  const open = await openRepository(app, caller, name, 'read', 'pulls')
  if (!suffices(open.units.code, 'read')) throw new DomainError('REPOSITORY_NOT_FOUND')
  checkNotArchived(open.repository)
  return open
}

function checkDraft({ body, labelIds }: PullDraft): void {
  checkBody(body)
  checkLabelCount(labelIds)
}

async function checkNoOther(
  app: ReposApp,
  open: OpenRepository,
  compared: ComparedBranches,
): Promise<void> {
  const other = await findPullRequestBetween(app.db, coordinatesOf(open, compared))
  if (other?.state === 'OPEN') throw pullExists(other)
}

function coordinatesOf(
  { repository }: OpenRepository,
  { baseBranch, head, headBranch }: ComparedBranches,
) {
  return {
    repository_id: repository.id,
    base_branch: baseBranch,
    head_repository_id: head.repository.id,
    head_branch: headBranch,
  }
}

/**
 * The error about a second open pull request between two branches.
 *
 * @param headIsSeen whether the caller may read the head repository.
 */
export function pullExists(pull: PullRequest, headIsSeen = true): DomainError {
  return new DomainError('PULL_REQUEST_EXISTS', {
    number: String(pull.number),
    id: String(pull.id),
    head_repo_id: String(headIsSeen ? (pull.head_repository_id ?? -1) : -1),
    base_repo_id: String(pull.repository_id),
    head_branch: pull.head_branch,
    base_branch: pull.base_branch,
  })
}

async function checkMilestone(
  app: ReposApp,
  { repository }: OpenRepository,
  { milestoneId }: PullDraft,
): Promise<void> {
  if (milestoneId <= 0 || (await findMilestone(app.db, repository.id, milestoneId))) return
  throw new DomainError('MILESTONE_NOT_FOUND')
}

/** `assignee` is one more assignee. */
function assigneesOf({ assignee, assignees }: PullDraft): string[] {
  return [...(assignees[0] === '' ? [] : assignees), ...(assignee === '' ? [] : [assignee])]
}

/** Checks that the caller has a role in the repository or may write to the head. */
async function checkBelongs(
  app: ReposApp,
  caller: SignedIn,
  { repository, units }: OpenRepository,
  { head }: ComparedBranches,
): Promise<void> {
  const levels = [units.code, units.pulls, head.units.code]
  if (levels.some((level) => suffices(level, 'write'))) return
  // A grant to the user or to a team of the user.
  if ((await findGrants(app.db, caller.user.id, repository.id)).length > 0) return
  throw new DomainError('COLLABORATION_REQUIRED')
}

/**
 * Copies the commits to the base repository, and writes the row if the head has not moved
 * meanwhile.
 */
async function propose(
  app: ReposApp,
  caller: SignedIn,
  proposal: Proposal,
  draft: PullDraft,
): Promise<PullRequest> {
  const { open, compared } = proposal
  const labelOwners = await labelOwnersFor(app, caller, open)
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const facts = await gatherFacts(app, proposal, draft)
    const owners = await ownersOf(app, caller, proposal, facts)
    await checkStillOpen(app, caller, open)
    try {
      const pull = await changeWatched(app, async (tx) => {
        if (!(await isCurrent(tx, caller, open, compared, facts.head_commit))) return undefined
        return storePull(app, tx, caller, open, {
          row: await rowOf(app, tx, caller, proposal, { draft, facts }),
          owners,
          labels: { owners: labelOwners, ids: draft.labelIds },
          assigneeIds: proposal.assigneeIds,
          reviewers: proposal.reviewers,
        })
      })
      if (pull) return pull
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      // Another pull request was opened first, or existed and is closed by now.
      await checkNoOther(app, open, compared)
    }
  }
  throw new DomainError('REF_CHANGED', { ref: `refs/heads/${compared.headBranch}` })
}

/** The row of a new pull request, and the rows that belong to it. */
interface NewPullRows {
  readonly row: NewPullRequest
  /** Code owners of the changes. */
  readonly owners: Reviewers
  /** Default: none, like the next two. */
  readonly labels?: { readonly owners: LabelOwner; readonly ids: readonly number[] }
  readonly assigneeIds?: readonly number[]
  readonly reviewers?: Reviewers
}

/** Stores a new pull request, and tells of it. */
export async function storePull(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  open: OpenRepository,
  { row, owners, labels, assigneeIds = [], reviewers }: NewPullRows,
): Promise<PullRequest> {
  await countContribution(app, tx, { caller, open }, 'ISSUE')
  const stored = await insertPullRequest(tx, row)
  await recordReferences(app, tx, caller, { conversation: stored, text: stored, isNew: true })
  const place = { conversationId: stored.id, actorId: caller.user.id }
  if (labels && labels.ids.length > 0)
    await setConversationLabels(app, tx, place, labels.owners, labels.ids)
  if (assigneeIds.length > 0) await setAssignees(app, tx, place, assigneeIds)
  if (stored.milestone_id !== null)
    await recordTimelineEvents(app, tx, place, [milestoneEvent(null, stored.milestone_id)])
  await insertParticipants(tx, stored.id, [...new Set([caller.user.id, ...assigneeIds])])
  if (reviewers) await requestReviews(app, tx, place.actorId, stored, reviewers)
  await requestCodeOwners(app, tx, place.actorId, stored, owners)
  await markSeen(tx, stored.id, caller.user.id)
  const type = 'PULL_REQUEST_OPENED'
  await recordPullChange(app, tx, caller.user.id, stored, {
    type,
    told: usualEvents(type),
    concerns: {
      everybody: true,
      mentioned: newMentions([stored.body]),
      namesPresent: true,
    },
  })
  return stored
}

/** Facts from Git about the head, once it is in the base repository. */
type Facts = Pick<NewPullRequest, 'head_commit' | 'title'> & { readonly merge_base: string }

async function gatherFacts(
  app: ReposApp,
  { open, compared }: Proposal,
  { title }: PullDraft,
): Promise<Facts> {
  const { id } = open.repository
  const { head, headBranch, baseBranch } = compared
  const [tip, base] = await Promise.all([
    findBranch(app.db, head.repository.id, headBranch),
    findBranch(app.db, id, baseBranch),
  ])
  if (!tip || !base) throw new DomainError('REF_NOT_FOUND', { ref: tip ? baseBranch : headBranch })
  if (head.repository.id !== id) await bring(app, id, head.repository.id, tip.commit_id)
  const mergeBase = await reading(findMergeBase(app.git, id, base.commit_id, tip.commit_id))
  if (mergeBase === undefined) throw new DomainError('PULL_REQUEST_UNRELATED')
  return {
    head_commit: tip.commit_id,
    title:
      readTitle(title) ||
      (await subjectOf(app, id, tip.commit_id)) ||
      headBranch.slice(0, MAX_TITLE_CHARACTERS),
    merge_base: mergeBase,
  }
}

/** Returns the code owners of the changes. None for work in progress. */
async function ownersOf(
  app: ReposApp,
  caller: SignedIn,
  { open, compared }: Proposal,
  { title, merge_base, head_commit }: Facts,
): Promise<Reviewers> {
  if (isWorkInProgress(app, title)) return { users: [], teams: [] }
  const { baseBranch } = compared
  return findCodeOwners(app, open, {
    posterId: caller.user.id,
    baseBranch,
    mergeBase: merge_base,
    head: head_commit,
  })
}

async function bring(app: ReposApp, id: number, fromId: number, commitId: string): Promise<void> {
  try {
    await reading(fetchCommit(app.git, id, fromId, commitId))
  } catch (error) {
    const isGone =
      !(error instanceof DomainError) && (await findRepositoryById(app.db, fromId)) === undefined
    throw isGone ? new DomainError('REF_NOT_FOUND') : error
  }
}

/** Returns the first line of the message of a commit, cut to the length of a title. */
async function subjectOf(app: ReposApp, id: number, commitId: string): Promise<string> {
  const message = (await readCommit(app.git, id, commitId))?.message ?? ''
  const [subject = ''] = message.trim().split('\n', 1)
  return [...subject].slice(0, MAX_TITLE_CHARACTERS).join('').trim()
}

/**
 * Copying objects from a fork may take long. @throws PULL_REQUEST_ACCESS_LOST, REPOSITORY_NOT_FOUND
 */
async function checkStillOpen(
  app: ReposApp,
  caller: SignedIn,
  { repository }: OpenRepository,
): Promise<void> {
  try {
    await openRepositoryById(app, caller, repository.id, 'read', 'pulls')
  } catch (error) {
    if (!(error instanceof DomainError) || !(await findRepositoryById(app.db, repository.id)))
      throw error
    throw new DomainError('PULL_REQUEST_ACCESS_LOST', {
      user_id: String(caller.user.id),
      repository: repository.name,
    })
  }
}

/**
 * Returns whether the branches exist, with the head at the examined commit. From now on the row
 * follows the branch.
 */
async function isCurrent(
  tx: Tx,
  { user }: SignedIn,
  open: OpenRepository,
  { head, headBranch, baseBranch }: ComparedBranches,
  commitId: string,
): Promise<boolean> {
  const repository = await findRepositoryById(tx, open.repository.id)
  if (!repository) throw new DomainError('REPOSITORY_NOT_FOUND')
  checkNotArchived(repository)
  if (await blockExists(tx, [open.owner.id], user.id)) throw new DomainError('USER_BLOCKED')
  const tip = await findBranch(tx, head.repository.id, headBranch)
  if (!tip || !(await findBranch(tx, repository.id, baseBranch))) {
    throw new DomainError('REF_NOT_FOUND', { ref: tip ? baseBranch : headBranch })
  }
  return tip.commit_id === commitId
}

/** The request for a pull request, and what the server found out about it. */
interface NewPull {
  readonly draft: PullDraft
  readonly facts: Facts
}

async function rowOf(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  { open, compared }: Proposal,
  { draft, facts }: NewPull,
): Promise<NewPullRequest> {
  const { id, default_allow_maintainer_edit } = open.repository
  const milestone =
    draft.milestoneId > 0 ? await findMilestone(tx, id, draft.milestoneId) : undefined
  if (draft.milestoneId > 0 && !milestone) throw new DomainError('MILESTONE_NOT_FOUND')
  return newPullRow(app, {
    ...coordinatesOf(open, compared),
    ...facts,
    poster_id: caller.user.id,
    milestone_id: milestone?.id ?? null,
    due_time: draft.dueTime,
    allow_maintainer_edit: Number(draft.allowMaintainerEdit ?? default_allow_maintainer_edit === 1),
    body: draft.body,
  })
}

/** The columns of a new pull request that `newPullRow` does not give. */
type GivenColumns = Pick<
  NewPullRequest,
  | 'repository_id'
  | 'base_branch'
  | 'head_repository_id'
  | 'head_branch'
  | 'head_commit'
  | 'merge_base'
  | 'title'
  | 'body'
  | 'poster_id'
  | 'allow_maintainer_edit'
> &
  Partial<Pick<NewPullRequest, 'milestone_id' | 'due_time' | 'agit_topic'>>

/** Returns the row of a pull request that is opened now. */
export function newPullRow(app: ReposApp, given: GivenColumns): NewPullRequest {
  const now = nowSeconds(app.clock)
  return {
    milestone_id: null,
    due_time: null,
    ...given,
    state: 'OPEN',
    head_ref_commit: null,
    checked_base: null,
    checked_head: null,
    counted_base: null,
    counted_head: null,
    merge_commit: null,
    merger_id: null,
    merge_time: null,
    // The other participants have not seen it yet.
    change_count: 1,
    create_time: now,
    update_time: now,
    close_time: null,
  }
}
