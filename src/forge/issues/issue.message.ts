import { create } from '@bufbuild/protobuf'
import { type Issue, IssueSchema } from '#gen/branchline/v1/issue_pb.ts'
import { accountMessage } from '../accounts/users/accounts.message.ts'
import type { App } from '../app.ts'
import { labelMessagesIn } from '../conversations/label.service.ts'
import { milestoneMessage } from '../conversations/milestone.service.ts'
import type { Caller } from '../core/access.ts'
import { atSecond } from '../core/wire/times.ts'
import { pullRequestMessage } from '../pulls/lists/pull-request.message.ts'
import type { PullView } from '../pulls/lists/pull-views.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import { attachmentMessage } from '../repositories/attachments/attachment.message.ts'
import { gitUrls } from '../repositories/lifecycle/repository.message.ts'
import type { ConversationLink, ConversationView, IssueView } from './issue-views.ts'

/** Returns a conversation of either kind as an issue, as its viewer sees it. */
export function conversationMessage(app: App, viewer: Caller, view: ConversationView): Issue {
  return view.kind === 'pull'
    ? pullAsIssue(app, viewer, view.pull)
    : issueMessage(app, viewer, view)
}

/** Returns an issue as its viewer sees it. */
export function issueMessage(app: App, viewer: Caller, view: IssueView): Issue {
  const { open, issue, poster, labels, milestone, assignees, assets } = view
  const { duplicateOf, parent, subIssues } = view
  const urls = gitUrls(app, open)
  const place = `/issues/${issue.number}`
  const people = assignees.map((owner) => accountMessage(app, viewer, owner))
  const timeOf = (seconds: number | null) => (seconds === null ? undefined : atSecond(seconds))
  const [assignee] = people
  const [closedAt, dueDate] = [timeOf(issue.close_time), timeOf(issue.due_time)]
  return create(IssueSchema, {
    id: BigInt(issue.id),
    url: urls.api(place),
    htmlUrl: urls.html(place),
    number: BigInt(issue.number),
    user: accountMessage(app, viewer, poster),
    originalAuthor: issue.original_author,
    originalAuthorId: BigInt(issue.original_author_id),
    title: issue.title,
    body: issue.body,
    ref: issue.ref,
    assets: assets.map((asset) => attachmentMessage(app, asset)),
    labels: labelMessagesIn(app, open, labels),
    assignees: people,
    state: issue.state === 'OPEN' ? 'open' : 'closed',
    isLocked: issue.lock_reason !== null,
    pinOrder: issue.pin_order ?? 0,
    comments: BigInt(issue.comment_count),
    createdAt: atSecond(issue.create_time),
    updatedAt: atSecond(issue.update_time),
    contentVersion: BigInt(issue.content_version),
    ...(milestone && { milestone: milestoneMessage(milestone) }),
    ...(assignee && { assignee }),
    ...(closedAt && { closedAt }),
    ...(dueDate && { dueDate }),
    repository: repositoryOf(open),
    stateReason: issue.state_reason,
    ...(duplicateOf && { duplicateOf: linkMessage(duplicateOf) }),
    ...(parent && { parent: linkMessage(parent) }),
    ...(subIssues && { subIssues }),
  })
}

/** Returns a conversation as others name it. */
/** Returns a link to a conversation, with its repository. */
export function linkMessage({ number, open }: ConversationLink) {
  return { number: BigInt(number), repository: repositoryOf(open) }
}

function repositoryOf({ repository, owner }: Pick<OpenRepository, 'repository' | 'owner'>) {
  return {
    id: BigInt(repository.id),
    name: repository.name,
    owner: owner.name,
    fullName: `${owner.name}/${repository.name}`,
  }
}

/** Returns a pull request as an issue, as its viewer sees it. */
export function pullAsIssue(app: App, viewer: Caller, view: PullView): Issue {
  const { pull, base, progress } = view
  const message = pullRequestMessage(app, viewer, view)
  const {
    id,
    number,
    user,
    title,
    body,
    labels,
    assignees,
    state,
    comments,
    htmlUrl,
    contentVersion,
  } = message
  const { milestone, assignee, createdAt, updatedAt, closedAt, dueDate } = message
  return create(IssueSchema, {
    id,
    url: gitUrls(app, base.repository).api(`/issues/${pull.number}`),
    htmlUrl,
    number,
    title,
    body,
    labels,
    assignees,
    assets: view.assets.map((asset) => attachmentMessage(app, asset)),
    state,
    isLocked: message.isLocked,
    pinOrder: message.pinOrder,
    comments,
    contentVersion,
    ...(user && { user }),
    ...(milestone && { milestone }),
    ...(assignee && { assignee }),
    ...(createdAt && { createdAt }),
    ...(updatedAt && { updatedAt }),
    ...(closedAt && { closedAt }),
    ...(dueDate && { dueDate }),
    pullRequest: {
      merged: message.merged,
      ...(message.mergedAt && { mergedAt: message.mergedAt }),
      draft: message.draft,
      htmlUrl,
      ...(progress && {
        reviewState: progress.review,
        checksState: progress.checks,
        mergeQueuePosition: Number(message.mergeQueueEntry?.position ?? 0n),
        baseBranch: message.base?.label ?? '',
        headBranch: message.agitTopic || (message.head?.label ?? ''),
      }),
    },
    repository: repositoryOf(base.repository),
  })
}
