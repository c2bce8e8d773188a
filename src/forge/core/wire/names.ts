import { DomainError } from '../errors.ts'
import type { User } from '../schema.ts'

/**
 * The maximum length of a user segment that is looked up. Names created through the API are
 * shorter; imported names may be longer.
 */
const MAX_SEGMENT_CHARACTERS = 256

/** Generated ids have up to 36 characters. */
const IDENTITY_PROVIDER_NAME = /^identity-providers\/([\w-]{1,64})$/

const USERS = 'users/'

/**
 * Returns the resource name of an account: with the id that its creator chose, else with the
 * username.
 */
export function userName(user: Pick<User, 'user_id' | 'username'>): string {
  return USERS + (user.user_id ?? user.username)
}

/** Returns the user segment of `users/{user}`. */
export function parseUserName(name: string): string {
  const { user, rest } = parseOwnedName(name)
  if (rest !== '') throw invalidName(name)
  return user
}

/**
 * Splits the resource name of an account or of a resource below it.
 *
 * @returns the user segment of `users/{user}…`, and the rest after its slash; empty without a
 *   slash.
 */
export function parseOwnedName(name: string): { user: string; rest: string } {
  const slash = name.indexOf('/', USERS.length)
  const user = name.slice(USERS.length, slash < 0 ? undefined : slash)
  if (!name.startsWith(USERS) || !isUserSegment(user)) throw invalidName(name)
  return { user, rest: slash < 0 ? '' : name.slice(slash + 1) }
}

/**
 * Names that violate the current rules may exist. So only impossible names are rejected: those with
 * white space, control characters, or `%`, which in a REST path is an escaped slash that was not
 * decoded.
 */
function isUserSegment(text: string): boolean {
  return text.length > 0 && text.length <= MAX_SEGMENT_CHARACTERS && !/[\p{Cc}\p{Z}%]/u.test(text)
}

/** Returns the error for an invalid resource name. */
export function invalidName(name: string): DomainError {
  return new DomainError('INVALID_NAME', { name: name.slice(0, MAX_SEGMENT_CHARACTERS) })
}

/**
 * Returns the last segment of `identity-providers/{uid}`. An impossible id is looked up, so it is
 * not found rather than invalid.
 */
export function parseIdentityProviderName(name: string): string {
  const [, uid] = IDENTITY_PROVIDER_NAME.exec(name) ?? []
  if (uid === undefined) throw invalidName(name)
  return uid
}
