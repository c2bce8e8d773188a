import { transaction } from '../../../platform/database/database.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import { Scopes } from '../../core/scopes.ts'
import type { AccountsApp } from '../ports.ts'
import { findUserByUsername, maySeeOwner, userAsOwner } from '../users/owners.ts'
import { requirePresent } from '../users/users.ts'
import * as rows from './personal-access-tokens.rows.ts'
import {
  type CreatedToken,
  checkTokenDescription,
  deletePersonalAccessToken,
  type PersonalAccessToken,
  storeToken,
} from './personal-access-tokens.ts'

// Personal access tokens as clients of forges see them, with a name that is unique within an
// account. The name is the description of the token, which other clients need not make unique.

/** A page of an account's tokens. */
export interface NamedTokenPage {
  readonly tokens: readonly PersonalAccessToken[]
  readonly total: number
}

/**
 * Returns the account whose tokens a caller wants to manage: the caller's own, or any account if
 * the caller is an administrator.
 *
 * @param username compared case-insensitively.
 * @throws USER_NOT_FOUND, PERMISSION_DENIED
 */
export async function openTokenOwner(
  app: AccountsApp,
  caller: SignedIn,
  username: string,
): Promise<User> {
  const user = await findUserByUsername(app.db, username)
  if (!user || !(await maySeeOwner(app, caller, userAsOwner(user)))) {
    throw new DomainError('USER_NOT_FOUND', { name: metadataText(username) })
  }
  if (user.id !== caller.user.id && caller.user.role !== 'ADMIN')
    throw new DomainError('PERMISSION_DENIED')
  return user
}

/** Lists an account's tokens in order of creation, including expired ones. */
export async function listNamedTokens(
  app: AccountsApp,
  owner: User,
  { offset, limit }: Page,
): Promise<NamedTokenPage> {
  return {
    tokens: await rows.listTokensFrom(app.db, owner.id, offset, limit),
    total: await rows.countTokens(app.db, owner.id),
  }
}

/**
 * Creates a token without expiry for an account.
 *
 * @throws INVALID_FIELD, INVALID_SCOPE, TOKEN_NAME_TAKEN, USER_NOT_FOUND
 */
export async function createNamedToken(
  app: AccountsApp,
  owner: User,
  name: string,
  scopeNames: readonly string[],
): Promise<CreatedToken> {
  if (name.trim() === '') throw new DomainError('INVALID_FIELD', { field: 'name' })
  checkTokenDescription('name', name)
  if (scopeNames.length === 0) throw new DomainError('INVALID_SCOPE', { scope: '' })
  const scopes = Scopes.parse(scopeNames)
  return transaction(app.db, async (tx) => {
    await requirePresent(tx, owner)
    const [taken] = await rows.findTokensByDescription(tx, owner.id, name, 1)
    if (taken) throw new DomainError('TOKEN_NAME_TAKEN')
    return storeToken(app, tx, owner, { description: name, scopes, expiresInMs: undefined })
  })
}

/**
 * Deletes a token of an account.
 *
 * @param idOrName a number is an id if a token has that id, and a name otherwise.
 * @throws TOKEN_NOT_FOUND, TOKEN_NAME_AMBIGUOUS
 */
export async function deleteNamedToken(
  app: AccountsApp,
  owner: User,
  idOrName: string,
): Promise<void> {
  const { uuid } = await findToken(app, owner, idOrName)
  await deletePersonalAccessToken(app, owner, uuid)
}

async function findToken(
  app: AccountsApp,
  owner: User,
  idOrName: string,
): Promise<PersonalAccessToken> {
  const byId =
    /^\d{1,15}$/.test(idOrName) && (await rows.findTokenById(app.db, owner.id, Number(idOrName)))
  if (byId) return byId
  const [found, another] = await rows.findTokensByDescription(app.db, owner.id, idOrName, 2)
  const name = metadataText(idOrName)
  if (!found) throw new DomainError('TOKEN_NOT_FOUND', { name })
  if (another) throw new DomainError('TOKEN_NAME_AMBIGUOUS', { name })
  return found
}

/**
 * Returns the token that a request carries.
 *
 * @throws TOKEN_NOT_FOUND if the request carries other credentials.
 */
export async function getTokenInUse(
  app: AccountsApp,
  { user, credential }: SignedIn,
): Promise<PersonalAccessToken> {
  const token =
    credential.kind === 'token' && (await rows.findTokenByUuid(app.db, user.id, credential.uuid))
  if (!token) throw new DomainError('TOKEN_NOT_FOUND', { name: 'token' })
  return token
}

/**
 * Deletes the token that a request carries.
 *
 * @throws TOKEN_NOT_FOUND if the request carries other credentials.
 */
export async function deleteTokenInUse(app: AccountsApp, caller: SignedIn): Promise<void> {
  const { uuid } = await getTokenInUse(app, caller)
  await deletePersonalAccessToken(app, caller.user, uuid)
}
