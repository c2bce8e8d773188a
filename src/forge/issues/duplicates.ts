import type { Tx } from '../../platform/database/schema.ts'
import { findUsersByIds } from '../accounts/users/users.rows.ts'
import { conversationReaders } from '../conversations/conversation-readers.ts'
import { findConversation } from '../conversations/conversations.rows.ts'
import { isBlocked } from '../conversations/dependencies.rows.ts'
import { checkCloseNotBlocked } from '../conversations/dependencies.ts'
import { referencesInPlain } from '../conversations/references.ts'
import type { Conversation, StateReason } from '../conversations/schema.ts'
import {
  findConversationSubscription,
  putConversationSubscription,
} from '../conversations/subscriptions.rows.ts'
import { isTold } from '../conversations/subscriptions.ts'
import { namedConversations, openTargets } from '../conversations/text-references.ts'
import { recordTimeline } from '../conversations/timeline.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { ConversationName } from '../core/names.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { recordIssueChange } from './issue-changes.ts'
import { type IssueChanges, moveUpdateTime, updateIssue } from './issues.rows.ts'

/** The reasons why an issue is closed. */
export const STATE_REASONS: readonly StateReason[] = ['completed', 'not_planned', 'duplicate']

/**
 * Returns the conversation that an issue repeats, by its name.
 *
 * @throws ISSUE_NOT_FOUND, also if the caller may not read it, and if its repository or its poster
 *   blocks the caller; INVALID_FIELD for the issue itself.
 */
export async function originalOf(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  issue: Conversation,
  { owner, repo, number }: ConversationName,
): Promise<Conversation> {
  const references = Number.isSafeInteger(number)
    ? [{ repository: { owner, repo }, number, action: 'none' } as const]
    : []
  const named = await namedConversations(tx, issue.repository_id, references)
  const [found] = await openTargets(app, tx, caller, named)
  if (!found) throw new DomainError('ISSUE_NOT_FOUND')
  if (found.target.id === issue.id)
    throw new DomainError('INVALID_FIELD', { field: 'duplicate_of', rule: 'is another issue' })
  return found.target
}

/**
 * Returns what closing changes; nothing for a closed issue.
 *
 * @throws CLOSE_BLOCKED
 */
export async function closing(app: ReposApp, tx: Tx, issue: Conversation): Promise<IssueChanges> {
  if (issue.state !== 'OPEN') return {}
  await checkCloseNotBlocked(tx, issue)
  return { state: 'CLOSED', close_time: nowSeconds(app.clock) }
}

/**
 * Returns what changes when an issue is closed as a repetition of a conversation.
 *
 * @throws as `closing`
 */
export async function changesOfDuplicate(
  app: ReposApp,
  tx: Tx,
  issue: Conversation,
  originalId: number,
): Promise<IssueChanges> {
  const closed = await closing(app, tx, issue)
  return { ...closed, state_reason: 'duplicate', duplicate_of_id: originalId }
}

/** An issue before and after a change. */
type IssueChange = Readonly<Record<'before' | 'after', Conversation>>

/**
 * Tells the timelines of both conversations that an issue repeats another one, or no longer does,
 * and subscribes the poster of the issue to the other one. Does nothing without such a change.
 *
 * @param isNamed whether a comment on the issue names the other one, so that its timeline has an
 *   entry already.
 */
export async function recordDuplicate(
  app: ReposApp,
  tx: Tx,
  actorId: number,
  { before, after }: IssueChange,
  isNamed = false,
): Promise<void> {
  const [former, present] = [before.duplicate_of_id, after.duplicate_of_id]
  if (former === present) return
  if (former !== null)
    await recordTimeline(app, tx, actorId, after.id, { type: 'unduplicate', sourceId: former })
  if (present === null) return
  await recordTimeline(app, tx, actorId, after.id, { type: 'duplicate', sourceId: present })
  if (!isNamed) {
    await recordTimeline(app, tx, actorId, present, { type: 'comment_ref', sourceId: after.id })
    await moveUpdateTime(tx, present, nowSeconds(app.clock))
  }
  await copySubscription(app, tx, after, present)
}

/** Subscribes the poster of an issue, if told of it and a reader, to the conversation that it repeats. */
async function copySubscription(
  app: ReposApp,
  tx: Tx,
  issue: Conversation,
  originalId: number,
): Promise<void> {
  const { poster_id } = issue
  const original = await findConversation(tx, originalId)
  if (poster_id === null || !original || !(await isTold(tx, issue, poster_id))) return
  if ((await findConversationSubscription(tx, originalId, poster_id)) !== undefined) return
  const posters = [...(await findUsersByIds(tx, [poster_id])).values()]
  if ((await conversationReaders(tx, original, posters)).length === 0) return
  await putConversationSubscription(tx, {
    issue_id: originalId,
    user_id: poster_id,
    subscribed: 1,
    create_time: nowSeconds(app.clock),
  })
}

/** Who writes a comment on an issue, and the repository as the writer has opened it. */
interface CommentPlace {
  readonly caller: SignedIn
  readonly open: OpenRepository
}

/**
 * Closes an issue on which a writer comments nothing but that it repeats a conversation. An issue
 * with an open dependency stays as it is.
 */
export async function followComment(
  app: ReposApp,
  tx: Tx,
  { caller, open }: CommentPlace,
  issue: Conversation,
  body: string,
): Promise<void> {
  const reference = duplicateNamed(body, app.publicUrl())
  if (!reference || !suffices(open.access, 'write')) return
  const named = await namedConversations(tx, issue.repository_id, [reference])
  const [found] = await openTargets(app, tx, caller, named)
  const original = found?.target.id ?? issue.id
  if (original === issue.id || original === issue.duplicate_of_id) return
  const isMoved = issue.state === 'OPEN'
  if (isMoved && (await isBlocked(tx, issue.id))) return
  await updateIssue(tx, issue.id, await changesOfDuplicate(app, tx, issue, original))
  const after = (await findConversation(tx, issue.id)) ?? issue
  const actorId = caller.user.id
  await recordDuplicate(app, tx, actorId, { before: issue, after }, true)
  await recordIssueChange(app, tx, actorId, after, {
    type: isMoved ? 'ISSUE_CLOSED' : 'ISSUE_EDITED',
    told: isMoved ? [{ type: 'issues', action: 'closed' }] : [],
  })
}

/** Returns the conversation that a text says is repeated, and nothing else. */
function duplicateNamed(body: string, root: string) {
  const said = /^duplicate of (\S{1,500})$/i.exec(body.trim())?.[1]
  const [reference, ...others] = said === undefined ? [] : referencesInPlain(said, root)
  return others.length === 0 ? reference : undefined
}
