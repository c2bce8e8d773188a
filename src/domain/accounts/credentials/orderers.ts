import { findOwnerOfLiveToken } from '../../../storage/accounts/personal-access-tokens.ts'
import { findUserById, type User } from '../../../storage/accounts/users.ts'
import type { App } from '../../app.ts'

/**
 * The account that has ordered something for later, as long as it would be let in now: an account
 * that is archived orders nothing, and a token that was deleted or has expired takes along what it
 * was used for.
 *
 * @param tokenUuid what `tokenUuidOf` gave when it was ordered; null for another credential.
 */
export async function findOrderer(
  app: App,
  userId: number,
  tokenUuid: string | null,
): Promise<User | undefined> {
  const user =
    tokenUuid === null
      ? await findUserById(app.db, userId)
      : await findOwnerOfLiveToken(app.db, tokenUuid, app.clock.now())
  return user?.id === userId && user.state === 'NORMAL' ? user : undefined
}
