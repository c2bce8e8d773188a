import type { Tx } from '../../platform/database/schema.ts'
import { assignableAmong, MAX_ASSIGNEES, setAssignees } from '../conversations/assignees.ts'
import { newMentions } from '../conversations/concerns.ts'
import { checkBody, readTitle } from '../conversations/conversation-fields.ts'
import {
  checkLabelCount,
  idsOfLabels,
  type LabelReference,
  labelOwnersFor,
  setConversationLabels,
} from '../conversations/conversation-labels.ts'
import { openConversations } from '../conversations/conversation-readers.ts'
import { checkIssueAccess } from '../conversations/issue-access.ts'
import type { LabelOwner } from '../conversations/labels.rows.ts'
import { insertParticipants, markSeen } from '../conversations/participants.rows.ts'
import { checkRate, countContribution } from '../conversations/rates.ts'
import type { Conversation } from '../conversations/schema.ts'
import { recordReferences } from '../conversations/text-references.ts'
import { milestoneEvent, recordTimelineEvents } from '../conversations/timeline.ts'
import { linkUploads } from '../conversations/unlinked-uploads.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { RepositoryName } from '../core/names.ts'
import { checkNotArchived, type OpenRepository } from '../repositories/access/permissions.ts'
import { changeWatched } from '../repositories/activity/repository-events.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { type IssueHookEvent, recordIssueChange } from './issue-changes.ts'
import {
  assignEvents,
  checkWelcome,
  labelEvents,
  readAssignees,
  requireMilestone,
} from './issue-fields.ts'
import { type IssueView, viewIssue } from './issue-views.ts'
import { insertIssue } from './issues.rows.ts'
import type { Answers } from './templates/form-answers.ts'
import { type FilledTemplate, fillTemplate } from './templates/issue-templates.ts'

/** An issue as a client requests it. */
export interface IssueDraft {
  readonly title: string
  readonly body: string
  /** Branch that the issue is about. */
  readonly ref: string
  /** The next four are ignored unless the caller may write to issues. */
  readonly assignee: string
  readonly assignees: readonly string[]
  /** 0 for none. */
  readonly milestoneId: number
  /** Unknown ones are ignored. */
  readonly labels: readonly LabelReference[]
  /** Unix seconds. */
  readonly dueTime: number | null
  /** Whether the issue is closed as soon as it is opened. */
  readonly closed: boolean
  /** Path or name of the file of a template; empty for none. */
  readonly template: string
  /** Answers to the form that the template is. They take the place of `body`. */
  readonly answers: Answers
  /** The uuids of uploads of the caller. */
  readonly attachments: readonly string[]
}

/** What a draft plans, as far as the caller may plan. */
interface Plan {
  readonly assigneeIds: readonly number[]
  readonly milestoneId: number | null
  readonly dueTime: number | null
  readonly labelIds: readonly number[]
  readonly labelOwners: LabelOwner
}

/**
 * Opens an issue. Every reader of the issues of a repository may do so.
 *
 * @throws as `openConversations`; REPOSITORY_UNIT_CLOSED if the caller may not read issues;
 *   REPOSITORY_ARCHIVED, INVALID_FIELD, USER_BLOCKED, MILESTONE_NOT_FOUND, LABEL_NOT_FOUND,
 *   ISSUE_RATE_LIMITED, ATTACHMENT_NOT_FOUND, TOO_MANY_ATTACHMENTS; as `checkIssueAccess`; with a
 *   template as `fillTemplate`
 */
export async function createIssue(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  draft: IssueDraft,
): Promise<IssueView> {
  const { kinds, ...open } = await openConversations(app, caller, name)
  if (!kinds.issues) throw new DomainError('REPOSITORY_UNIT_CLOSED', { unit: 'issues' })
  checkNotArchived(open.repository)
  const title = readTitle(draft.title)
  if (title === '') throw new DomainError('INVALID_FIELD', { field: 'title', rule: 'Required' })
  checkBody(draft.body)
  await checkWelcome(app.db, caller, open)
  await checkIssueAccess(app, caller, open)
  await checkRate(app, app.db, { caller, open }, 'ISSUE')
  const filled = await readTemplate(app, caller, name, draft)
  const plan = withTemplate(
    await readPlan(app, caller, open, draft),
    await planOfTemplate(app, caller, open, filled),
  )
  const written = { ...draft, title, ...(filled && textsOf(draft, filled)) }
  checkBody(written.body)
  const issue = await changeWatched(app, (tx) =>
    store(app, tx, caller, open, { draft: written, plan }),
  )
  return viewIssue(app, caller, open, issue)
}

/** Returns the template that a draft names, filled in. */
async function readTemplate(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  { template, answers }: IssueDraft,
): Promise<FilledTemplate | undefined> {
  if (template !== '') return fillTemplate(app, caller, name, { file: template, answers })
  if (Object.keys(answers).length === 0) return undefined
  throw new DomainError('INVALID_FIELD', { field: 'fields', rule: 'template is required' })
}

/** Returns the texts of an issue with a template. Answers are the description, whatever the draft has. */
function textsOf(draft: IssueDraft, filled: FilledTemplate): Pick<IssueDraft, 'body' | 'ref'> {
  const isOwn = !filled.isForm && draft.body !== ''
  return {
    body: isOwn ? draft.body : filled.body,
    ref: draft.ref === '' ? filled.ref : draft.ref,
  }
}

/** Labels and assignees. */
type Tags = Pick<Plan, 'labelIds' | 'assigneeIds'>

/**
 * Returns the labels and assignees of a template. They are set whoever the caller is, because those
 * who may push have written the template. Unknown ones are ignored.
 */
async function planOfTemplate(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  filled: FilledTemplate | undefined,
): Promise<Tags> {
  if (!filled) return { labelIds: [], assigneeIds: [] }
  const owners = await labelOwnersFor(app, caller, open)
  checkLabelCount(filled.labels)
  return {
    labelIds: await idsOfLabels(app, owners, filled.labels),
    assigneeIds: await assignableAmong(app, caller, open, filled.assignees),
  }
}

function withTemplate(plan: Plan, { labelIds, assigneeIds }: Tags): Plan {
  const labels = [...new Set([...labelIds, ...plan.labelIds])]
  checkLabelCount(labels)
  const assignees = [...new Set([...plan.assigneeIds, ...assigneeIds])]
  return { ...plan, labelIds: labels, assigneeIds: assignees.slice(0, MAX_ASSIGNEES) }
}

async function readPlan(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  draft: IssueDraft,
): Promise<Plan> {
  const labelOwners = await labelOwnersFor(app, caller, open)
  if (!suffices(open.access, 'write'))
    return { assigneeIds: [], milestoneId: null, dueTime: null, labelIds: [], labelOwners }
  checkLabelCount(draft.labels)
  if (draft.milestoneId > 0) await requireMilestone(app.db, open, draft.milestoneId)
  return {
    assigneeIds: (await readAssignees(app, caller, open, draft)) ?? [],
    milestoneId: draft.milestoneId > 0 ? draft.milestoneId : null,
    dueTime: draft.dueTime,
    labelIds: await idsOfLabels(app, labelOwners, draft.labels),
    labelOwners,
  }
}

async function store(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  open: OpenRepository,
  { draft, plan }: { readonly draft: IssueDraft; readonly plan: Plan },
): Promise<Conversation> {
  const repository = await findRepositoryById(tx, open.repository.id)
  if (!repository) throw new DomainError('REPOSITORY_NOT_FOUND')
  checkNotArchived(repository)
  await checkWelcome(tx, caller, open)
  await countContribution(app, tx, { caller, open }, 'ISSUE')
  if (plan.milestoneId !== null) await requireMilestone(tx, open, plan.milestoneId)
  const now = nowSeconds(app.clock)
  const issue = await insertIssue(tx, {
    repository_id: repository.id,
    poster_id: caller.user.id,
    title: draft.title,
    body: draft.body,
    ref: draft.ref,
    state: draft.closed ? 'CLOSED' : 'OPEN',
    milestone_id: plan.milestoneId,
    due_time: plan.dueTime,
    // The other participants have not seen the issue yet.
    change_count: 1,
    create_time: now,
    update_time: now,
    close_time: draft.closed ? now : null,
  })
  const uploads = { repositoryId: repository.id, uuids: draft.attachments }
  await linkUploads(app, tx, caller, uploads, { conversationId: issue.id, commentId: null })
  await recordReferences(app, tx, caller, { conversation: issue, text: issue, isNew: true })
  const actorId = caller.user.id
  const place = { conversationId: issue.id, actorId }
  if (plan.labelIds.length > 0)
    await setConversationLabels(app, tx, place, plan.labelOwners, plan.labelIds)
  if (plan.assigneeIds.length > 0) await setAssignees(app, tx, place, plan.assigneeIds)
  if (plan.milestoneId !== null)
    await recordTimelineEvents(app, tx, place, [milestoneEvent(null, plan.milestoneId)])
  await insertParticipants(tx, issue.id, [...new Set([actorId, ...plan.assigneeIds])])
  await markSeen(tx, issue.id, actorId)
  await recordIssueChange(app, tx, actorId, issue, {
    type: 'ISSUE_OPENED',
    told: [{ type: 'issues', action: 'opened' }, ...planEvents(plan)],
    concerns: { everybody: true, mentioned: newMentions([issue.body]), namesPresent: true },
  })
  if (draft.closed)
    await recordIssueChange(app, tx, actorId, issue, {
      type: 'ISSUE_CLOSED',
      told: [{ type: 'issues', action: 'closed' }],
    })
  return issue
}

/** Returns the events of webhooks about what a new issue has from the beginning. */
function planEvents({ labelIds, milestoneId, assigneeIds }: Plan): IssueHookEvent[] {
  return [
    ...labelEvents([], labelIds),
    ...(milestoneId === null ? [] : [{ type: 'issue_milestone', action: 'milestoned' } as const]),
    ...assignEvents([], assigneeIds),
  ]
}
