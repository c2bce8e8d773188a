import { randomUUID } from 'node:crypto'
import { isForeignKeyViolation, transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { newTokenText, tokenHash } from '../accounts/credentials/token-texts.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { findUserById } from '../accounts/users/users.rows.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import type { Page } from '../core/names.ts'
import type { User } from '../core/schema.ts'
import { wakeScheduledMergesBy } from '../pulls/merging/scheduled-merges.rows.ts'
import { type AuthorizationRequest, responseLocation } from './authorization-requests.ts'
import {
  deleteExpiredAuthorizations,
  deleteStalestAuthorizations,
  insertAuthorization,
  listAuthorizationIds,
} from './authorizations.rows.ts'
import { areCovered } from './granted-scopes.ts'
import * as rows from './grants.rows.ts'
import { OAuth2Refusal } from './refusals.ts'

export type GrantOfApplication = rows.GrantOfApplication

/** Returns a page of what a user has granted to applications, and the number of all grants. */
export async function listGrants(
  app: AccountsApp,
  { id }: User,
  { offset, limit }: Page,
): Promise<{ grants: readonly GrantOfApplication[]; total: number }> {
  return {
    grants: await rows.listGrants(app.db, id, offset, limit),
    total: await rows.countGrants(app.db, id),
  }
}

/** Revokes a grant of a user. The next request with one of its tokens is refused. */
export async function revokeGrant(app: AccountsApp, { id }: User, grantId: bigint): Promise<void> {
  await transaction(app.db, async (tx) => {
    const grant = await rows.findGrantById(tx, id, Number(grantId))
    if (!grant) throw new DomainError('OAUTH2_GRANT_NOT_FOUND', { id: String(grantId) })
    await cancelScheduledWork(app, tx, { grantId: grant.id })
    await rows.deleteGrant(tx, grant.id)
  })
  app.signals.scheduledMerges.notify()
}

/** Makes the merges due that were scheduled with tokens that end, so that they are cancelled. */
export async function cancelScheduledWork(
  app: AccountsApp,
  tx: Tx,
  by: Parameters<typeof listAuthorizationIds>[1],
): Promise<void> {
  for (const { id, user_id } of await listAuthorizationIds(tx, by))
    await wakeScheduledMergesBy(tx, app.clock.now(), { token_uuid: id, scheduler_id: user_id })
}

const CODE_PREFIX = 'branchline_oac_'

/** A client redeems its code at once. RFC 6749 section 4.1.2 permits ten minutes. */
const CODE_LIFETIME_S = 60

/**
 * Maximum number of sign-ins to one application that a user has at the same time, such as one for
 * each machine. A further one ends the oldest.
 */
const MAX_AUTHORIZATIONS = 100

/**
 * Returns whether the user must be asked.
 *
 * The server remembers an answer for confidential applications only. Any program may claim to be a
 * public one (RFC 8252 section 8.6).
 */
export async function needsConsent(
  app: AccountsApp,
  user: User,
  { application, scopes, prompts }: AuthorizationRequest,
): Promise<boolean> {
  if (application.confidential === 0 || prompts.includes('consent')) return true
  const grant = await rows.findGrant(app.db, user.id, application.id)
  return !grant || !areCovered(scopes, grant.scopes)
}

/**
 * Records that a user grants a request, and returns the redirect with the code.
 *
 * @param signInTime when the user authenticated, in Unix seconds.
 * @throws OAuth2Refusal if the account or the application ended meanwhile.
 */
export async function grantRequest(
  app: AccountsApp,
  user: User,
  request: AuthorizationRequest,
  signInTime: number,
): Promise<string> {
  const code = newTokenText(CODE_PREFIX)
  const now = nowSeconds(app.clock)
  const ended = () => new OAuth2Refusal('access_denied', 'the account or the application ended')
  const stored = transaction(app.db, async (tx) => {
    const present = await findUserById(tx, user.id)
    if (present?.state !== 'NORMAL' || present.token_version !== user.token_version) throw ended()
    const known = await rows.findGrant(tx, user.id, request.application.id)
    const isKnown = known !== undefined && areCovered(request.scopes, known.scopes)
    const scopes = isKnown ? known.scopes : request.scopes.join(' ')
    const owned = { user_id: user.id, application_id: request.application.id }
    const grant = await rows.putGrant(tx, { ...owned, scopes }, now)
    await deleteExpiredAuthorizations(tx, now)
    await deleteStalestAuthorizations(tx, grant.id, MAX_AUTHORIZATIONS - 1)
    await insertAuthorization(tx, {
      id: randomUUID(),
      grant_id: grant.id,
      scopes: request.scopes.join(' '),
      code_hash: tokenHash(code),
      redirect_uri: request.redirectUri,
      code_challenge: request.codeChallenge,
      nonce: request.nonce,
      sign_in_time: signInTime,
      refresh_hash: null,
      previous_refresh_hash: null,
      refresh_time: null,
      expire_time: now + CODE_LIFETIME_S,
    })
  })
  await stored.catch((error: unknown) => {
    throw isForeignKeyViolation(error) ? ended() : error
  })
  return responseLocation(app, request, { code })
}
