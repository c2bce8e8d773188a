import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { ConversationName } from '../core/names.ts'
import { changeWatched } from '../repositories/activity/repository-events.ts'
import { setLockReason } from './conversations.rows.ts'
import type { ConversationsApp, OpenConversation } from './ports.ts'
import { recordTimeline } from './timeline.ts'

/** Maximum length of a reason. Compatible systems accept any text. */
const MAX_REASON_CHARACTERS = 255

/**
 * Locks the conversation of a conversation. Only users with write access then comment, review and
 * react. Has no effect on a locked one.
 *
 * @param reason any text, or empty.
 * @throws as `Conversations.open`; INVALID_LOCK_REASON
 */
export async function lockConversation(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  reason: string,
): Promise<void> {
  const open = await app.conversations.open(app, caller, name, 'write')
  const given = reason.trim()
  if ([...given].length > MAX_REASON_CHARACTERS) throw new DomainError('INVALID_LOCK_REASON')
  await change(app, caller, open, given)
}

/**
 * Unlocks the conversation of a conversation, if it is locked.
 *
 * @throws as `Conversations.open`
 */
export async function unlockConversation(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
): Promise<void> {
  const open = await app.conversations.open(app, caller, name, 'write')
  await change(app, caller, open, null)
}

/** @param reason null to unlock. */
async function change(
  app: ConversationsApp,
  caller: SignedIn,
  open: OpenConversation,
  reason: string | null,
): Promise<void> {
  await changeWatched(app, async (tx) => {
    const { conversation, record } = await open.beginChange(tx)
    if ((conversation.lock_reason === null) === (reason === null)) return
    await setLockReason(tx, conversation.id, reason)
    const type = reason === null ? 'unlock' : 'lock'
    const actorId = caller.user.id
    await recordTimeline(app, tx, actorId, conversation.id, { type, newValue: reason ?? '' })
    await record(actorId, { type: 'setting' })
  })
}
