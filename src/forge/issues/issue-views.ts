import type { Owner } from '../accounts/schema.ts'
import { findOwnersByIds } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import { attachmentsOfConversations } from '../conversations/attachments.rows.ts'
import { isLabelHere } from '../conversations/conversation-labels.ts'
import { readsKind } from '../conversations/conversation-readers.ts'
import { findConversationsByIds } from '../conversations/conversations.rows.ts'
import { labelsOfConversations } from '../conversations/labels.rows.ts'
import { milestonesFor } from '../conversations/milestone-counts.ts'
import {
  assigneesOfConversations,
  unseenConversations,
} from '../conversations/participants.rows.ts'
import type { ConversationRow } from '../conversations/references.rows.ts'
import type { Conversation, IssueAttachment, Label, Milestone } from '../conversations/schema.ts'
import { type Look, noteSeen } from '../conversations/seen.ts'
import type { Caller } from '../core/access.ts'
import type { ConversationName } from '../core/names.ts'
import { openPullWithin } from '../pulls/heads/open-pulls.ts'
import { getPullWithin } from '../pulls/lifecycle/pull-requests.ts'
import { type PullView, viewPull, viewPullsOf } from '../pulls/lists/pull-views.ts'
import type { PullRequest } from '../pulls/schema.ts'
import { type OpenRepository, openRepositories } from '../repositories/access/permissions.ts'
import { findRepositoriesByIds } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { findNamed } from './open-issues.ts'
import { countChildren, parentsOf } from './sub-issues.rows.ts'

/** An issue in the form in which a caller sees it. */
export interface IssueView {
  readonly open: OpenRepository
  readonly issue: Conversation
  readonly poster: Owner
  /** By name. */
  readonly labels: readonly Label[]
  readonly milestone: Milestone | undefined
  readonly assignees: readonly Owner[]
  /** The conversation that a closed issue repeats. Undefined if the caller may not read it. */
  readonly duplicateOf: ConversationLink | undefined
  /** The issue that this one is a part of. Undefined if the caller may not read it. */
  readonly parent: ConversationLink | undefined
  /** The numbers of sub-issues that the caller may read. Undefined if there are none. */
  readonly subIssues: SubIssueNumbers | undefined
  /** Attachments, oldest first. */
  readonly assets: readonly IssueAttachment[]
  /** Whether the caller participates and has not seen the latest changes. */
  readonly isUnread: boolean
}

/** A conversation as others name it. */
export interface ConversationLink {
  readonly open: OpenRepository
  readonly number: number
}

/** Numbers of sub-issues. */
interface SubIssueNumbers {
  readonly total: number
  readonly closed: number
}

/** A conversation of either kind in the form in which a caller sees it. */
export type ConversationView =
  | ({ readonly kind: 'issue' } & IssueView)
  | { readonly kind: 'pull'; readonly pull: PullView }

/**
 * Returns the views of issues of some repositories that the caller has opened. The number of queries
 * does not depend on the number of issues.
 */
export async function viewIssues(
  app: ReposApp,
  caller: Caller,
  opened: readonly OpenRepository[],
  issues: readonly Conversation[],
): Promise<IssueView[]> {
  if (issues.length === 0) return []
  const { db } = app
  const ids = issues.map(({ id }) => id)
  const repositories = new Map(opened.map((open) => [open.repository.id, open]))
  const milestoneIds = issues.flatMap(({ milestone_id }) => milestone_id ?? [])
  // PostgreSQL gets queries together that do not depend on each other.
  const [labels, assignees, assets, milestones, parents, subIssues, unseen] = await Promise.all([
    labelsOfConversations(db, ids),
    assigneesOfConversations(db, ids),
    attachmentsOfConversations(db, ids),
    milestonesFor(db, opened, milestoneIds),
    parentsOf(db, ids),
    countReadable(app, caller, opened, ids),
    caller.kind === 'user' ? unseenConversations(db, ids, caller.user.id) : new Set<number>(),
  ])
  const people = issues.flatMap(({ id, poster_id }) => [
    ...(poster_id === null ? [] : [poster_id]),
    ...(assignees.get(id) ?? []),
  ])
  const others = issues.flatMap(({ id, duplicate_of_id }) => [
    ...(duplicate_of_id === null ? [] : [duplicate_of_id]),
    ...(parents.has(id) ? [parents.get(id) ?? 0] : []),
  ])
  const [owners, linked] = await Promise.all([
    findOwnersByIds(db, [...new Set(people)]),
    readableConversations(app, caller, others),
  ])
  return issues.flatMap((issue) => {
    const open = repositories.get(issue.repository_id)
    if (!open) return []
    return [
      {
        open,
        issue,
        poster: owners.get(issue.poster_id ?? 0) ?? GHOST,
        labels: (labels.get(issue.id) ?? []).filter((label) => isLabelHere(label, open)),
        milestone: milestones.get(issue.milestone_id ?? 0),
        assignees: (assignees.get(issue.id) ?? []).map((id) => owners.get(id) ?? GHOST),
        duplicateOf: linked.get(issue.duplicate_of_id ?? 0),
        parent: linked.get(parents.get(issue.id) ?? 0),
        subIssues: subIssues.get(issue.id),
        assets: assets.get(issue.id) ?? [],
        isUnread: unseen.has(issue.id),
      },
    ]
  })
}

/** Counts the sub-issues of issues that the caller may read, by the id of the issue. */
async function countReadable(
  app: ReposApp,
  caller: Caller,
  opened: readonly OpenRepository[],
  issueIds: readonly number[],
): Promise<ReadonlyMap<number, SubIssueNumbers>> {
  const found = await countChildren(app.db, issueIds)
  const known = new Set(opened.map(({ repository }) => repository.id))
  const others = new Set(found.flatMap(({ repository_id: id }) => (known.has(id) ? [] : [id])))
  const repositories =
    others.size === 0 ? [] : [...(await findRepositoriesByIds(app.db, [...others])).values()]
  const all = [...opened, ...(await openRepositories(app, caller, repositories, 'issues'))]
  const readable = new Set(
    all.flatMap(({ repository, units }) => (readsKind(units, { is_pull: 0 }) ? repository.id : [])),
  )
  const counts = new Map<number, SubIssueNumbers>()
  for (const { parent_id, repository_id, total, closed } of found) {
    if (!readable.has(repository_id)) continue
    const before = counts.get(parent_id) ?? { total: 0, closed: 0 }
    counts.set(parent_id, { total: before.total + total, closed: before.closed + closed })
  }
  return counts
}

/** Returns the view of one issue of a repository that the caller has opened. */
export async function viewIssue(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  issue: Conversation,
): Promise<IssueView> {
  const [view] = await viewIssues(app, caller, [open], [issue])
  if (!view) throw new Error('an issue has no view')
  return view
}

/** Returns the views of conversations of both kinds, in the same order. */
export async function viewConversations(
  app: ReposApp,
  caller: Caller,
  opened: readonly OpenRepository[],
  conversations: readonly PullRequest[],
): Promise<ConversationView[]> {
  const ofKind = (kind: number) => conversations.filter(({ is_pull }) => is_pull === kind)
  const issues = await viewIssues(app, caller, opened, ofKind(0))
  const pulls = await viewPullsOf(app, caller, opened, ofKind(1))
  const views = new Map<number, ConversationView>([
    ...issues.map((view) => [view.issue.id, { kind: 'issue' as const, ...view }] as const),
    ...pulls.map((pull) => [pull.pull.id, { kind: 'pull' as const, pull }] as const),
  ])
  return conversations.flatMap(({ id }) => views.get(id) ?? [])
}

/**
 * Returns one conversation by its number.
 *
 * @throws as `findNamed`
 */
export async function getConversation(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  look: Look,
): Promise<ConversationView> {
  const { conversation: issue, ...open } = await findNamed(app, caller, name)
  if (issue.is_pull === 1)
    return { kind: 'pull', pull: await getPullWithin(app, caller, open, issue.number, look) }
  const view = await viewIssue(app, caller, open, issue)
  if (view.isUnread && look === 'reads') noteSeen(app, caller, issue)
  return { kind: 'issue', ...view }
}

/** Returns the view of a conversation that was just changed. */
export async function viewAgain(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
): Promise<ConversationView> {
  const { conversation, ...repository } = await findNamed(app, caller, name)
  if (conversation.is_pull === 0)
    return { kind: 'issue', ...(await viewIssue(app, caller, repository, conversation)) }
  const { pull, ...open } = await openPullWithin(app, caller, repository, name.number, 'read')
  return { kind: 'pull', pull: await viewPull(app, caller, open, pull) }
}

/** Returns the views of conversations by their ids. Undefined for one that the caller may not read. */
export async function viewConversationsById(
  app: ReposApp,
  caller: Caller,
  ids: readonly number[],
): Promise<(ConversationView | undefined)[]> {
  const readable = [...(await readableConversations(app, caller, ids)).values()]
  const opened = new Map(readable.map(({ open }) => [open.repository.id, open]))
  const conversations = readable.map(({ conversation }) => conversation)
  const views = await viewConversations(app, caller, [...opened.values()], conversations)
  const idOf = (view: ConversationView) =>
    view.kind === 'pull' ? view.pull.pull.id : view.issue.id
  const byId = new Map(views.map((view) => [idOf(view), view]))
  return ids.map((id) => byId.get(id))
}

/** A conversation that the caller may read. */
interface ReadableConversation extends ConversationLink {
  readonly conversation: ConversationRow
}

/** Returns those of some conversations that the caller may read, by id. */
async function readableConversations(
  app: ReposApp,
  caller: Caller,
  ids: readonly number[],
): Promise<ReadonlyMap<number, ReadableConversation>> {
  if (ids.length === 0) return new Map()
  const found = await findConversationsByIds(app.db, ids)
  const repositoryIds = [...new Set([...found.values()].map(({ repository_id }) => repository_id))]
  const repositories = await findRepositoriesByIds(app.db, repositoryIds)
  const opened = await openRepositories(app, caller, [...repositories.values()], 'issues')
  const byId = new Map(opened.map((open) => [open.repository.id, open]))
  return new Map(
    [...found.values()].flatMap((conversation) => {
      const open = byId.get(conversation.repository_id)
      if (!open || !readsKind(open.units, conversation)) return []
      return [[conversation.id, { open, number: conversation.number, conversation }] as const]
    }),
  )
}
