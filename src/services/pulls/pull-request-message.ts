import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type PullRequestBranch,
  PullRequestBranchSchema,
  type PullRequest as PullRequestMessage,
  PullRequestSchema,
} from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository as RepositoryMessage } from '#gen/branchline/v1/repository_pb.ts'
import type { App } from '../../domain/app.ts'
import type { Caller } from '../../domain/core/access.ts'
import type { PullSide, PullView } from '../../domain/pulls/listing/pull-views.ts'
import type { RepositoryView } from '../../domain/repos/listing/repository-views.ts'
import { accountMessage } from '../accounts/accounts.ts'
import { labelMessagesIn } from '../repos/labels.ts'
import { milestoneMessage } from '../repos/milestones.ts'
import { repositoryMessage } from '../repos/repository-message.ts'
import { teamMessage } from '../repos/teams.ts'
import { gitUrls } from '../wire/git-urls.ts'
import { atSecond } from '../wire/times.ts'

type Fields = Exclude<MessageInitShape<typeof PullRequestSchema>, PullRequestMessage>

/** The id of a repository that was deleted or that the viewer may not read. */
const NO_REPOSITORY_ID = -1n

/** Results of a mergeability check without a conflict. */
const WITHOUT_CONFLICT: readonly PullView['mergeability'][] = ['MERGEABLE', 'EMPTY', 'ANCESTOR']

/** Returns a pull request as its viewer sees it. */
export function pullRequestMessage(app: App, viewer: Caller, view: PullView): PullRequestMessage {
  return messageWith(app, viewer, view, repositoryMessages(app, viewer))
}

/** Returns pull requests as their viewer sees them. */
export function pullRequestMessages(
  app: App,
  viewer: Caller,
  views: readonly PullView[],
): PullRequestMessage[] {
  const ofRepository = repositoryMessages(app, viewer)
  return views.map((view) => messageWith(app, viewer, view, ofRepository))
}

type RepositoryMessages = (view: RepositoryView) => RepositoryMessage

/**
 * Returns a function that converts repositories to messages, each once. The pull requests of a list
 * share their repositories.
 */
function repositoryMessages(app: App, viewer: Caller): RepositoryMessages {
  const made = new Map<number, RepositoryMessage>()
  return (view) => {
    const { id } = view.repository
    const message = made.get(id) ?? repositoryMessage(app, viewer, view)
    made.set(id, message)
    return message
  }
}

function messageWith(
  app: App,
  viewer: Caller,
  view: PullView,
  ofRepository: RepositoryMessages,
): PullRequestMessage {
  const { pull, base, head, isWorkInProgress, mergeability, counts } = view
  return create(PullRequestSchema, {
    id: BigInt(pull.id),
    number: BigInt(pull.number),
    title: pull.title,
    body: pull.body,
    state: pull.state === 'OPEN' ? 'open' : 'closed',
    draft: isWorkInProgress,
    comments: BigInt(pull.comment_count),
    reviewComments: BigInt(pull.review_comment_count),
    ...(counts && {
      additions: BigInt(counts.additions),
      deletions: BigInt(counts.deletions),
      changedFiles: BigInt(counts.changedFiles),
    }),
    mergeable: !isWorkInProgress && WITHOUT_CONFLICT.includes(mergeability),
    allowMaintainerEdit: pull.allow_maintainer_edit === 1,
    base: branchMessage(base, pull.base_branch, ofRepository),
    head: branchMessage(head, pull.head_branch, ofRepository),
    mergeBase: pull.merge_base,
    contentVersion: BigInt(pull.content_version),
    unread: view.isUnread,
    ...urlsOf(app, view),
    ...peopleOf(app, viewer, view),
    ...planningOf(app, view),
    ...timesOf(view),
    ...mergeOf(app, viewer, view),
    ...autoMergeOf(app, viewer, view),
  })
}

function urlsOf(app: App, { pull, base }: PullView): Fields {
  const url = gitUrls(app, base.repository).html(`/pulls/${pull.number}`)
  return { url, htmlUrl: url, diffUrl: `${url}.diff`, patchUrl: `${url}.patch` }
}

function peopleOf(app: App, viewer: Caller, view: PullView): Fields {
  const assignees = view.assignees.map((owner) => accountMessage(app, viewer, owner))
  const [assignee] = assignees
  return {
    user: accountMessage(app, viewer, view.poster),
    ...(assignee && { assignee }),
    assignees,
    requestedReviewers: view.requestedReviewers.map((owner) => accountMessage(app, viewer, owner)),
    requestedReviewersTeams: view.requestedTeams.map((team) => teamMessage(viewer, team)),
  }
}

function planningOf(app: App, { labels, milestone, base }: PullView): Fields {
  return {
    labels: labelMessagesIn(app, base.repository, labels),
    ...(milestone && { milestone: milestoneMessage(milestone) }),
  }
}

function timesOf({ pull }: PullView): Fields {
  return {
    createdAt: atSecond(pull.create_time),
    updatedAt: atSecond(pull.update_time),
    ...(pull.close_time !== null && { closedAt: atSecond(pull.close_time) }),
    ...(pull.due_time !== null && { dueDate: atSecond(pull.due_time) }),
  }
}

function mergeOf(app: App, viewer: Caller, { pull, merger }: PullView): Fields {
  if (pull.state !== 'MERGED') return {}
  return {
    merged: true,
    ...(pull.merge_time !== null && { mergedAt: atSecond(pull.merge_time) }),
    ...(pull.merge_commit !== null && { mergeCommitSha: pull.merge_commit }),
    ...(merger && { mergedBy: accountMessage(app, viewer, merger) }),
  }
}

function autoMergeOf(app: App, viewer: Caller, { autoMerge }: PullView): Fields {
  if (!autoMerge) return {}
  const { order, scheduler } = autoMerge
  return {
    autoMerge: {
      user: accountMessage(app, viewer, scheduler),
      style: order.style,
      createdAt: atSecond(order.create_time),
    },
  }
}

function branchMessage(
  { repository, ref, commitId }: PullSide,
  label: string,
  ofRepository: RepositoryMessages,
): PullRequestBranch {
  return create(PullRequestBranchSchema, {
    label,
    ref,
    sha: commitId,
    repoId: repository ? BigInt(repository.repository.id) : NO_REPOSITORY_ID,
    ...(repository && { repo: ofRepository(repository) }),
  })
}
