import type { Tx } from '../../platform/database/schema.ts'
import { openConversations } from '../conversations/conversation-readers.ts'
import type { ConversationsApp } from '../conversations/ports.ts'
import type { Conversation } from '../conversations/schema.ts'
import { recordTimeline } from '../conversations/timeline.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { ConversationName, RepositoryName } from '../core/names.ts'
import { openPulls } from '../pulls/heads/open-pulls.ts'
import { type PullView, viewPulls } from '../pulls/lists/pull-views.ts'
import { changeWatched } from '../repositories/activity/repository-events.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { type KindInRepository, listPinned, storePins } from './issue-pins.rows.ts'
import { type IssueView, viewIssues } from './issue-views.ts'

/** The limit of compatible systems, for each kind of a repository. */
export const MAX_PINS = 3

/**
 * Pins a conversation behind the pinned ones of its kind. Has no effect on a pinned one.
 *
 * @throws as `Conversations.open`; PIN_LIMIT_REACHED
 */
export function pinConversation(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
): Promise<void> {
  return reorder(app, caller, name, (pinned, id) => {
    if (pinned.includes(id)) return pinned
    if (pinned.length >= MAX_PINS)
      throw new DomainError('PIN_LIMIT_REACHED', { limit: String(MAX_PINS) })
    return [...pinned, id]
  })
}

/**
 * Unpins a conversation, if it is pinned.
 *
 * @throws as `Conversations.open`
 */
export function unpinConversation(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
): Promise<void> {
  return reorder(app, caller, name, without)
}

/**
 * Moves a pinned conversation among the pinned ones of its kind.
 *
 * @param position from 1. One beyond the last means the last.
 * @throws as `Conversations.open`; INVALID_PIN_POSITION, ISSUE_PIN_NOT_FOUND
 */
export function movePin(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  position: number,
): Promise<void> {
  return reorder(app, caller, name, (pinned, id) => {
    if (position < 1) throw new DomainError('INVALID_PIN_POSITION')
    if (!pinned.includes(id)) throw new DomainError('ISSUE_PIN_NOT_FOUND')
    return without(pinned, id).toSpliced(position - 1, 0, id)
  })
}

/** Closes the gap that a conversation leaves among the pinned ones, before its deletion. */
export async function removePin(tx: Tx, conversation: Conversation): Promise<void> {
  const pinned = await pinnedIds(tx, conversation)
  await storePins(tx, pinned, without(pinned, conversation.id))
}

/** @param orderFrom computes the new order of the pinned conversations from the present one. */
async function reorder(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  orderFrom: (pinned: readonly number[], id: number) => readonly number[],
): Promise<void> {
  const open = await app.conversations.open(app, caller, name, 'admin')
  await changeWatched(app, async (tx) => {
    const { conversation, record } = await open.beginChange(tx)
    const { id } = conversation
    const before = await pinnedIds(tx, conversation)
    const after = orderFrom(before, id)
    if (after.length === before.length && after.every((pinned, i) => pinned === before[i])) return
    await storePins(tx, before, after)
    if (after.length !== before.length) {
      const type = after.length > before.length ? 'pin' : 'unpin'
      await recordTimeline(app, tx, caller.user.id, id, { type })
    }
    await record(caller.user.id, { type: 'setting' })
  })
}

async function pinnedIds(tx: Tx, kind: KindInRepository): Promise<number[]> {
  return (await listPinned(tx, kind)).map(({ id }) => id)
}

function without(ids: readonly number[], id: number): number[] {
  return ids.filter((other) => other !== id)
}

/**
 * Lists the pinned issues of a repository, by position.
 *
 * @throws as `openConversations`; REPOSITORY_UNIT_CLOSED if the caller may not read issues.
 */
export async function listPinnedIssues(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<IssueView[]> {
  const { kinds, ...open } = await openConversations(app, caller, name)
  if (!kinds.issues) throw new DomainError('REPOSITORY_UNIT_CLOSED', { unit: 'issues' })
  const pinned = await listPinned(app.db, { repository_id: open.repository.id, is_pull: 0 })
  return viewIssues(app, caller, [open], pinned)
}

/**
 * Lists the pinned pull requests of a repository, by position.
 *
 * @throws as `openPulls`
 */
export async function listPinnedPulls(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<PullView[]> {
  const open = await openPulls(app, caller, name)
  const pinned = await listPinned(app.db, { repository_id: open.repository.id, is_pull: 1 })
  return viewPulls(app, caller, open, pinned)
}

/**
 * Returns whether a repository has room for another pin of each kind. False for a kind that the
 * caller may not read.
 *
 * @throws as `openConversations`
 */
export async function newPinAllowed(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<{ readonly issues: boolean; readonly pulls: boolean }> {
  const { kinds, repository } = await openConversations(app, caller, name)
  const hasRoom = async (is_pull: number) =>
    (await listPinned(app.db, { repository_id: repository.id, is_pull })).length < MAX_PINS
  return {
    issues: kinds.issues && (await hasRoom(0)),
    pulls: kinds.pulls && (await hasRoom(1)),
  }
}
