import type { User } from '../../domain/accounts/users/users.ts'
import { DomainError } from '../../domain/core/errors.ts'

/**
 * Longest user segment looked up. Names written through the API are shorter; this bounds the work
 * for imported ones and for nonsense.
 */
const MAX_SEGMENT_CHARACTERS = 256

/** Ids have up to 36 characters. */
const IDENTITY_PROVIDER_NAME = /^identity-providers\/([\w-]{1,64})$/

const USERS = 'users/'

/** Resource name of an account: the id that its creator chose, else the username. */
export function userName(user: Pick<User, 'user_id' | 'username'>): string {
  return USERS + (user.user_id ?? user.username)
}

/**
 * The user segment of `users/{user}`.
 *
 * @throws INVALID_NAME when the text has another shape.
 */
export function parseUserName(name: string): string {
  const { user, rest } = parseOwnedName(name)
  if (rest !== '') throw invalidName(name)
  return user
}

/**
 * Splits a resource name below an account.
 *
 * @returns the user segment of `users/{user}…`, and what follows its slash, empty when nothing
 *   does.
 * @throws INVALID_NAME when the text does not start with a user.
 */
export function parseOwnedName(name: string): { user: string; rest: string } {
  const slash = name.indexOf('/', USERS.length)
  const user = name.slice(USERS.length, slash < 0 ? undefined : slash)
  if (!name.startsWith(USERS) || !isUserSegment(user)) throw invalidName(name)
  return { user, rest: slash < 0 ? '' : name.slice(slash + 1) }
}

/**
 * Names that today's rule would refuse may exist, so only what no account can be called is refused:
 * blanks, control characters, and `%`, which in a REST path is an escaped slash that stayed
 * escaped.
 */
function isUserSegment(text: string): boolean {
  return text.length > 0 && text.length <= MAX_SEGMENT_CHARACTERS && !/[\p{Cc}\p{Z}%]/u.test(text)
}

/** @returns the error for a resource name of the wrong shape. */
export function invalidName(name: string): DomainError {
  return new DomainError('INVALID_NAME', { name: name.slice(0, MAX_SEGMENT_CHARACTERS) })
}

/**
 * The last segment of `identity-providers/{uid}`. Ids that none can have are not found rather than
 * refused.
 *
 * @throws INVALID_NAME when the text has another shape.
 */
export function parseIdentityProviderName(name: string): string {
  const [, uid] = IDENTITY_PROVIDER_NAME.exec(name) ?? []
  if (uid === undefined) throw invalidName(name)
  return uid
}
