import { openConversations } from '../conversations/conversation-readers.ts'
import type { ConversationsApp } from '../conversations/ports.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { ConversationName, RepositoryName } from '../core/names.ts'
import type { ReposApp } from '../repositories/ports.ts'

/**
 * Refuses a call about the times of a conversation, which are not tracked.
 *
 * @throws as `Conversations.open`; `reason`
 */
export async function refuseTimes(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  needed: 'read' | 'take part',
  reason: 'TIME_TRACKING_DISABLED' | 'TIME_NOT_TRACKED' | 'STOPWATCH_DENIED',
): Promise<never> {
  await app.conversations.open(app, caller, name, needed)
  throw new DomainError(reason)
}

/**
 * Refuses a call about the times of a whole repository.
 *
 * @throws as `openConversations`; TIME_NOT_TRACKED
 */
export async function refuseRepositoryTimes(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<never> {
  await openConversations(app, caller, name)
  throw new DomainError('TIME_NOT_TRACKED')
}
