import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { DELEGATED_TOKEN_PREFIX } from '../accounts/credentials/delegated-tokens.ts'
import { newTokenText, tokenHash } from '../accounts/credentials/token-texts.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { findUserById } from '../accounts/users/users.rows.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import type { User } from '../core/schema.ts'
import { wakeScheduledMergesBy } from '../pulls/merging/scheduled-merges.rows.ts'
import * as rows from './authorizations.rows.ts'
import { readNarrowerScopes } from './granted-scopes.ts'
import { OAuth2Refusal } from './refusals.ts'
import type { OAuth2Application } from './schema.ts'
import { signIdToken } from './user-claims.ts'

/** Response of the token endpoint (RFC 6749 section 5.1, OpenID Connect Core section 3.1.3.3). */
export interface TokenResponse {
  readonly access_token: string
  readonly token_type: 'bearer'
  readonly expires_in: number
  readonly refresh_token: string
  readonly scope: string
  readonly id_token?: string
}

/** A code, and what proves that its client sends it. Empty texts are missing parameters. */
interface CodeGrant {
  readonly code: string
  readonly redirectUri: string
  readonly codeVerifier: string
}

const ACCESS_TOKEN_LIFETIME_S = 60 * 60
const REFRESH_TOKEN_LIFETIME_S = 30 * 24 * 60 * 60

/**
 * How long the refresh token before the current one is answered with the same current one, because
 * a client refreshes in several processes at once, or did not receive the response.
 */
const GRACE_S = 30

/** Maximum number of access tokens of one sign-in. A client that refreshes often adds some. */
const MAX_ACCESS_TOKENS = 20

/** A refresh token: the id of its authorization, and its secret. */
const REFRESH_TOKEN = /^branchline_ort_([0-9a-f-]{36})_([A-Za-z0-9_-]{43})$/

const SECRET_BYTES = 32

/** RFC 7636 section 4.1. */
const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

/** Result of a transaction. A refusal is returned rather than thrown, to commit its deletions. */
type Outcome<T> = { readonly refused: string } | { readonly done: T }

/** New tokens, and for whom. */
interface Issued {
  readonly user: User
  readonly authorization: rows.GrantedAuthorization
  readonly accessToken: string
  readonly refreshToken: string
  readonly scopes: string
}

/**
 * Redeems a code (RFC 6749 section 4.1.3).
 *
 * A code works once. Its second use ends the tokens of the first one, and a wrong verifier or
 * redirect URI ends the code, since whoever sends these is not the client that asked for the code.
 *
 * @throws OAuth2Refusal
 */
export async function redeemCode(
  app: AccountsApp,
  client: OAuth2Application,
  input: CodeGrant,
): Promise<TokenResponse> {
  const outcome = await transaction(app.db, async (tx): Promise<Outcome<Issued>> => {
    const found = await rows.findByCode(tx, tokenHash(input.code))
    if (found?.application_id !== client.id) return { refused: 'the code is not valid' }
    const problem = problemOf(app, found, input)
    if (problem !== undefined) {
      await rows.deleteAuthorization(tx, found.id)
      if (found.refresh_hash !== null)
        app.log.warn(
          { userId: found.user_id, clientId: client.client_id },
          'an OAuth 2.0 code was used again; its tokens were revoked',
        )
      return { refused: problem }
    }
    const user = await findUserById(tx, found.user_id)
    if (user?.state !== 'NORMAL') return { refused: 'the account has ended' }
    const refreshToken = refreshTokenOf(found.id, randomBytes(SECRET_BYTES))
    await storeRefreshToken(app, tx, found, refreshToken, null)
    return { done: await issue(app, tx, user, found, refreshToken, found.scopes) }
  })
  return respond(app, client, outcome)
}

/** Returns why a code cannot be redeemed; undefined if it can. */
function problemOf(
  app: AccountsApp,
  authorization: rows.GrantedAuthorization,
  { redirectUri, codeVerifier }: CodeGrant,
): string | undefined {
  if (authorization.refresh_hash !== null) return 'the code was used before'
  if (authorization.expire_time <= nowSeconds(app.clock)) return 'the code has expired'
  if (authorization.redirect_uri !== '' && authorization.redirect_uri !== redirectUri)
    return 'redirect_uri is not that of the authorization request'
  if (authorization.code_challenge === null)
    // RFC 9700 section 2.1.1: a verifier without a challenge shows that somebody removed the latter.
    return codeVerifier === '' ? undefined : 'the authorization request had no code_challenge'
  return isVerified(codeVerifier, authorization.code_challenge)
    ? undefined
    : 'code_verifier is missing or wrong'
}

function isVerified(verifier: string, challenge: string): boolean {
  if (!CODE_VERIFIER.test(verifier)) return false
  const actual = createHash('sha256').update(verifier).digest()
  const expected = Buffer.from(challenge, 'base64url')
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

/**
 * Exchanges a refresh token for new tokens (RFC 6749 section 6).
 *
 * Each refresh token is replaced by the next one. For a short time, the previous token returns the
 * current one. The use of any other token of the authorization means that two parties have it, and
 * ends it (RFC 9700 section 4.14.2).
 *
 * @param scope scopes of the new access token, separated by spaces; empty for all.
 * @throws OAuth2Refusal
 */
export async function refreshTokens(
  app: AccountsApp,
  client: OAuth2Application,
  refreshToken: string,
  scope: string,
): Promise<TokenResponse> {
  const outcome = await transaction(app.db, async (tx): Promise<Outcome<Issued>> => {
    const found = await rows.findAuthorization(tx, authorizationIdOf(refreshToken))
    const now = nowSeconds(app.clock)
    if (found?.application_id !== client.id || found.refresh_hash === null)
      return { refused: 'the refresh token is not valid' }
    if (found.expire_time <= now) return { refused: 'the refresh token has expired' }
    const user = await findUserById(tx, found.user_id)
    if (user?.state !== 'NORMAL') return { refused: 'the account has ended' }
    const hash = tokenHash(refreshToken)
    const isCurrent = hash === found.refresh_hash
    const isRepeated =
      hash === found.previous_refresh_hash && now - (found.refresh_time ?? 0) <= GRACE_S
    if (!isCurrent && !isRepeated) {
      await rows.deleteAuthorization(tx, found.id)
      app.log.warn(
        { userId: user.id, clientId: client.client_id },
        'an OAuth 2.0 refresh token was used again; its authorization was revoked',
      )
      return { refused: 'the refresh token was used before' }
    }
    const scopes = narrowed(scope, found.scopes)
    const next = successorOf(app, found.id, refreshToken)
    if (isCurrent) await storeRefreshToken(app, tx, found, next, hash)
    return { done: await issue(app, tx, user, found, next, scopes) }
  })
  return respond(app, client, outcome)
}

/** Returns the id of the authorization that a refresh token names; empty for another text. */
function authorizationIdOf(refreshToken: string): string {
  return REFRESH_TOKEN.exec(refreshToken)?.[1] ?? ''
}

/** @throws OAuth2Refusal invalid_scope */
function narrowed(scope: string, granted: string): string {
  if (scope === '') return granted
  try {
    return readNarrowerScopes(scope, granted).join(' ')
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    throw new OAuth2Refusal('invalid_scope', 'a scope was not granted')
  }
}

/**
 * Returns the refresh token after another. It follows from the token before and a key of the
 * instance, so that the server can repeat it without storing it.
 */
function successorOf(app: AccountsApp, authorizationId: string, refreshToken: string): string {
  const key = app.keys.derive('oauth2-refresh-tokens')
  return refreshTokenOf(authorizationId, createHmac('sha256', key).update(refreshToken).digest())
}

function refreshTokenOf(authorizationId: string, secret: Buffer): string {
  return `branchline_ort_${authorizationId}_${secret.toString('base64url')}`
}

function storeRefreshToken(
  app: AccountsApp,
  tx: Tx,
  { id }: rows.GrantedAuthorization,
  refreshToken: string,
  previousHash: string | null,
): Promise<void> {
  const now = nowSeconds(app.clock)
  return rows.replaceRefreshToken(tx, id, {
    refresh_hash: tokenHash(refreshToken),
    previous_refresh_hash: previousHash,
    refresh_time: now,
    expire_time: now + REFRESH_TOKEN_LIFETIME_S,
  })
}

async function issue(
  app: AccountsApp,
  tx: Tx,
  user: User,
  authorization: rows.GrantedAuthorization,
  refreshToken: string,
  scopes: string,
): Promise<Issued> {
  const now = nowSeconds(app.clock)
  const accessToken = newTokenText(DELEGATED_TOKEN_PREFIX)
  await rows.insertAccessToken(tx, {
    token_hash: tokenHash(accessToken),
    authorization_id: authorization.id,
    scopes,
    create_time: now,
    expire_time: now + ACCESS_TOKEN_LIFETIME_S,
  })
  await rows.deleteOldAccessTokens(tx, authorization.id, MAX_ACCESS_TOKENS)
  return { user, authorization, accessToken, refreshToken, scopes }
}

async function respond(
  app: AccountsApp,
  client: OAuth2Application,
  outcome: Outcome<Issued>,
): Promise<TokenResponse> {
  if ('refused' in outcome) throw new OAuth2Refusal('invalid_grant', outcome.refused)
  const { user, authorization, accessToken, refreshToken, scopes } = outcome.done
  const granted = scopes.split(' ')
  return {
    access_token: accessToken,
    token_type: 'bearer',
    expires_in: ACCESS_TOKEN_LIFETIME_S,
    refresh_token: refreshToken,
    scope: scopes,
    ...(granted.includes('openid') && {
      id_token: await signIdToken(app, user, {
        audience: client.client_id,
        scopes: granted,
        nonce: authorization.nonce,
        signInTime: authorization.sign_in_time,
      }),
    }),
  }
}

/** Introspection response (RFC 7662 section 2.2). */
interface TokenStatus {
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
