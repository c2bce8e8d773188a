import { findOwnerOfLiveToken } from '../../../storage/accounts/personal-access-tokens.ts'
import { findUserById } from '../../../storage/accounts/users.ts'
import type { User } from '../../../storage/schema/accounts.ts'
import type { AccountsApp } from '../ports.ts'

/**
 * The account that has ordered something for later, as long as it would be let in now: an account
 * that is archived orders nothing, and a token that was deleted or has expired takes along what it
 * was used for.
 *
 * @param tokenUuid what `tokenUuidOf` gave when it was ordered; null for another credential.
 */
export async function findOrderer(
  app: AccountsApp,
  userId: number,
  tokenUuid: string | null,
): Promise<User | undefined> {
  const user =
    tokenUuid === null
      ? await findUserById(app.db, userId)
      : await findOwnerOfLiveToken(app.db, tokenUuid, app.clock.now())
  return user?.id === userId && user.state === 'NORMAL' ? user : undefined
}
