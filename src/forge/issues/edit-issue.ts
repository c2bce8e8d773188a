import type { Tx } from '../../platform/database/schema.ts'
import { setAssignees } from '../conversations/assignees.ts'
import { newMentions } from '../conversations/concerns.ts'
import { checkBody, readTitle } from '../conversations/conversation-fields.ts'
import { assigneesOf, insertParticipants } from '../conversations/participants.rows.ts'
import type { Conversation, StateReason } from '../conversations/schema.ts'
import { recordReferences } from '../conversations/text-references.ts'
import {
  deadlineEvent,
  milestoneEvent,
  recordTimelineEvents,
  type TimelineEvent,
} from '../conversations/timeline.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError, metadataText } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { ConversationName } from '../core/names.ts'
import { touchPull } from '../pulls/heads/pull-requests.rows.ts'
import { changeWatched, type IssueEventType } from '../repositories/activity/repository-events.ts'
import { deleteDiscardedFiles } from '../repositories/attachments/storage-deletions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import {
  changesOfDuplicate,
  closing,
  originalOf,
  recordDuplicate,
  STATE_REASONS,
} from './duplicates.ts'
import { type IssueHookEvent, recordIssueChange } from './issue-changes.ts'
import { assignEvents, checkWelcome, readAssignees, requireMilestone } from './issue-fields.ts'
import { removePin } from './issue-pins.ts'
import { type IssueView, viewIssue } from './issue-views.ts'
import { deleteIssue, type IssueChanges, updateIssue } from './issues.rows.ts'
import { type OpenIssue, openIssue, rereadIssue } from './open-issues.ts'

/** Changes of an issue. Undefined fields, and an empty title, mean no change. */
export interface IssueEdit {
  readonly title: string
  readonly body: string | undefined
  readonly ref: string | undefined
  /** Number of changes of the description that the caller has seen. */
  readonly contentVersion: number | undefined
  /** Unix seconds; null removes the due date. */
  readonly dueTime: number | null | undefined
  /** A username, in addition to `assignees`. */
  readonly assignee: string
  readonly assignees: readonly string[] | undefined
  /** 0 removes the milestone. */
  readonly milestoneId: number | undefined
  /** `open` or `closed`. */
  readonly state: string | undefined
  /** Why the issue is closed. Empty for no change; ignored for an issue that is or becomes open. */
  readonly stateReason: string
  /** The conversation that the issue repeats, which closes the issue. */
  readonly duplicateOf: ConversationName | undefined
}

/** An edit after its texts and names were read. Undefined means no change. */
interface ReadEdit {
  readonly changes: IssueChanges
  readonly body: string | undefined
  readonly contentVersion: number | undefined
  readonly state: 'OPEN' | 'CLOSED' | undefined
  readonly stateReason: StateReason | undefined
  readonly duplicateOf: ConversationName | undefined
  readonly assigneeIds: readonly number[] | undefined
}

/**
 * Changes an issue, completely or not at all. Only users who may write to issues change assignees,
 * milestone and due date; the values of its author are ignored.
 */
export async function editIssue(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  edit: IssueEdit,
): Promise<IssueView> {
  const { issue, ...open } = await openIssue(app, caller, name, 'poster or write')
  await checkWelcome(app.db, caller, open)
  const read = await readEdit(app, caller, { ...open, issue }, edit)
  const edited = await changeWatched(app, (tx) => apply(app, tx, caller, { ...open, issue }, read))
  return viewIssue(app, caller, open, edited)
}

async function readEdit(
  app: ReposApp,
  caller: SignedIn,
  open: OpenIssue,
  edit: IssueEdit,
): Promise<ReadEdit> {
  const writes = suffices(open.access, 'write')
  const title = readTitle(edit.title)
  checkBody(edit.body)
  const milestoneId = writes ? edit.milestoneId : undefined
  if (milestoneId) await requireMilestone(app.db, open, milestoneId)
  return {
    changes: {
      ...(title !== '' && { title }),
      ...(edit.ref !== undefined && { ref: edit.ref }),
      ...(writes && edit.dueTime !== undefined && { due_time: edit.dueTime }),
      ...(milestoneId !== undefined && { milestone_id: milestoneId || null }),
    },
    body: edit.body,
    contentVersion: edit.contentVersion,
    ...readState(edit),
    assigneeIds: writes ? await readAssignees(app, caller, open, edit) : undefined,
  }
}

/** @throws INVALID_ISSUE_STATE, INVALID_FIELD */
export function readState({
  state,
  stateReason,
  duplicateOf,
}: Pick<IssueEdit, 'state' | 'stateReason' | 'duplicateOf'>): Pick<
  ReadEdit,
  'state' | 'stateReason' | 'duplicateOf'
> {
  if (state && !Object.hasOwn(STATES, state))
    throw new DomainError('INVALID_ISSUE_STATE', { state: metadataText(state) })
  const reason = STATE_REASONS.find((word) => word === stateReason)
  if (stateReason !== '' && !reason)
    throw new DomainError('INVALID_FIELD', {
      field: 'state_reason',
      rule: `is one of ${STATE_REASONS.join(', ')}`,
    })
  if (duplicateOf && (state === 'open' || (reason && reason !== 'duplicate')))
    throw new DomainError('INVALID_FIELD', {
      field: 'duplicate_of',
      rule: 'is of an issue that is closed as a duplicate',
    })
  return {
    state: state === undefined ? undefined : STATES[state],
    stateReason: reason,
    duplicateOf,
  }
}

const STATES: Readonly<Record<string, 'OPEN' | 'CLOSED'>> = { open: 'OPEN', closed: 'CLOSED' }

/** Applies an edit to the present row of the issue. */
async function apply(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  open: OpenIssue,
  read: ReadEdit,
): Promise<Conversation> {
  const issue = await rereadIssue(tx, open)
  await checkWelcome(tx, caller, open)
  if (read.changes.milestone_id) await requireMilestone(tx, open, read.changes.milestone_id)
  const changes = differing(issue, {
    ...read.changes,
    ...changesOfBody(open.issue, issue, read),
    ...(await changesOfState(app, tx, caller, issue, read)),
  })
  const actorId = caller.user.id
  const place = { conversationId: issue.id, actorId }
  const before = await assigneesOf(tx, issue.id)
  const after = read.assigneeIds ?? before
  const assigned = assignEvents(before, after)
  if (Object.keys(changes).length === 0 && assigned.length === 0) return issue
  if (assigned.length > 0) {
    await setAssignees(app, tx, place, after)
    await insertParticipants(tx, issue.id, after)
  }
  if (Object.keys(changes).length > 0) await updateIssue(tx, issue.id, changes)
  await touchPull(tx, issue.id, nowSeconds(app.clock), actorId)
  const edited = await rereadIssue(tx, open)
  await recordTimelineEvents(app, tx, place, timelineOf(issue, changes))
  await recordDuplicate(app, tx, actorId, { before: issue, after: edited })
  if (changes.title !== undefined || changes.body !== undefined)
    await recordReferences(app, tx, caller, { conversation: edited, text: edited, isNew: false })
  const newAssignees = after.filter((id) => !before.includes(id))
  await tell(app, tx, actorId, { before: issue, after: edited, changes, assigned, newAssignees })
  return edited
}

/** An edit that was applied. */
interface AppliedEdit {
  readonly before: Conversation
  readonly after: Conversation
  readonly changes: IssueChanges
  readonly assigned: readonly IssueHookEvent[]
  readonly newAssignees: readonly number[]
}

async function tell(
  app: ReposApp,
  tx: Tx,
  actorId: number,
  { before, after, changes, assigned, newAssignees }: AppliedEdit,
): Promise<void> {
  const isMoved = before.state !== after.state
  const type: IssueEventType = !isMoved
    ? 'ISSUE_EDITED'
    : after.state === 'OPEN'
      ? 'ISSUE_REOPENED'
      : 'ISSUE_CLOSED'
  await recordIssueChange(app, tx, actorId, after, {
    type,
    told: [...eventsOf(type, before, changes), ...assigned],
    concerns: {
      everybody: isMoved,
      mentioned: changes.body === undefined ? [] : newMentions([after.body], before.body),
      assignees: newAssignees,
    },
  })
}

/** Returns the events of webhooks, except those about assignees. */
function eventsOf(
  type: IssueEventType,
  issue: Conversation,
  changes: IssueChanges,
): IssueHookEvent[] {
  const { milestone_id } = changes
  const texts = (['title', 'body', 'ref'] as const).filter((text) => changes[text] !== undefined)
  const before = Object.fromEntries(texts.map((text) => [text, issue[text]]))
  const state = type === 'ISSUE_CLOSED' ? 'closed' : 'reopened'
  return [
    ...(texts.length > 0 ? [{ type: 'issues', action: 'edited', before } as const] : []),
    ...(type === 'ISSUE_EDITED' ? [] : [{ type: 'issues', action: state } as const]),
    ...(milestone_id === undefined
      ? []
      : [
          {
            type: 'issue_milestone',
            action: milestone_id === null ? 'demilestoned' : 'milestoned',
          } as const,
        ]),
  ]
}

/** Returns the changes that differ from the present values. */
function differing(issue: Conversation, changes: IssueChanges): IssueChanges {
  const before = new Map<string, unknown>(Object.entries(issue))
  return Object.fromEntries(
    Object.entries(changes).filter(([column, value]) => before.get(column) !== value),
  )
}

/**
 * @param seen the issue as the caller saw it.
 */
function changesOfBody(
  seen: Conversation,
  issue: Conversation,
  { body, contentVersion }: ReadEdit,
): IssueChanges {
  const isOutdated = contentVersion !== undefined && contentVersion !== issue.content_version
  const isRaced = body !== undefined && issue.content_version !== seen.content_version
  if (isOutdated || isRaced) throw new DomainError('ISSUE_CHANGED')
  return body === undefined || body === issue.body
    ? {}
    : { body, content_version: issue.content_version + 1 }
}

async function changesOfState(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  issue: Conversation,
  { state, stateReason, duplicateOf }: ReadEdit,
): Promise<IssueChanges> {
  if (duplicateOf) {
    const original = await originalOf(app, tx, caller, issue, duplicateOf)
    return changesOfDuplicate(app, tx, issue, original.id)
  }
  if ((state ?? issue.state) === 'OPEN')
    return { state: 'OPEN', close_time: null, state_reason: '', duplicate_of_id: null }
  const state_reason = stateReason ?? issue.state_reason
  const duplicate_of_id = state_reason === 'duplicate' ? issue.duplicate_of_id : null
  return { ...(await closing(app, tx, issue)), state_reason, duplicate_of_id }
}

/** Returns the entries of the timeline, except those of the state and of assignees. */
function timelineOf(
  { title, ref, milestone_id, due_time }: Conversation,
  changes: IssueChanges,
): TimelineEvent[] {
  const events: TimelineEvent[] = []
  if (changes.title !== undefined)
    events.push({ type: 'change_title', oldValue: title, newValue: changes.title })
  if (changes.ref !== undefined)
    events.push({ type: 'change_issue_ref', oldValue: ref, newValue: changes.ref })
  if (changes.milestone_id !== undefined)
    events.push(milestoneEvent(milestone_id, changes.milestone_id))
  if (changes.due_time !== undefined) events.push(deadlineEvent(due_time, changes.due_time))
  return events
}

/**
 * Deletes an issue with everything that belongs to it. Its number stays used.
 */
export async function removeIssue(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
): Promise<void> {
  const open = await openIssue(app, caller, name, 'delete')
  await changeWatched(app, async (tx) => {
    const issue = await rereadIssue(tx, open)
    await recordIssueChange(app, tx, caller.user.id, issue, {
      type: 'ISSUE_DELETED',
      told: [{ type: 'issues', action: 'deleted' }],
    })
    await removePin(tx, issue)
    await deleteIssue(tx, issue.id)
  })
  deleteDiscardedFiles(app)
}
