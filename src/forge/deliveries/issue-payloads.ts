import { readsKind } from '../conversations/conversation-readers.ts'
import { findLabelsByIds } from '../conversations/labels.rows.ts'
import { viewDeletedIssue } from '../issues/deleted-issues.ts'
import type { IssueFacts } from '../issues/issue-changes.ts'
import { type ConversationView, viewConversationsById } from '../issues/issue-views.ts'
import { openRepositories } from '../repositories/access/permissions.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import { commentOf, type HookSubject } from './hook-subjects.ts'
import type { DeliveriesApp } from './ports.ts'

/** The members of an issue that an event of its deletion has. */
const REMAINS = ['id', 'user', 'title', 'body', 'labels', 'state'] as const

/**
 * Returns the JSON object of an event of an issue; undefined when the issue cannot be read. A
 * deleted issue has few members.
 */
export async function issuePayload(
  app: DeliveriesApp,
  subject: HookSubject<IssueFacts>,
): Promise<object | undefined> {
  const { facts, repository, sender } = subject
  const issue = await issueOf(app, subject)
  if (!issue) return undefined
  const changes = await changesOf(app, subject)
  return {
    action: facts.action,
    number: issue.number,
    ...(changes && { changes }),
    issue,
    repository,
    sender,
    commit_id: facts.commit ?? '',
  }
}

/**
 * Returns the JSON object of an event of a comment on an issue; undefined when the issue cannot be
 * read, or the comment was deleted since. A deleted comment has its id only.
 */
export async function issueCommentPayload(
  app: DeliveriesApp,
  subject: HookSubject<IssueFacts>,
): Promise<object | undefined> {
  const { facts, viewer, repository, sender } = subject
  const issue = await issueOf(app, subject)
  if (!issue) return undefined
  const isDeletion = facts.action === 'deleted'
  const comment = isDeletion ? undefined : await commentOf(app, subject, facts.comment)
  if (!comment && !isDeletion) return undefined
  return {
    action: facts.action,
    issue,
    comment: comment
      ? JSON.parse(app.payloads.comment(app, viewer, comment))
      : { id: facts.comment, body: '' },
    ...(facts.before && { changes: formerValues(facts.before) }),
    repository,
    sender,
    is_pull: false,
  }
}

/** The JSON object of an issue. */
interface IssueObject {
  readonly number: number
}

/** Returns the issue of an event as the account of the webhook reads it now. */
async function issueOf(
  app: DeliveriesApp,
  { facts, viewer, open }: HookSubject<IssueFacts>,
): Promise<IssueObject | undefined> {
  const { issue: id, deleted_issue: remains } = facts
  const textOf = (view: ConversationView) => app.payloads.issue(app, viewer, view)
  if (remains) {
    if (!readsKind(open.units, { is_pull: 0 })) return undefined
    const view = await viewDeletedIssue(app, open, id, remains)
    const whole = JSON.parse(textOf({ kind: 'issue', ...view }))
    return {
      ...Object.fromEntries(REMAINS.map((name) => [name, whole[name]])),
      number: whole.number,
    }
  }
  return presentIssue(app, { facts, viewer })
}

/** Returns the issue of an event where it is now; undefined if the viewer may not read it. */
async function presentIssue(
  app: DeliveriesApp,
  { facts, viewer }: Pick<HookSubject<IssueFacts>, 'facts' | 'viewer'>,
): Promise<IssueObject | undefined> {
  const [view] = await viewConversationsById(app, viewer, [facts.issue])
  return view && JSON.parse(app.payloads.issue(app, viewer, view))
}

/** Returns the former place of a transferred issue; null if the viewer may not read issues there. */
async function formerPlace(
  app: DeliveriesApp,
  { viewer }: Pick<HookSubject<IssueFacts>, 'viewer'>,
  { repository: id, number }: NonNullable<IssueFacts['old_issue']>,
): Promise<object | null> {
  const repository = await findRepositoryById(app.db, id)
  const [open] = repository ? await openRepositories(app, viewer, [repository], 'issues') : []
  if (!open || !readsKind(open.units, { is_pull: 0 })) return null
  const { name } = open.repository
  const owner = open.owner.name
  return { number, repository: { id, name, owner, full_name: `${owner}/${name}` } }
}

/** Returns what an event tells of former values and of labels; undefined for no changes. */
async function changesOf(
  app: DeliveriesApp,
  subject: HookSubject<IssueFacts>,
): Promise<object | undefined> {
  const { facts, open } = subject
  const { action, before, addedLabels, removedLabels } = facts
  if (action === 'transferred') return { new_issue: await presentIssue(app, subject) }
  if (facts.old_issue) return { old_issue: await formerPlace(app, subject, facts.old_issue) }
  if (before) return { ...formerValues(before), added_labels: null, removed_labels: null }
  if (action !== 'label_updated' || !addedLabels || !removedLabels) return undefined
  const found = await findLabelsByIds(app.db, [...addedLabels, ...removedLabels])
  const listed = (ids: readonly number[]) =>
    ids.flatMap((id) => {
      const label = found.get(id)
      return label ? [JSON.parse(app.payloads.label(app, open, label))] : []
    })
  return { added_labels: listed(addedLabels), removed_labels: listed(removedLabels) }
}

function formerValues(before: NonNullable<IssueFacts['before']>): object {
  return Object.fromEntries(Object.entries(before).map(([name, from]) => [name, { from }]))
}
