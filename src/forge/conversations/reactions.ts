import type { Owner } from '../accounts/schema.ts'
import { findOwnersByIds } from '../accounts/users/owners.rows.ts'
import { GHOST, userAsOwner } from '../accounts/users/owners.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError, metadataText } from '../core/errors.ts'
import type { ConversationName, Page, RepositoryName } from '../core/names.ts'
import { changeWatched, recordReactions } from '../repositories/activity/repository-events.ts'
import { checkConversation, rereadConversation } from './conversation-needs.ts'
import { findIssueComment } from './issue-comments.rows.ts'
import { openComment } from './issue-comments.ts'
import type { ConversationRight, ConversationsApp, OpenConversation } from './ports.ts'
import { checkRate, countContribution } from './rates.ts'
import * as rows from './reactions.rows.ts'
import type { IssueReaction } from './schema.ts'

/** The reactions that compatible systems allow by default. */
export const REACTIONS: readonly string[] = [
  '+1',
  '-1',
  'laugh',
  'hooray',
  'confused',
  'heart',
  'rocket',
  'eyes',
]

/** Subject of a reaction: a conversation, or a comment on one by its id. */
export type ReactedText =
  | { readonly conversation: ConversationName }
  | { readonly repository: RepositoryName; readonly commentId: number }

/** A reaction, with the user. */
export interface ReactionView {
  readonly reaction: IssueReaction
  readonly user: Owner
}

/** A page of reactions. */
interface ReactionPage {
  readonly reactions: readonly ReactionView[]
  /** Length of the whole list. */
  readonly total: number
}

/**
 * Lists the reactions to a text, oldest first.
 *
 * @throws as `Conversations.open`; ISSUE_COMMENT_NOT_FOUND
 */
export async function listReactions(
  app: ConversationsApp,
  caller: Caller,
  text: ReactedText,
  { offset, limit }: Page,
): Promise<ReactionPage> {
  const { target } = await openText(app, caller, text, 'read')
  const found = await rows.listReactions(app.db, target, offset, limit)
  const users = await findOwnersByIds(app.db, [...new Set(found.map(({ user_id }) => user_id))])
  return {
    reactions: found.map((reaction) => ({
      reaction,
      user: users.get(reaction.user_id) ?? GHOST,
    })),
    total: await rows.countReactions(app.db, target),
  }
}

/** A page shows no more texts at once. */
const MAX_COUNTS = 10_000

/**
 * Counts the reactions to a conversation and to all comments on it.
 *
 * @throws as `Conversations.open`
 */
export async function countAllReactions(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
): Promise<rows.ReactionCountOfText[]> {
  const { conversation } = await app.conversations.open(app, caller, name, 'read')
  const userId = caller.kind === 'user' ? caller.user.id : undefined
  return rows.countReactionsOfAll(app.db, conversation.id, userId, MAX_COUNTS)
}

/**
 * Adds a reaction of the caller to a text, unless there is one of the kind already.
 *
 * @returns the reaction, and whether it is new.
 * @throws as `Conversations.open`; ISSUE_COMMENT_NOT_FOUND, INVALID_REACTION, USER_BLOCKED,
 *   CONVERSATION_LOCKED, ISSUE_RATE_LIMITED
 */
export async function addReaction(
  app: ConversationsApp,
  caller: SignedIn,
  text: ReactedText,
  content: string,
): Promise<ReactionView & { readonly isNew: boolean }> {
  const { open, target } = await openText(app, caller, text, 'take part')
  await checkConversation(app.db, caller, open, open.conversation, 'reaction')
  checkContent(content)
  await checkRate(app, app.db, { caller, open }, 'TEXT')
  const { id: userId } = caller.user
  const added = await changeWatched(app, async (tx) => {
    const { conversation } = await rereadConversation(tx, caller, open, 'reaction')
    const { commentId } = target
    // The comment may have been deleted since.
    if (commentId !== null && !(await findIssueComment(tx, open.repository.id, commentId)))
      throw new DomainError('ISSUE_COMMENT_NOT_FOUND')
    const known = await rows.findReaction(tx, target, userId, content)
    if (known) return { reaction: known, isNew: false }
    await countContribution(app, tx, { caller, open }, 'TEXT')
    const reaction = await rows.insertReaction(tx, {
      issue_id: target.conversationId,
      comment_id: commentId,
      user_id: userId,
      content,
      create_time: nowSeconds(app.clock),
    })
    await recordReactions(app, tx, userId, conversation, commentId)
    return { reaction, isNew: true }
  })
  return { ...added, user: userAsOwner(caller.user) }
}

/**
 * Removes a reaction of the caller, if there is one.
 *
 * @throws as `Conversations.open`; ISSUE_COMMENT_NOT_FOUND, INVALID_REACTION, CONVERSATION_LOCKED
 */
export async function removeReaction(
  app: ConversationsApp,
  caller: SignedIn,
  text: ReactedText,
  content: string,
): Promise<void> {
  const { open, target } = await openText(app, caller, text, 'take part')
  await checkConversation(app.db, caller, open, open.conversation, 'no lock')
  checkContent(content)
  const { id } = caller.user
  await changeWatched(app, async (tx) => {
    const { conversation } = await rereadConversation(tx, caller, open, 'no lock')
    if (await rows.deleteReaction(tx, target, id, content))
      await recordReactions(app, tx, id, conversation, target.commentId)
  })
}

async function openText(
  app: ConversationsApp,
  caller: Caller,
  text: ReactedText,
  needed: ConversationRight,
): Promise<{ open: OpenConversation; target: rows.ReactionTarget }> {
  if ('conversation' in text) {
    const open = await app.conversations.open(app, caller, text.conversation, needed)
    return { open, target: { conversationId: open.conversation.id, commentId: null } }
  }
  const { open, comment } = await openComment(app, caller, text.repository, text.commentId, needed)
  return { open, target: { conversationId: open.conversation.id, commentId: comment.id } }
}

function checkContent(content: string): void {
  if (!REACTIONS.includes(content))
    throw new DomainError('INVALID_REACTION', { content: metadataText(content) })
}
