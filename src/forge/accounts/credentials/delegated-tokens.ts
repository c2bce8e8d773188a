import { DomainError } from '../../core/errors.ts'
import { Scopes } from '../../core/scopes.ts'
import { findAccessToken } from '../../oauth2/authorizations.rows.ts'
import type { AccountsApp, VerifiedCaller } from '../ports.ts'
import { tokenHash } from './token-texts.ts'

/** The prefix of the access tokens that applications get by OAuth 2.0. */
export const DELEGATED_TOKEN_PREFIX = 'branchline_oat_'

/** Returns whether a text has the form of an access token of an application. */
export function looksLikeDelegatedToken(text: string): boolean {
  return text.startsWith(DELEGATED_TOKEN_PREFIX)
}

/**
 * Returns the caller of an access token that a user granted to an application.
 *
 * @throws BAD_CREDENTIALS if the token does not exist or has expired, or its owner is archived.
 */
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
