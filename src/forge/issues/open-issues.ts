import type { Tx } from '../../platform/database/schema.ts'
import type { Concerns } from '../conversations/concerns.ts'
import { openConversations, readsKind } from '../conversations/conversation-readers.ts'
import { findConversation, findConversationNumbered } from '../conversations/conversations.rows.ts'
import type {
  ConversationChange,
  ConversationRight,
  Conversations,
} from '../conversations/ports.ts'
import type { Conversation } from '../conversations/schema.ts'
import type { Caller } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { ConversationName } from '../core/names.ts'
import { isPoster } from '../pulls/heads/open-pulls.ts'
import { openPullConversation } from '../pulls/heads/pull-conversations.ts'
import { touchPull } from '../pulls/heads/pull-requests.rows.ts'
import {
  checkNotArchived,
  type OpenRepository,
  openRepositories,
} from '../repositories/access/permissions.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { followComment } from './duplicates.ts'
import { type IssueHookEvent, recordIssueChange } from './issue-changes.ts'
import { assignEvents, labelEvents } from './issue-fields.ts'
import { findTransferred } from './issue-transfers.rows.ts'

/** An issue that the caller may read. `access` is the level of the caller for issues. */
export interface OpenIssue extends OpenRepository {
  readonly issue: Conversation
}

/** A conversation of either kind that the caller may read. */
interface Found extends OpenRepository {
  readonly conversation: Conversation
}

/**
 * Finds the conversation that a request names.
 *
 * @throws as `openConversations`; ISSUE_NOT_FOUND, also if the caller may not read its kind.
 */
export async function findNamed(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
): Promise<Found> {
  const { kinds: _, ...open } = await openConversations(app, caller, name)
  const conversation = await findConversationNumbered(app.db, open.repository.id, name.number)
  if (!conversation && readsKind(open.units, { is_pull: 0 }))
    throw await transferredOrMissing(app, caller, open, name.number)
  if (!conversation || !readsKind(open.units, conversation))
    throw new DomainError('ISSUE_NOT_FOUND')
  return { ...open, conversation }
}

/** Returns the error about a number that no conversation of a repository has. */
async function transferredOrMissing(
  app: ReposApp,
  caller: Caller,
  { repository }: OpenRepository,
  former: number,
): Promise<DomainError> {
  const issue = await findTransferred(app.db, repository.id, former)
  const place = issue && (await findRepositoryById(app.db, issue.repository_id))
  const [open] = place ? await openRepositories(app, caller, [place], 'issues') : []
  if (!issue || !open || !readsKind(open.units, issue)) return new DomainError('ISSUE_NOT_FOUND')
  return new DomainError('ISSUE_TRANSFERRED', {
    owner: open.owner.name,
    repo: open.repository.name,
    number: String(issue.number),
    former: String(former),
  })
}

/**
 * Opens the issue that a request names.
 *
 * @throws as `findNamed`; ISSUE_NOT_FOUND for a pull request, or ISSUE_DELETE_DENIED for
 *   `delete`; ISSUE_EDIT_DENIED, ISSUE_DELETE_DENIED or REPOSITORY_ACCESS_DENIED if the caller may read
 *   the issue but lacks the access that is needed; REPOSITORY_ARCHIVED if more than reading is
 *   needed.
 */
export async function openIssue(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  needed: ConversationRight | 'delete',
): Promise<OpenIssue> {
  const { conversation: issue, ...open } = await findNamed(app, caller, name)
  if (issue.is_pull === 1)
    throw new DomainError(needed === 'delete' ? 'ISSUE_DELETE_DENIED' : 'ISSUE_NOT_FOUND')
  checkNeed(caller, open, issue, needed)
  return { ...open, issue }
}

function checkNeed(
  caller: Caller,
  { repository, access, units }: OpenRepository,
  issue: Conversation,
  needed: ConversationRight | 'delete',
): void {
  if (needed === 'read') return
  const writes = suffices(access, 'write')
  const administers = suffices(units.code, 'admin')
  if ((needed === 'write' && !writes) || (needed === 'admin' && !administers))
    throw new DomainError('REPOSITORY_ACCESS_DENIED', { needed })
  if (needed === 'delete' && !administers) throw new DomainError('ISSUE_DELETE_DENIED')
  if (needed === 'poster or write' && !writes && !isPoster(caller, issue))
    throw new DomainError('ISSUE_EDIT_DENIED')
  checkNotArchived(repository)
}

/**
 * Returns the present row of an issue in the transaction of a change. The repository may have been
 * archived since the issue was opened.
 */
export async function rereadIssue(
  tx: Tx,
  { issue }: Pick<OpenIssue, 'issue'>,
): Promise<Conversation> {
  const repository = await findRepositoryById(tx, issue.repository_id)
  const present = repository && (await findConversation(tx, issue.id))
  if (!present) throw new DomainError('ISSUE_NOT_FOUND')
  checkNotArchived(repository)
  return present
}

/** Issues and pull requests as conversations. The number decides the kind. */
export const conversations: Conversations = {
  async open(app, caller, name, needed) {
    const { conversation: issue, ...open } = await findNamed(app, caller, name)
    if (issue.is_pull === 1) return openPullConversation(app, caller, open, issue.number, needed)
    checkNeed(caller, open, issue, needed)
    return {
      ...open,
      conversation: issue,
      async beginChange(tx) {
        const present = await rereadIssue(tx, { issue })
        return {
          conversation: present,
          async record(actorId, change) {
            await recordChange(app, tx, actorId, present, change)
            if (change.type === 'comment' && change.body !== undefined && caller.kind === 'user')
              await followComment(app, tx, { caller, open }, present, change.body)
          },
        }
      },
    }
  },
}

/**
 * Checks that the caller may set the due date of a conversation.
 *
 * @throws as `Conversations.open`
 */
export async function checkMaySetDueDate(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
): Promise<void> {
  try {
    await conversations.open(app, caller, name, 'write')
  } catch (error) {
    const isDenied = error instanceof DomainError && error.reason === 'REPOSITORY_ACCESS_DENIED'
    throw isDenied ? new DomainError('REPOSITORY_ACCESS_DENIED', { needed: 'deadline' }) : error
  }
}

async function recordChange(
  app: ReposApp,
  tx: Tx,
  actorId: number,
  issue: Conversation,
  change: ConversationChange,
): Promise<void> {
  if (change.type !== 'setting') await touchPull(tx, issue.id, nowSeconds(app.clock), actorId)
  await recordIssueChange(app, tx, actorId, issue, {
    type: change.type === 'comment' ? 'ISSUE_COMMENTED' : 'ISSUE_EDITED',
    told: eventsOf(change),
    concerns: concernsOf(change),
  })
}

function concernsOf(change: ConversationChange): Concerns | undefined {
  if (change.type === 'comment') return change.concerns
  if (change.type !== 'assignees') return undefined
  const assignees = change.after.filter((id) => !change.before.includes(id))
  return { everybody: false, assignees }
}

/** Returns the events of webhooks. Compatible systems have none for locks, pins and dependencies. */
function eventsOf(change: ConversationChange): readonly IssueHookEvent[] {
  if (change.type === 'attachments') return [{ type: 'issues', action: 'edited' }]
  if (change.type === 'labels') return labelEvents(change.before, change.after)
  if (change.type === 'assignees') return assignEvents(change.before, change.after)
  if (change.type !== 'comment') return []
  const { action, commentId: comment, formerBody } = change
  const before = formerBody === undefined ? {} : { before: { body: formerBody } }
  return [{ type: 'issue_comment', action, comment, ...before }]
}
