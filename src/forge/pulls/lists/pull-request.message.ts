import type { Timestamp } from '@bufbuild/protobuf/wkt'
import {
  type AutoMerge,
  PullRequest_Mergeability,
  type PullRequestBranch,
  type PullRequest as PullRequestMessage,
  type StackedPullRequest,
} from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository as RepositoryMessage } from '#gen/branchline/v1/repository_pb.ts'
import { type AccountMessages, accountMessages } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import { labelMessagesIn } from '../../conversations/label.service.ts'
import { milestoneMessage } from '../../conversations/milestone.service.ts'
import type { Caller } from '../../core/access.ts'
import { atSecond } from '../../core/wire/times.ts'
import { teamMessage } from '../../organizations/team.service.ts'
import { gitUrls, repositoryMessageWith } from '../../repositories/lifecycle/repository.message.ts'
import type { RepositoryView } from '../../repositories/lifecycle/repository-views.ts'
import { queueEntryMessage } from '../queue/queue-entry.message.ts'
import type { PullSide, PullView } from './pull-views.ts'

/** The id of a repository that was deleted or that the viewer may not read. */
const NO_REPOSITORY_ID = -1n

/** Results of a mergeability check without a conflict. */
const WITHOUT_CONFLICT: readonly PullView['mergeability'][] = ['MERGEABLE', 'EMPTY', 'ANCESTOR']

/** Returns what the message says about a merge of the present commits. */
function mergeabilityIn({ pull, base, mergeability }: PullView): PullRequest_Mergeability {
  if (pull.state !== 'OPEN') return PullRequest_Mergeability.CLOSED
  if (base.commitId === '') return PullRequest_Mergeability.BASE_MISSING
  return PullRequest_Mergeability[mergeability]
}

/** Returns a pull request as its viewer sees it. */
export function pullRequestMessage(app: App, viewer: Caller, view: PullView): PullRequestMessage {
  return messageWith(app, view, responseFor(app, viewer))
}

/** Returns pull requests as their viewer sees them. */
export function pullRequestMessages(
  app: App,
  viewer: Caller,
  views: readonly PullView[],
): PullRequestMessage[] {
  const response = responseFor(app, viewer)
  return views.map((view) => messageWith(app, view, response))
}

/**
 * The messages that the pull requests of one response share. Each account and each repository is
 * converted once.
 */
interface Response {
  readonly viewer: Caller
  readonly ofAccount: AccountMessages
  readonly ofRepository: (view: RepositoryView) => RepositoryMessage
}

function responseFor(app: App, viewer: Caller): Response {
  const ofAccount = accountMessages(app, viewer)
  const made = new Map<number, RepositoryMessage>()
  const ofRepository = (view: RepositoryView) => {
    const { id } = view.repository
    const message = made.get(id) ?? repositoryMessageWith(app, view, ofAccount)
    made.set(id, message)
    return message
  }
  return { viewer, ofAccount, ofRepository }
}

function messageWith(app: App, view: PullView, response: Response): PullRequestMessage {
  const { pull, base, head, isWorkInProgress, mergeability, counts, milestone } = view
  const { ofAccount, ofRepository } = response
  const url = gitUrls(app, base.repository).html(`/pulls/${pull.number}`)
  const assignees = view.assignees.map(ofAccount)
  const isMerged = pull.state === 'MERGED'
  // A literal with all fields. `create` would take ten times as long for so many fields.
  return {
    $typeName: 'branchline.v1.PullRequest',
    id: BigInt(pull.id),
    url,
    number: BigInt(pull.number),
    user: ofAccount(view.poster),
    title: pull.title,
    body: pull.body,
    labels: labelMessagesIn(app, base.repository, view.labels),
    milestone: milestone && milestoneMessage(milestone),
    assignee: assignees[0],
    assignees,
    requestedReviewers: view.requestedReviewers.map(ofAccount),
    requestedReviewersTeams: view.requestedTeams.map((team) =>
      teamMessage(app, response.viewer, team),
    ),
    state: pull.state === 'OPEN' ? 'open' : 'closed',
    draft: isWorkInProgress,
    isLocked: pull.lock_reason !== null,
    comments: BigInt(pull.comment_count),
    reviewComments: BigInt(pull.review_comment_count),
    additions: counts && BigInt(counts.additions),
    deletions: counts && BigInt(counts.deletions),
    changedFiles: counts && BigInt(counts.changedFiles),
    htmlUrl: url,
    diffUrl: `${url}.diff`,
    patchUrl: `${url}.patch`,
    mergeable: !isWorkInProgress && WITHOUT_CONFLICT.includes(mergeability),
    merged: isMerged,
    mergedAt: isMerged ? timeOf(pull.merge_time) : undefined,
    mergeCommitSha: (isMerged && pull.merge_commit) || undefined,
    mergedBy: isMerged && view.merger ? ofAccount(view.merger) : undefined,
    allowMaintainerEdit: pull.allow_maintainer_edit === 1,
    base: branchMessage(base, pull.base_branch, ofRepository),
    head: branchMessage(head, pull.head_branch, ofRepository),
    mergeBase: pull.merge_base,
    dueDate: timeOf(pull.due_time),
    createdAt: atSecond(pull.create_time),
    updatedAt: atSecond(pull.update_time),
    closedAt: timeOf(pull.close_time),
    pinOrder: pull.pin_order ?? 0,
    contentVersion: BigInt(pull.content_version),
    originalAuthor: pull.original_author,
    originalAuthorId: BigInt(pull.original_author_id),
    unread: view.isUnread,
    autoMerge: scheduledMergeOf(view, ofAccount),
    mergeability: mergeabilityIn(view),
    flow: pull.agit_topic === null ? 0n : 1n,
    agitTopic: pull.agit_topic === null ? '' : `${view.poster.name}/${pull.agit_topic}`,
    mergeQueueEntry:
      view.queueEntry && queueEntryMessage(app, response.viewer, base.repository, view.queueEntry),
    hasLeftMergeQueue: view.hasLeftQueue,
    stack: view.stack.map(stackedMessage),
    stackQueue: view.stackQueue,
  }
}

function stackedMessage({
  number,
  title,
  head_commit,
}: PullView['stack'][number]): StackedPullRequest {
  return {
    $typeName: 'branchline.v1.StackedPullRequest',
    number: BigInt(number),
    title,
    state: 'open',
    headSha: head_commit,
  }
}

/** @param time Unix seconds. Null for none. */
function timeOf(time: number | null): Timestamp | undefined {
  return time === null ? undefined : atSecond(time)
}

function scheduledMergeOf(
  { scheduledMerge }: PullView,
  ofAccount: AccountMessages,
): AutoMerge | undefined {
  if (!scheduledMerge) return undefined
  const { order, scheduler } = scheduledMerge
  return {
    $typeName: 'branchline.v1.AutoMerge',
    user: ofAccount(scheduler),
    style: order.style,
    createdAt: atSecond(order.create_time),
  }
}

function branchMessage(
  { repository, ref, commitId }: PullSide,
  label: string,
  ofRepository: Response['ofRepository'],
): PullRequestBranch {
  return {
    $typeName: 'branchline.v1.PullRequestBranch',
    label,
    ref,
    sha: commitId,
    repoId: repository ? BigInt(repository.repository.id) : NO_REPOSITORY_ID,
    repo: repository && ofRepository(repository),
  }
}
