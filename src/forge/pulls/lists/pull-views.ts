import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import { attachmentsOfConversations } from '../../conversations/attachments.rows.ts'
import { isLabelHere } from '../../conversations/conversation-labels.ts'
import { labelsOfConversations } from '../../conversations/labels.rows.ts'
import { milestonesFor } from '../../conversations/milestone-counts.ts'
import {
  assigneesOfConversations,
  unseenConversations,
} from '../../conversations/participants.rows.ts'
import type { IssueAttachment, Label, Milestone } from '../../conversations/schema.ts'
import type { Caller } from '../../core/access.ts'
import type { Settings } from '../../core/core.ts'
import { suffices } from '../../core/levels.ts'
import type { TeamView } from '../../organizations/teams.ts'
import { type OpenRepository, openRepositories } from '../../repositories/access/permissions.ts'
import { findRepositoriesByIds } from '../../repositories/lifecycle/repositories.rows.ts'
import {
  type RepositoryView,
  viewRepositories,
} from '../../repositories/lifecycle/repository-views.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { findBranches } from '../../repositories/refs/branches.rows.ts'
import { countPull, type PullCounts } from '../changes/pull-files.ts'
import { headRefOf } from '../heads/pull-heads.ts'
import { findPullRequestsByIds } from '../heads/pull-requests.rows.ts'
import { findScheduledMerges } from '../merging/scheduled-merges.rows.ts'
import { stackQueueOf } from '../queue/queue-stacks.ts'
import { type QueueEntryView, viewEntriesOf } from '../queue/queue-views.ts'
import { viewReviewRequests } from '../review/review-views.ts'
import type { Mergeability, PullRequest, ScheduledMerge } from '../schema.ts'
import type { StackedPull } from './pull-stacks.rows.ts'
import { stackOf } from './pull-stacks.ts'

/** A pull request in the form in which a caller sees it. */
export interface PullView {
  readonly pull: PullRequest
  readonly poster: Owner
  /** By name. */
  readonly labels: readonly Label[]
  readonly milestone: Milestone | undefined
  readonly assignees: readonly Owner[]
  /** Attachments, oldest first. */
  readonly assets: readonly IssueAttachment[]
  readonly requestedReviewers: readonly Owner[]
  /** The requested teams that the caller may see. */
  readonly requestedTeams: readonly TeamView[]
  /** Undefined while it is not merged. */
  readonly merger: Owner | undefined
  readonly isWorkInProgress: boolean
  /** The result of the last check of the present commits. */
  readonly mergeability: Mergeability
  /** Undefined in lists, and when counting fails. */
  readonly counts: PullCounts | undefined
  readonly base: PullSide & { readonly repository: RepositoryView }
  readonly head: PullSide
  /** The scheduled merge. Undefined if there is none. */
  readonly scheduledMerge: { readonly order: ScheduledMerge; readonly scheduler: Owner } | undefined
  /** The entry in the merge queue of the base. Undefined outside a queue. */
  readonly queueEntry: QueueEntryView | undefined
  /** Whether it was in a merge queue and has left. */
  readonly hasLeftQueue: boolean
  /** Whether the caller participates and has not seen the latest changes. */
  readonly isUnread: boolean
  /** The stack that it is part of, from the lowest. Empty in lists, and if it stands alone. */
  readonly stack: readonly StackedPull[]
  /** The branch whose merge queue takes it with those below. Empty in lists, and if there is none. */
  readonly stackQueue: string
  /** Undefined unless the caller asks for it. */
  readonly progress?: PullProgress
}

/** What a pull request waits for. */
export interface PullProgress {
  /** What the official reviewers say; empty if there is no vote and no request. */
  readonly review: 'changes_requested' | 'approved' | 'requested' | ''
  /** The combined state of the checks of the head; empty without checks. */
  readonly checks: 'failure' | 'pending' | 'success' | ''
}

/** The head or the base of a pull request. */
export interface PullSide {
  /** Undefined when it was deleted or the caller may not read it. */
  readonly repository: RepositoryView | undefined
  /**
   * Name of the branch, or the full name of the ref that replaces a branch that was deleted or that
   * the caller may not read.
   */
  readonly ref: string
  /** The tip. Empty for a base that was deleted. */
  readonly commitId: string
}

/**
 * Returns the mergeability of a pull request. The result of a check applies only to the commits
 * that it checked.
 *
 * @param baseTip tip of the base branch. Undefined when it was deleted.
 */
export function mergeabilityOf(pull: PullRequest, baseTip: string | undefined): Mergeability {
  const isCurrent = pull.checked_base === baseTip && pull.checked_head === pull.head_commit
  return isCurrent ? pull.mergeability : 'CHECKING'
}

/**
 * Returns the views of pull requests of a repository that the caller has opened. The number of
 * queries does not depend on the number of pull requests.
 *
 * The tips come from the rows of branches, which follow every update.
 */
export async function viewPulls(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  pulls: readonly PullRequest[],
): Promise<PullView[]> {
  if (pulls.length === 0) return []
  const ids = pulls.map(({ id }) => id)
  const [requests, views] = await Promise.all([
    viewReviewRequests(app, caller, open, ids),
    viewPullsOf(app, caller, [open], pulls),
  ])
  return views.map((view) => ({
    ...view,
    requestedReviewers: requests.get(view.pull.id)?.users ?? [],
    requestedTeams: requests.get(view.pull.id)?.teams ?? [],
  }))
}

/**
 * Returns the views of pull requests of some repositories that the caller has opened, without
 * requests for reviews. The number of queries does not depend on the number of repositories.
 */
export async function viewPullsOf(
  app: ReposApp,
  caller: Caller,
  opened: readonly OpenRepository[],
  pulls: readonly PullRequest[],
): Promise<PullView[]> {
  if (pulls.length === 0) return []
  const { db } = app
  const ids = pulls.map(({ id }) => id)
  const bases = new Map(opened.map((open) => [open.repository.id, open]))
  const milestoneIds = present(pulls.map(({ milestone_id }) => milestone_id))
  // PostgreSQL gets queries together that do not depend on each other.
  const [labels, assignees, assets, milestones, scheduledMerges, queueEntries, unseen, sidesOf] =
    await Promise.all([
      labelsOfConversations(db, ids),
      assigneesOfConversations(db, ids),
      attachmentsOfConversations(db, ids),
      milestonesFor(db, opened, milestoneIds),
      findScheduledMerges(db, ids),
      viewEntriesOf(app, opened, ids),
      caller.kind === 'user' ? unseenConversations(db, ids, caller.user.id) : new Set<number>(),
      viewSides(app, caller, opened, pulls),
    ])
  const people = pulls.flatMap(({ id, poster_id, merger_id }) => [
    poster_id,
    merger_id,
    ...(assignees.get(id) ?? []),
  ])
  const schedulers = [...scheduledMerges.values()].map(({ scheduler_id }) => scheduler_id)
  const owners = await findOwnersByIds(db, present([...people, ...schedulers]))
  return pulls.map((pull) => {
    const sides = sidesOf(pull)
    const order = scheduledMerges.get(pull.id)
    return {
      pull,
      poster: owners.get(pull.poster_id ?? 0) ?? GHOST,
      labels: (labels.get(pull.id) ?? []).filter((label) =>
        isLabelHere(label, bases.get(pull.repository_id)),
      ),
      milestone: milestones.get(pull.milestone_id ?? 0),
      assignees: (assignees.get(pull.id) ?? []).map((id) => owners.get(id) ?? GHOST),
      assets: assets.get(pull.id) ?? [],
      requestedReviewers: [],
      requestedTeams: [],
      merger: pull.state === 'MERGED' ? (owners.get(pull.merger_id ?? 0) ?? GHOST) : undefined,
      isWorkInProgress: isWorkInProgress(app, pull.title),
      mergeability: mergeabilityOf(pull, sides.base.commitId),
      counts: undefined,
      ...sides,
      scheduledMerge: order && { order, scheduler: owners.get(order.scheduler_id) ?? GHOST },
      queueEntry: queueEntries.inQueue.get(pull.id),
      hasLeftQueue: queueEntries.left.has(pull.id),
      isUnread: unseen.has(pull.id),
      stack: [],
      stackQueue: '',
    }
  })
}

/**
 * Returns the view of one pull request of a repository that the caller has opened, with the numbers
 * and the stack that lists omit.
 */
export async function viewPull(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  pull: PullRequest,
): Promise<PullView> {
  const counts = await countPull(app, { ...open, pull })
  const [view] = await viewPulls(app, caller, open, [pull])
  if (!view) throw new Error('a pull request has no view')
  const stack = await stackOf(app.db, open.repository, pull)
  const queue = stack.length > 0 ? await stackQueueOf(app, open.repository, pull) : undefined
  return { ...view, counts, stack, stackQueue: queue ?? '' }
}

/**
 * Returns the views of pull requests by their ids, in their order. Undefined for one that the caller
 * may not read.
 */
export async function viewPullsById(
  app: ReposApp,
  caller: Caller,
  ids: readonly number[],
): Promise<(PullView | undefined)[]> {
  const pulls = [...(await findPullRequestsByIds(app.db, ids)).values()]
  const repositoryIds = new Set(pulls.map(({ repository_id }) => repository_id))
  const repositories = await findRepositoriesByIds(app.db, [...repositoryIds])
  const opened = await openRepositories(app, caller, [...repositories.values()], 'pulls')
  const readable = new Set(opened.map(({ repository }) => repository.id))
  const shown = pulls.filter(({ repository_id }) => readable.has(repository_id))
  const views = await viewPullsOf(app, caller, opened, shown)
  const viewOf = new Map(views.map((view) => [view.pull.id, view]))
  return ids.map((id) => viewOf.get(id))
}

/** Returns the head and the base of each pull request. */
async function viewSides(
  app: ReposApp,
  caller: Caller,
  opened: readonly OpenRepository[],
  pulls: readonly PullRequest[],
): Promise<(pull: PullRequest) => Pick<PullView, 'base' | 'head'>> {
  const baseIds = new Set(opened.map(({ repository }) => repository.id))
  const otherIds = present(pulls.map(({ head_repository_id }) => head_repository_id)).filter(
    (id) => !baseIds.has(id),
  )
  const others = await findRepositoriesByIds(app.db, otherIds)
  const readable = await openRepositories(app, caller, [...others.values()])
  const known = [...opened, ...readable.filter(({ access }) => suffices(access, 'read'))]
  const views = await viewRepositories(app, caller, known)
  const repositories = new Map(views.map((view) => [view.repository.id, view]))

  const sides = pulls.flatMap((pull): [number, string][] => {
    const head = repositories.get(pull.head_repository_id ?? 0)
    const ofBase: [number, string] = [pull.repository_id, pull.base_branch]
    return head ? [ofBase, [head.repository.id, pull.head_branch]] : [ofBase]
  })
  const branches = await findBranches(app.db, sides)
  const tips = new Map(
    branches.map(({ repository_id, name, commit_id }) => [`${repository_id}:${name}`, commit_id]),
  )
  return (pull) => {
    const base = repositories.get(pull.repository_id)
    if (!base) throw new Error('a repository that was opened has no view')
    // What a push proposed is in the base repository.
    const repository =
      pull.agit_topic === null ? repositories.get(pull.head_repository_id ?? 0) : base
    const tip = repository && tips.get(`${repository.repository.id}:${pull.head_branch}`)
    return {
      base: {
        repository: base,
        ref: pull.base_branch,
        commitId: tips.get(`${pull.repository_id}:${pull.base_branch}`) ?? '',
      },
      head:
        tip === undefined
          ? { repository, ref: headRefOf(pull), commitId: pull.head_commit }
          : { repository, ref: pull.head_branch, commitId: tip },
    }
  }
}

/** Returns the ids without duplicates and nulls. */
function present(ids: readonly (number | null)[]): number[] {
  return [...new Set(ids)].filter((id) => id !== null)
}

/** The part of `ReposApp` that says how titles of work in progress begin. */
interface WorkInProgressRule {
  readonly settings: Pick<Settings, 'wipPrefixes'>
}

/** Returns whether a title marks a pull request as work in progress. */
export function isWorkInProgress({ settings }: WorkInProgressRule, title: string): boolean {
  const folded = title.toLowerCase()
  return settings.wipPrefixes.some((prefix) => folded.startsWith(prefix.toLowerCase()))
}
