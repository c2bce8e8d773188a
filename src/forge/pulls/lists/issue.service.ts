import { create } from '@bufbuild/protobuf'
import type { Value } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { type TimelineComment, TimelineCommentSchema } from '#gen/branchline/v1/issue_comment_pb.ts'
import { type Issue, IssueSchema } from '#gen/branchline/v1/issue_pb.ts'
import {
  type EditIssueRequest,
  type IssueReference,
  IssueService,
} from '#gen/branchline/v1/issue_service_pb.ts'
import { accountMessage } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import {
  type LabelledConversation,
  type LabelReference,
  labelConversation,
  listConversationLabels,
  unlabelConversation,
} from '../../conversations/conversation-labels.ts'
import {
  addDependency,
  type DependencyReference,
  listDependencies,
  removeDependency,
} from '../../conversations/dependencies.ts'
import { labelMessagesIn } from '../../conversations/label.service.ts'
import { lockConversation, unlockConversation } from '../../conversations/locks.ts'
import { milestoneMessage } from '../../conversations/milestone.service.ts'
import type { OpenConversation } from '../../conversations/ports.ts'
import { listTimeline, type TimelineView } from '../../conversations/timeline.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { textsOf } from '../../core/wire/list-values.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond, secondsOf } from '../../core/wire/times.ts'
import { teamMessage } from '../../organizations/team.service.ts'
import { gitUrls } from '../../repositories/lifecycle/repository.message.ts'
import { rereadPull } from '../heads/open-pulls.ts'
import { editPull, type PullEdit } from '../lifecycle/edit-pull.ts'
import { lookOf } from '../lifecycle/pull-request.service.ts'
import { getPull } from '../lifecycle/pull-requests.ts'
import { listIssues, searchIssues } from './issue-lists.ts'
import type { PullPage } from './pull-lists.ts'
import { pullRequestMessage } from './pull-request.message.ts'
import { type PullView, viewPull, viewPullsById } from './pull-views.ts'

/** Implements IssueService. */
function issueService(app: App): ServiceImpl<typeof IssueService> {
  return {
    ...listMethods(app),

    async getIssue({ owner, repo, index }, context) {
      const caller = callerOf(context)
      return issueMessage(
        app,
        caller,
        await getPull(app, caller, { owner, repo, number: Number(index) }, lookOf(context)),
      )
    },

    async editIssue(request, context) {
      const caller = signedIn(callerOf(context))
      const { owner, repo, index } = request
      return issueMessage(
        app,
        caller,
        await editPull(app, caller, { owner, repo, number: Number(index) }, editOf(request)),
      )
    },

    ...labelMethods(app),
    ...dependencyMethods(app),
    ...conversationMethods(app),
  }
}

type ListMethods = Pick<ServiceImpl<typeof IssueService>, 'listIssues' | 'searchIssues'>

function listMethods(app: App): ListMethods {
  const answer = (caller: Caller, { pulls, total }: PullPage, { limit }: Page) => ({
    issues: pulls.map((view) => issueMessage(app, caller, view)),
    total: BigInt(total),
    limit,
  })
  return {
    async listIssues({ owner, repo, since, before, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const query = { ...request, since: secondsOf(since), before: secondsOf(before) }
      return answer(caller, await listIssues(app, caller, { owner, repo }, query, page), page)
    },

    async searchIssues({ since, before, priorityRepoId, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const query = {
        ...request,
        since: secondsOf(since),
        before: secondsOf(before),
        priorityRepoId: Number(priorityRepoId),
      }
      return answer(caller, await searchIssues(app, caller, query, page), page)
    },
  }
}

type LabelMethods = Pick<
  ServiceImpl<typeof IssueService>,
  | 'listIssueLabels'
  | 'addIssueLabels'
  | 'replaceIssueLabels'
  | 'clearIssueLabels'
  | 'removeIssueLabel'
>

function labelMethods(app: App): LabelMethods {
  type OfIssue = { owner: string; repo: string; index: bigint }
  const label = (
    { owner, repo, index }: OfIssue,
    context: HandlerContext,
    labels: readonly Value[],
    keeps: 'all others' | 'none',
  ) =>
    labelConversation(
      app,
      signedIn(callerOf(context)),
      { owner, repo, number: Number(index) },
      labels.map(referenceOf),
      keeps,
    )

  return {
    async listIssueLabels({ owner, repo, index }, context) {
      return labelsMessage(
        app,
        await listConversationLabels(app, callerOf(context), {
          owner,
          repo,
          number: Number(index),
        }),
      )
    },

    async addIssueLabels(request, context) {
      return labelsMessage(app, await label(request, context, request.labels, 'all others'))
    },

    async replaceIssueLabels(request, context) {
      return labelsMessage(app, await label(request, context, request.labels, 'none'))
    },

    async clearIssueLabels(request, context) {
      await label(request, context, [], 'none')
      return {}
    },

    async removeIssueLabel({ owner, repo, index, id }, context) {
      await unlabelConversation(
        app,
        signedIn(callerOf(context)),
        { owner, repo, number: Number(index) },
        Number(id),
      )
      return {}
    },
  }
}

type DependencyMethods = Pick<
  ServiceImpl<typeof IssueService>,
  'listIssueDependencies' | 'addIssueDependency' | 'removeIssueDependency'
>

/** Stands for a dependency that the caller may not read. */
const HIDDEN_ISSUE = create(IssueSchema, { title: 'HIDDEN' })

function dependencyMethods(app: App): DependencyMethods {
  const viewed = async (caller: Caller, open: OpenConversation) =>
    issueMessage(
      app,
      caller,
      await viewPull(app, caller, open, await rereadPull(app.db, open.conversation)),
    )
  return {
    async listIssueDependencies({ owner, repo, index, ...page }, context) {
      const caller = callerOf(context)
      const { offset, limit } = readNumberedPage(app.settings, page)
      const { ids, total } = await listDependencies(
        app,
        caller,
        { owner, repo, number: Number(index) },
        { offset, limit },
      )
      return {
        issues: (await viewPullsById(app, caller, ids)).map((view) =>
          view ? issueMessage(app, caller, view) : HIDDEN_ISSUE,
        ),
        total: BigInt(total),
        limit,
      }
    },

    async addIssueDependency({ owner, repo, index, dependency }, context) {
      const caller = signedIn(callerOf(context))
      const other = dependencyOf(dependency)
      const name = { owner, repo, number: Number(index) }
      return viewed(caller, await addDependency(app, caller, name, other))
    },

    async removeIssueDependency({ owner, repo, index, dependency }, context) {
      const caller = signedIn(callerOf(context))
      const other = dependencyOf(dependency)
      const name = { owner, repo, number: Number(index) }
      return viewed(caller, await removeDependency(app, caller, name, other))
    },
  }
}

function dependencyOf(reference: IssueReference | undefined): DependencyReference {
  return {
    owner: reference?.owner ?? '',
    repo: reference?.repo ?? '',
    number: Number(reference?.index ?? 0),
  }
}

function referenceOf({ kind }: Value): LabelReference {
  if (kind.case === 'stringValue') return kind.value
  if (kind.case === 'numberValue' && Number.isSafeInteger(kind.value)) return kind.value
  throw new DomainError('INVALID_FIELD', { field: 'labels' })
}

function labelsMessage(app: App, { open, labels }: LabelledConversation) {
  return { labels: labelMessagesIn(app, open, labels) }
}

function editOf(request: EditIssueRequest): PullEdit {
  const { contentVersion, assignees, milestone } = request
  return {
    ...request,
    body: request.body,
    contentVersion: contentVersion === undefined ? undefined : Number(contentVersion),
    unsetDueDate: request.unsetDueDate ?? false,
    assignees: assignees && textsOf('assignees', assignees),
    milestoneId: milestone === undefined ? undefined : Number(milestone),
    labelIds: undefined,
    state: request.state,
    base: '',
    allowMaintainerEdit: undefined,
  }
}

/** Returns a pull request as an issue, as its viewer sees it. */
export function issueMessage(app: App, viewer: Caller, view: PullView): Issue {
  const { pull, base } = view
  const { repository, owner } = base.repository
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
    state,
    isLocked: message.isLocked,
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
    },
    repository: {
      id: BigInt(repository.id),
      name: repository.name,
      owner: owner.name,
      fullName: `${owner.name}/${repository.name}`,
    },
  })
}

export const issues = defineService(IssueService, issueService)

/** The methods of IssueService about the conversation of a pull request. */
type ConversationMethods = Pick<
  ServiceImpl<typeof IssueService>,
  'lockIssue' | 'unlockIssue' | 'listIssueTimeline'
>

/** Implements the conversation methods of IssueService. */
function conversationMethods(app: App): ConversationMethods {
  return {
    async lockIssue({ owner, repo, index, lockReason }, context) {
      const caller = signedIn(callerOf(context))
      await lockConversation(app, caller, { owner, repo, number: Number(index) }, lockReason)
      return {}
    },

    async unlockIssue({ owner, repo, index }, context) {
      const caller = signedIn(callerOf(context))
      await unlockConversation(app, caller, { owner, repo, number: Number(index) })
      return {}
    },

    async listIssueTimeline({ owner, repo, index, since, before, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const { entries, total } = await listTimeline(
        app,
        caller,
        { owner, repo, number: Number(index) },
        { since: secondsOf(since), before: secondsOf(before) },
        page,
      )
      return {
        entries: entries.map((view) => timelineMessage(app, caller, view)),
        total: BigInt(total),
        limit: page.limit,
      }
    },
  }
}

function timelineMessage(app: App, viewer: Caller, view: TimelineView): TimelineComment {
  const { open, entry, actor, milestone, oldMilestone, label, assignee, team } = view
  const page = gitUrls(app, open).html(`/pulls/${open.conversation.number}`)
  const isTitle = entry.type === 'change_title'
  const isBase = entry.type === 'change_target_branch'
  const hasCommit = entry.type === 'merge_pull' || entry.type === 'pull_push'
  return create(TimelineCommentSchema, {
    id: BigInt(entry.id),
    type: entry.type,
    htmlUrl: entry.type === 'comment' ? `${page}#issuecomment-${entry.id}` : page,
    pullRequestUrl: page,
    user: accountMessage(app, viewer, actor),
    body: bodyOf(view),
    createdAt: atSecond(entry.create_time),
    updatedAt: atSecond(entry.update_time),
    oldTitle: isTitle ? entry.old_value : '',
    newTitle: isTitle ? entry.new_value : '',
    oldRef: isBase ? entry.old_value : '',
    newRef: isBase ? entry.new_value : '',
    refCommitSha: hasCommit ? entry.new_value : '',
    reviewId: reviewIdOf(view),
    ...(oldMilestone && { oldMilestone: milestoneMessage(oldMilestone) }),
    ...(milestone && { milestone: milestoneMessage(milestone) }),
    ...(label && { label: labelMessagesIn(app, open, [label])[0] }),
    ...(assignee && { assignee: accountMessage(app, viewer, assignee) }),
    ...(team && { assigneeTeam: teamMessage(app, viewer, team) }),
    removedAssignee: entry.type !== 'label' && view.isRemoved,
  })
}

function reviewIdOf({ entry }: TimelineView): bigint {
  if (entry.type === 'review') return BigInt(entry.id)
  return entry.type === 'dismiss_review' ? BigInt(entry.old_value) : 0n
}

function bodyOf({ entry, isRemoved }: TimelineView): string {
  switch (entry.type) {
    case 'lock':
    case 'dismiss_review':
      return entry.new_value
    case 'label':
      return isRemoved ? '' : '1'
    case 'added_deadline':
      return dateOf(entry.new_value)
    case 'modified_deadline':
      return `${dateOf(entry.new_value)}|${dateOf(entry.old_value)}`
    case 'removed_deadline':
      return dateOf(entry.old_value)
    default:
      return entry.body
  }
}

/** Returns the day of a time in Unix seconds, in UTC. */
function dateOf(seconds: string): string {
  return new Date(Number(seconds) * 1000).toISOString().slice(0, 10)
}
