import { type Caller, seesPublicDataOnly } from '../core/access.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { markSeenUpTo } from './participants.rows.ts'
import type { Conversation } from './schema.ts'

/** Whether a caller reads a conversation, or only asks for the headers of a response. */
export type Look = 'reads' | 'asks'

/**
 * Marks what the caller is shown as seen. A change that comes meanwhile remains unseen. A program
 * with a token that is restricted to public data does not count.
 */
export function noteSeen(
  app: ReposApp,
  caller: Caller,
  { id, change_count }: Pick<Conversation, 'id' | 'change_count'>,
): void {
  if (caller.kind === 'anonymous' || seesPublicDataOnly(caller)) return
  app.background.run('mark a conversation as seen', () =>
    markSeenUpTo(app.db, id, caller.user.id, change_count),
  )
}
