import { transaction } from '../../platform/database/database.ts'
import { tokenHash } from '../accounts/credentials/token-texts.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { findUserById } from '../accounts/users/users.rows.ts'
import { nowSeconds } from '../core/core.ts'
import { wakeScheduledMergesBy } from '../pulls/merging/scheduled-merges.rows.ts'
import * as rows from './authorizations.rows.ts'
import { OAuth2Refusal } from './refusals.ts'
import type { OAuth2Application } from './schema.ts'
import { authorizationIdOf } from './tokens.ts'

/** Introspection response (RFC 7662 section 2.2). */
export interface TokenStatus {
  readonly active: boolean
  readonly [member: string]: string | number | boolean
}

/**
 * Returns the status of a token of the client. A token of another client is like one that does not
 * exist.
 *
 * @throws OAuth2Refusal for a public client, which anybody may claim to be.
 */
export async function introspect(
  app: AccountsApp,
  client: OAuth2Application,
  text: string,
): Promise<TokenStatus> {
  if (client.confidential === 0)
    throw new OAuth2Refusal('invalid_client', 'a public client may not inspect tokens')
  const access = await rows.findAccessToken(app.db, tokenHash(text))
  const token = access?.token ?? (await findByRefreshToken(app, text))
  const user = token && (access?.owner ?? (await findUserById(app.db, token.user_id)))
  const isActive =
    token?.application_id === client.id &&
    user?.state === 'NORMAL' &&
    token.expire_time > nowSeconds(app.clock)
  if (!isActive) return { active: false }
  return {
    active: true,
    scope: token.scopes,
    client_id: client.client_id,
    username: user.username,
    sub: String(user.id),
    aud: client.client_id,
    iss: app.publicUrl(),
    exp: token.expire_time,
    ...(access && { token_type: 'bearer', iat: access.token.create_time }),
  }
}

async function findByRefreshToken(
  app: AccountsApp,
  text: string,
): Promise<rows.GrantedAuthorization | undefined> {
  const authorization = await rows.findAuthorization(app.db, authorizationIdOf(text))
  return authorization?.refresh_hash === tokenHash(text) ? authorization : undefined
}

/**
 * Revokes a token of the client (RFC 7009). A refresh token takes the access tokens along. A token
 * that the client does not have is no error.
 */
export async function revokeToken(
  app: AccountsApp,
  client: OAuth2Application,
  text: string,
): Promise<void> {
  const hash = tokenHash(text)
  await transaction(app.db, async (tx) => {
    const access = await rows.findAccessToken(tx, hash)
    if (access?.token.application_id === client.id) return rows.deleteAccessToken(tx, hash)
    const authorization = await rows.findAuthorization(tx, authorizationIdOf(text))
    if (authorization?.application_id !== client.id || authorization.refresh_hash !== hash) return
    await wakeScheduledMergesBy(tx, app.clock.now(), { token_uuid: authorization.id })
    await rows.deleteAuthorization(tx, authorization.id)
  })
  app.signals.scheduledMerges.notify()
}
