import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { Scopes } from '../../core/scopes.ts'
import { findAccessToken, findOwnerOfAuthorization } from '../../oauth2/authorizations.rows.ts'
import type { AccountsApp, VerifiedCaller } from '../ports.ts'
import { findUserById } from '../users/users.rows.ts'
import { findOwnerOfLiveToken } from './personal-access-tokens.rows.ts'
import { tokenHash } from './token-texts.ts'

/** The prefix of the access tokens that applications get by OAuth 2.0. */
export const DELEGATED_TOKEN_PREFIX = 'branchline_oat_'

/** Returns whether a text has the form of an access token of an application. */
export function looksLikeDelegatedToken(text: string): boolean {
  return text.startsWith(DELEGATED_TOKEN_PREFIX)
}

/** Returns the caller of an access token that a user granted to an application. */
export async function authenticateDelegatedToken(
  app: AccountsApp,
  text: string,
): Promise<VerifiedCaller> {
  const found = await findAccessToken(app.db, tokenHash(text))
  const expiryMs = (found?.token.expire_time ?? 0) * 1000
  if (found?.owner.state !== 'NORMAL' || expiryMs <= app.clock.now())
    throw new DomainError('BAD_CREDENTIALS')
  const { token, owner } = found
  return {
    user: owner,
    credential: {
      kind: 'token',
      uuid: token.authorization_id,
      scopes: Scopes.fromText(token.scopes),
      isDelegated: true,
    },
    verifyAgainAt: expiryMs,
  }
}

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
