import { nowSeconds } from '../../core/core.ts'
import type { User } from '../../core/schema.ts'
import { findOwnerOfAuthorization } from '../../oauth2/authorizations.rows.ts'
import type { AccountsApp } from '../ports.ts'
import { findUserById } from '../users/users.rows.ts'
import { findOwnerOfLiveToken } from './personal-access-tokens.rows.ts'

/**
 * Returns the user who scheduled work, or undefined if the work must not run any more: the account
 * was archived or deleted, or the token used to schedule it was deleted or has expired. The tokens
 * of an application count as one token, which ends with the sign-in to the application.
 *
 * @param tokenUuid what `tokenUuidOf` returned when the work was scheduled; null for other
 *   credentials.
 */
export async function findScheduler(
  app: AccountsApp,
  userId: number,
  tokenUuid: string | null,
): Promise<User | undefined> {
  const user =
    tokenUuid === null
      ? await findUserById(app.db, userId)
      : ((await findOwnerOfLiveToken(app.db, tokenUuid, app.clock.now())) ??
        (await findOwnerOfAuthorization(app.db, tokenUuid, nowSeconds(app.clock))))
  return user?.id === userId && user.state === 'NORMAL' ? user : undefined
}
