import { isForeignKeyViolation, transaction } from '../../platform/database/database.ts'
import type { Db } from '../../platform/database/schema.ts'
import {
  getUserByUsername,
  type NumberedUserPage,
  visibilitiesFor,
} from '../accounts/users/owners.ts'
import { actsAsAdministrator, type Caller, type SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import type { ConversationName, Page } from '../core/names.ts'
import { findRepositorySubscription } from '../repositories/activity/subscriptions.rows.ts'
import { isParticipant } from './participants.rows.ts'
import type { ConversationsApp, OpenConversation } from './ports.ts'
import type { Conversation } from './schema.ts'
import * as rows from './subscriptions.rows.ts'

/** A conversation, and whether the caller is told of it. */
interface ConversationSubscriptionView extends OpenConversation {
  readonly isTold: boolean
}

/**
 * Returns whether the caller is told of a conversation.
 *
 * @throws as `Conversations.open`
 */
export async function checkConversationSubscription(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
): Promise<ConversationSubscriptionView> {
  const open = await app.conversations.open(app, caller, name, 'read')
  return { ...open, isTold: await isTold(app.db, open.conversation, caller.user.id) }
}

/**
 * Returns a page of the active users who have subscribed to a conversation and whom the caller may
 * see.
 *
 * @throws as `Conversations.open`
 */
export async function listConversationSubscribers(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
  page: Page,
): Promise<NumberedUserPage> {
  const { conversation } = await app.conversations.open(app, caller, name, 'read')
  const search = {
    conversationId: conversation.id,
    visible: visibilitiesFor(caller),
    viewerId: caller.kind === 'user' ? caller.user.id : 0,
  }
  return {
    users: await rows.listConversationSubscribers(app.db, search, page.offset, page.limit),
    total: await rows.countConversationSubscribers(app.db, search),
  }
}

/**
 * Subscribes a user to a conversation, or ends that the user is told of it.
 *
 * @param username of the caller, or of anybody if the caller is an administrator.
 * @returns whether the call changed what the user is told.
 * @throws as `Conversations.open`; USER_NOT_FOUND, SUBSCRIPTION_DENIED
 */
export async function setConversationSubscription(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  username: string,
  isSubscribed: boolean,
): Promise<boolean> {
  const { conversation } = await app.conversations.open(app, caller, name, 'read')
  const user = await getUserByUsername(app.db, username)
  if (user.id !== caller.user.id && !actsAsAdministrator(caller, 'write'))
    throw new DomainError('SUBSCRIPTION_DENIED', { username: user.username })
  try {
    return await transaction(app.db, async (tx) => {
      const wasTold = await isTold(tx, conversation, user.id)
      await rows.putConversationSubscription(tx, {
        issue_id: conversation.id,
        user_id: user.id,
        subscribed: isSubscribed ? 1 : 0,
        create_time: nowSeconds(app.clock),
      })
      return wasTold !== isSubscribed
    })
  } catch (error) {
    throw isForeignKeyViolation(error) ? new DomainError('PULL_REQUEST_NOT_FOUND') : error
  }
}

/** Returns whether a user is told of a conversation in general. */
export async function isTold(
  db: Db,
  { id, repository_id }: Pick<Conversation, 'id' | 'repository_id'>,
  userId: number,
): Promise<boolean> {
  const mode = (await findRepositorySubscription(db, repository_id, userId))?.mode
  if (mode === 'IGNORED') return false
  const decided = await rows.findConversationSubscription(db, id, userId)
  return decided ?? (mode === 'WATCHING' || (await isParticipant(db, id, userId)))
}
