import { create } from '@bufbuild/protobuf'
import type { Value } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { type TimelineComment, TimelineCommentSchema } from '#gen/branchline/v1/issue_comment_pb.ts'
import { IssueSchema } from '#gen/branchline/v1/issue_pb.ts'
import {
  type BatchEditIssuesRequest,
  CreateIssueRequestSchema,
  type EditIssueRequest,
  type IssueReference,
  IssueService,
} from '#gen/branchline/v1/issue_service_pb.ts'
import { accountMessage } from '../accounts/users/accounts.message.ts'
import type { App } from '../app.ts'
import { addAssignees, checkAssignable, removeAssignees } from '../conversations/assignees.ts'
import { endOfDay } from '../conversations/conversation-fields.ts'
import {
  type LabelledConversation,
  type LabelReference,
  labelConversation,
  listConversationLabels,
  unlabelConversation,
} from '../conversations/conversation-labels.ts'
import { conversationUrls } from '../conversations/conversation-urls.message.ts'
import {
  addDependency,
  type DependencyReference,
  listBlocks,
  listDependencies,
  removeDependency,
} from '../conversations/dependencies.ts'
import { commentMessage } from '../conversations/issue-comment.service.ts'
import { viewCommentsById } from '../conversations/issue-comments.ts'
import { madeOnce } from '../conversations/issue-requests.ts'
import { labelMessagesIn } from '../conversations/label.service.ts'
import { lockConversation, unlockConversation } from '../conversations/locks.ts'
import { milestoneMessage } from '../conversations/milestone.service.ts'
import type { ConversationsApp } from '../conversations/ports.ts'
import { repeatableOf } from '../conversations/repeatable.message.ts'
import { formerHeadOf, listTimeline, type TimelineView } from '../conversations/timeline.ts'
import { type Caller, type SignedIn, signedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { ConversationName } from '../core/names.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { textsOf } from '../core/wire/list-values.ts'
import type { ListIdentity } from '../core/wire/lists.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { atSecond, secondsOf } from '../core/wire/times.ts'
import { teamMessage } from '../organizations/team.service.ts'
import { editPull } from '../pulls/lifecycle/edit-pull.ts'
import { lookOf } from '../pulls/lifecycle/pull-request.service.ts'
import { batchEditIssues } from './batch-edit.message.ts'
import { createIssue } from './create-issue.ts'
import { editIssue, removeIssue } from './edit-issue.ts'
import { editWithComment } from './edit-with-comment.ts'
import { conversationMessage } from './issue.message.ts'
import {
  type ConversationPage,
  listIssues,
  type PageOfIssues,
  searchIssues,
} from './issue-lists.ts'
import { facetsMessage, issueListOf, nextPageToken, readIssuePage } from './issue-query.service.ts'
import {
  type ConversationView,
  getConversation,
  viewAgain,
  viewConversationsById,
} from './issue-views.ts'
import { checkMaySetDueDate, findNamed } from './open-issues.ts'

/** Implements IssueService. */
function issueService(app: App): ServiceImpl<typeof IssueService> {
  return {
    ...listMethods(app),

    async getIssue({ owner, repo, index }, context) {
      const caller = callerOf(context)
      const name = { owner, repo, number: Number(index) }
      const view = await getConversation(app, caller, name, lookOf(context))
      return conversationMessage(app, caller, view)
    },

    async createIssue(message, context) {
      const caller = signedIn(callerOf(context))
      const { owner, repo, ...request } = message
      const draft = {
        ...request,
        milestoneId: Number(request.milestone),
        labels: request.labels.map(referenceOf),
        dueTime: request.dueDate === '' ? null : endOfDay(request.dueDate),
        answers: request.fields ?? {},
      }
      const repeatable = repeatableOf(CreateIssueRequestSchema, message)
      const name = { owner, repo }
      const number = await madeOnce(app, caller, repeatable, async (app) => {
        const { issue } = await createIssue(app, caller, name, draft)
        return issue.number
      })
      return conversationMessage(app, caller, await viewAgain(app, caller, { ...name, number }))
    },

    async editIssue(request, context) {
      const caller = signedIn(callerOf(context))
      const { owner, repo, index } = request
      const name = { owner, repo, number: Number(index) }
      const additions = {
        labels: request.labels?.values.map(referenceOf),
        comment: request.comment,
      }
      await editWithComment(app, caller, name, additions, (within) =>
        editConversation(within, caller, name, request),
      )
      return conversationMessage(app, caller, await viewAgain(app, caller, name))
    },

    async deleteIssue({ owner, repo, index }, context) {
      const name = { owner, repo, number: Number(index) }
      await removeIssue(app, signedIn(callerOf(context)), name)
      return {}
    },

    batchEditIssues: (request, context) =>
      batchEditIssues(app, signedIn(callerOf(context)), request, { referenceOf, editing }),

    ...assigneeMethods(app),
    ...labelMethods(app),
    ...dependencyMethods(app),
    ...conversationMethods(app),
  }
}

type ListMethods = Pick<ServiceImpl<typeof IssueService>, 'listIssues' | 'searchIssues'>

function listMethods(app: App): ListMethods {
  const answer = (
    caller: Caller,
    found: ConversationPage,
    list: ListIdentity,
    { limit }: PageOfIssues,
  ) => {
    const issues = found.conversations.map((view) => conversationMessage(app, caller, view))
    const token = nextPageToken(app, list, found)
    const { total, facets } = found
    return {
      issues,
      total: BigInt(total),
      totalCapped: found.isTotalCapped,
      incomplete: found.isIncomplete,
      limit,
      nextPageToken: token,
      ...(facets && {
        faceted: { items: issues, facets: facetsMessage(facets), nextPageToken: token },
      }),
    }
  }
  return {
    async listIssues(request, context) {
      const caller = callerOf(context)
      const list = issueListOf(request)
      const page = readIssuePage(app, list, request)
      const query = {
        ...request,
        view: Number(request.view),
        since: secondsOf(request.since),
        before: secondsOf(request.before),
      }
      return answer(caller, await listIssues(app, caller, request, query, page), list, page)
    },

    async searchIssues(request, context) {
      const caller = callerOf(context)
      const list = issueListOf(request)
      const page = readIssuePage(app, list, request)
      const query = {
        ...request,
        view: Number(request.view),
        since: secondsOf(request.since),
        before: secondsOf(request.before),
        priorityRepoId: Number(request.priorityRepoId),
      }
      return answer(caller, await searchIssues(app, caller, query, page), list, page)
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

    async removeIssueLabel({ owner, repo, index, id, label: named }, context) {
      await unlabelConversation(
        app,
        signedIn(callerOf(context)),
        { owner, repo, number: Number(index) },
        named || Number(id),
      )
      return {}
    },
  }
}

type DependencyMethods = Pick<
  ServiceImpl<typeof IssueService>,
  | 'listIssueDependencies'
  | 'addIssueDependency'
  | 'removeIssueDependency'
  | 'listIssueBlocks'
  | 'addIssueBlock'
  | 'removeIssueBlock'
>

/** Stands for a conversation that the caller may not read. */
const HIDDEN_ISSUE = create(IssueSchema, { title: 'HIDDEN' })

function dependencyMethods(app: App): DependencyMethods {
  type Request = { owner: string; repo: string; index: bigint; page: number; limit: number }
  const list = async (
    { owner, repo, index, ...page }: Request,
    context: HandlerContext,
    find: typeof listDependencies,
  ) => {
    const caller = callerOf(context)
    const { offset, limit } = readNumberedPage(app.settings, page)
    const name = { owner, repo, number: Number(index) }
    const { ids, total } = await find(app, caller, name, { offset, limit })
    const views = await viewConversationsById(app, caller, ids)
    return {
      issues: views.map((view) => (view ? conversationMessage(app, caller, view) : HIDDEN_ISSUE)),
      total: BigInt(total),
      limit,
    }
  }
  const change = async (
    { owner, repo, index }: Pick<Request, 'owner' | 'repo' | 'index'>,
    context: HandlerContext,
    apply: (caller: SignedIn, name: ConversationName) => Promise<unknown>,
  ) => {
    const caller = signedIn(callerOf(context))
    const name = { owner, repo, number: Number(index) }
    await apply(caller, name)
    return conversationMessage(app, caller, await viewAgain(app, caller, name))
  }
  return {
    listIssueDependencies: (request, context) => list(request, context, listDependencies),
    listIssueBlocks: (request, context) => list(request, context, listBlocks),
    addIssueDependency: (request, context) =>
      change(request, context, (caller, name) =>
        addDependency(app, caller, name, dependencyOf(request.dependency)),
      ),
    removeIssueDependency: (request, context) =>
      change(request, context, (caller, name) =>
        removeDependency(app, caller, name, dependencyOf(request.dependency)),
      ),
    addIssueBlock: (request, context) =>
      change(request, context, (caller, name) =>
        addDependency(app, caller, blockedBy(name, request.block), name),
      ),
    removeIssueBlock: (request, context) =>
      change(request, context, (caller, name) =>
        removeDependency(app, caller, blockedBy(name, request.block), name),
      ),
  }
}

/** Returns the conversation that waits for another one, in whose repository it is by default. */
function blockedBy(
  name: ConversationName,
  reference: IssueReference | undefined,
): ConversationName {
  const { owner, repo, number } = dependencyOf(reference)
  return { owner: owner || name.owner, repo: repo || name.repo, number }
}

type AssigneeMethods = Pick<
  ServiceImpl<typeof IssueService>,
  'addIssueAssignees' | 'removeIssueAssignees' | 'checkIssueAssignee' | 'setIssueDeadline'
>

function assigneeMethods(app: App): AssigneeMethods {
  type Request = { owner: string; repo: string; index: bigint; assignees: string[] }
  const assign = async (
    { owner, repo, index, assignees }: Request,
    context: HandlerContext,
    apply: typeof addAssignees,
  ) => {
    const caller = signedIn(callerOf(context))
    const name = { owner, repo, number: Number(index) }
    await apply(app, caller, name, assignees)
    return conversationMessage(app, caller, await viewAgain(app, caller, name))
  }
  return {
    addIssueAssignees: (request, context) => assign(request, context, addAssignees),
    removeIssueAssignees: (request, context) => assign(request, context, removeAssignees),

    async checkIssueAssignee({ owner, repo, index, assignee }, context) {
      const name = { owner, repo, number: Number(index) }
      await checkAssignable(app, callerOf(context), name, assignee)
      return {}
    },

    async setIssueDeadline({ owner, repo, index, dueDate }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      await checkMaySetDueDate(app, caller, name)
      const edit = { ...NO_EDIT, dueDate, unsetDueDate: dueDate === '' }
      const view = await editConversation(app, caller, name, edit)
      const due = view.kind === 'pull' ? view.pull.pull.due_time : view.issue.due_time
      return due === null ? {} : { dueDate: atSecond(due) }
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

/** Returns the conversation that an issue repeats, in the repository of the issue by default. */
function duplicateReference(name: ConversationName, { kind }: Value): ConversationName {
  if (kind.case === 'numberValue') return { ...name, number: kind.value }
  if (kind.case !== 'structValue') throw new DomainError('INVALID_FIELD', { field: 'duplicate_of' })
  const { owner, repo, index } = kind.value.fields
  return {
    owner: (owner && textOf(owner)) || name.owner,
    repo: (repo && textOf(repo)) || name.repo,
    number: index?.kind.case === 'numberValue' ? index.kind.value : 0,
  }
}

function textOf({ kind }: Value): string {
  return kind.case === 'stringValue' ? kind.value : ''
}

function referenceOf({ kind }: Value): LabelReference {
  if (kind.case === 'stringValue') return kind.value
  if (kind.case === 'numberValue' && Number.isSafeInteger(kind.value)) return kind.value
  throw new DomainError('LABEL_MALFORMED')
}

function labelsMessage(app: App, { open, labels }: LabelledConversation) {
  return { labels: labelMessagesIn(app, open, labels) }
}

/** The fields of EditIssueRequest that say what changes. */
type Edit = Pick<EditIssueRequest, 'title' | 'dueDate' | 'assignee'> &
  Partial<
    Pick<
      EditIssueRequest,
      | 'body'
      | 'contentVersion'
      | 'unsetDueDate'
      | 'assignees'
      | 'milestone'
      | 'state'
      | 'ref'
      | 'stateReason'
      | 'duplicateOf'
    >
  >

/** Changes nothing. */
const NO_EDIT: Edit = { title: '', dueDate: '', assignee: '' }

/** Changes a conversation of either kind. */
async function editConversation(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  edit: Edit,
): Promise<ConversationView> {
  const { contentVersion, assignees, milestone, dueDate } = edit
  const shared = {
    title: edit.title,
    body: edit.body,
    contentVersion: contentVersion === undefined ? undefined : Number(contentVersion),
    assignee: edit.assignee,
    assignees: assignees && textsOf('assignees', assignees),
    milestoneId: milestone === undefined ? undefined : Number(milestone),
    state: edit.state,
  }
  const unsetDueDate = edit.unsetDueDate ?? false
  const { conversation } = await findNamed(app, caller, name)
  if (conversation.is_pull === 1) {
    const ofPulls = { labelIds: undefined, base: '', allowMaintainerEdit: undefined }
    const pullEdit = { ...shared, ...ofPulls, dueDate, unsetDueDate }
    return { kind: 'pull', pull: await editPull(app, caller, name, pullEdit) }
  }
  const dueTime = unsetDueDate ? null : dueDate === '' ? undefined : endOfDay(dueDate)
  const view = await editIssue(app, caller, name, {
    ...shared,
    ref: edit.ref,
    dueTime,
    stateReason: edit.stateReason ?? '',
    duplicateOf: edit.duplicateOf && duplicateReference(name, edit.duplicateOf),
  })
  return { kind: 'issue', ...view }
}

/** Returns what changes the fields of one conversation as a batch says. */
function editing({ milestone, state, stateReason, dueDate }: BatchEditIssuesRequest) {
  const edit = {
    ...NO_EDIT,
    dueDate,
    state,
    stateReason,
    ...(milestone !== undefined && { milestone }),
  }
  return (app: ConversationsApp, caller: SignedIn, name: ConversationName) =>
    editConversation(app, caller, name, edit)
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
        entries: await timelineMessages(app, caller, entries),
        total: BigInt(total),
        limit: page.limit,
      }
    },
  }
}

/** Returns entries of a timeline, those that are references with the texts that have them. */
export async function timelineMessages(
  app: App,
  viewer: Caller,
  entries: readonly TimelineView[],
): Promise<TimelineComment[]> {
  const idsOf = (column: 'source_id' | 'comment_id') => [
    ...new Set(entries.map(({ entry }) => entry[column]).filter((id) => id > 0)),
  ]
  const sources = await sourcesById(app, viewer, idsOf('source_id'))
  const comments = await viewCommentsById(app, idsOf('comment_id'), sources.opened)
  return entries.map((view) => {
    const { source_id, comment_id } = view.entry
    const [source, comment] = [sources.views.get(source_id), comments.get(comment_id)]
    return create(TimelineCommentSchema, {
      ...timelineMessage(app, viewer, view),
      ...(source && {
        [OF_DEPENDENCIES.has(view.entry.type) ? 'dependentIssue' : 'refIssue']: conversationMessage(
          app,
          viewer,
          source,
        ),
      }),
      ...(comment && { refComment: commentMessage(app, viewer, comment) }),
      refAction: (source && view.entry.old_value) || 'none',
    })
  })
}

/** Returns the conversations that the viewer may read, as they are shown and as they are opened. */
async function sourcesById(app: App, viewer: Caller, ids: readonly number[]) {
  const found = await viewConversationsById(app, viewer, ids)
  const views = found.flatMap((view, i) => (view ? [[ids[i] ?? 0, view] as const] : []))
  const opened = views.map(([id, view]) =>
    view.kind === 'pull'
      ? ([id, { open: view.pull.base.repository, conversation: view.pull.pull }] as const)
      : ([id, { open: view.open, conversation: view.issue }] as const),
  )
  return { views: new Map(views), opened: new Map(opened) }
}

function timelineMessage(app: App, viewer: Caller, view: TimelineView): TimelineComment {
  const { open, entry, actor, milestone, oldMilestone, label, assignee, team } = view
  const { page, ...urls } = conversationUrls(app, open, open.conversation)
  const formerHead = formerHeadOf(entry)
  const isTitle = entry.type === 'change_title'
  const isRef = entry.type === 'change_target_branch' || entry.type === 'change_issue_ref'
  return create(TimelineCommentSchema, {
    id: BigInt(entry.id),
    type: entry.type,
    htmlUrl: entry.type === 'comment' ? `${page}#issuecomment-${entry.id}` : page,
    ...urls,
    user: accountMessage(app, viewer, actor),
    body: bodyOf(view),
    createdAt: atSecond(entry.create_time),
    updatedAt: atSecond(entry.update_time),
    oldTitle: isTitle ? entry.old_value : '',
    newTitle: isTitle ? entry.new_value : '',
    oldRef: isRef ? entry.old_value : '',
    newRef: isRef ? entry.new_value : '',
    refCommitSha: WITH_COMMIT.has(entry.type) ? entry.new_value : '',
    oldCommitSha: formerHead.commit,
    isForcePush: formerHead.isForced,
    reviewId: reviewIdOf(view),
    ...(oldMilestone && { oldMilestone: milestoneMessage(oldMilestone) }),
    ...(milestone && { milestone: milestoneMessage(milestone) }),
    ...(label && { label: labelMessagesIn(app, open, [label])[0] }),
    ...(assignee && { assignee: accountMessage(app, viewer, assignee) }),
    ...(team && { assigneeTeam: teamMessage(app, viewer, team) }),
    removedAssignee: entry.type !== 'label' && view.isRemoved,
  })
}

const OF_DEPENDENCIES: ReadonlySet<TimelineView['entry']['type']> = new Set([
  'add_dependency',
  'remove_dependency',
])

/** The types of entries whose new value is a commit. */
const WITH_COMMIT: ReadonlySet<TimelineView['entry']['type']> = new Set([
  'close',
  'commit_ref',
  'merge_pull',
  'pull_push',
  'reopen',
])

function reviewIdOf({ entry }: TimelineView): bigint {
  if (entry.type === 'review') return BigInt(entry.id)
  return entry.type === 'dismiss_review' ? BigInt(entry.old_value) : 0n
}

function bodyOf({ entry, isRemoved }: TimelineView): string {
  switch (entry.type) {
    case 'lock':
    case 'dismiss_review':
    case 'pull_restack_failed':
      return entry.new_value
    case 'close':
      return entry.old_value
    case 'pull_push': {
      const { commit, isForced } = formerHeadOf(entry)
      const commitIds = [commit, entry.new_value]
      return isForced ? JSON.stringify({ is_force_push: true, commit_ids: commitIds }) : ''
    }
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
