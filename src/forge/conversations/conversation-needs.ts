import type { Db, Tx } from '../../platform/database/schema.ts'
import { blockExists } from '../accounts/users/blocks.rows.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import type { ChangingConversation, OpenConversation } from './ports.ts'
import type { Conversation } from './schema.ts'

/**
 * What a change of a conversation needs, besides the access with which it was opened:
 * - `voice`: neither the owner of the repository nor the poster of the conversation blocks the
 *   caller, and the conversation is not locked for the caller.
 * - `reaction`: the same, for a reaction.
 * - `no block`: neither of them blocks the caller.
 * - `no lock`: the conversation is not locked for the caller, who removes a reaction.
 * - `nothing`: for changes that add nothing.
 */
export type ConversationNeed = 'voice' | 'reaction' | 'no block' | 'no lock' | 'nothing'

/**
 * Reads a conversation again in the transaction of a change, and checks there what the change needs:
 * the repository may have been archived, the conversation locked or the caller blocked since the
 * conversation was opened.
 *
 * @throws as `beginChange`; USER_BLOCKED, CONVERSATION_LOCKED
 */
export async function rereadConversation(
  tx: Tx,
  caller: SignedIn,
  open: OpenConversation,
  needs: ConversationNeed,
): Promise<ChangingConversation> {
  const changing = await open.beginChange(tx)
  await checkConversation(tx, caller, open, changing.conversation, needs)
  return changing
}

/**
 * Checks what a change of a conversation needs, as far as that is known before its transaction. The
 * transaction checks again by `rereadConversation`.
 *
 * Administrators of the repository cannot be blocked.
 *
 * @throws USER_BLOCKED, CONVERSATION_LOCKED
 */
export async function checkConversation(
  db: Db,
  caller: SignedIn,
  { owner, units, access }: Pick<OpenRepository, 'owner' | 'units' | 'access'>,
  { poster_id, lock_reason }: Pick<Conversation, 'poster_id' | 'lock_reason'>,
  needs: ConversationNeed,
): Promise<void> {
  const reacts = needs === 'reaction' || needs === 'no lock'
  const minds = needs === 'voice' || needs === 'reaction' || needs === 'no block'
  if (minds && !suffices(units.code, 'admin')) {
    const blockers = poster_id === null ? [owner.id] : [owner.id, poster_id]
    if (await blockExists(db, blockers, caller.user.id)) throw new DomainError('USER_BLOCKED')
  }
  if ((needs === 'voice' || reacts) && lock_reason !== null && !suffices(access, 'write'))
    throw new DomainError('CONVERSATION_LOCKED', {
      reason: lock_reason,
      action: reacts ? 'react' : 'comment',
    })
}
