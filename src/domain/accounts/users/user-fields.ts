import type { NewUser } from '../../../storage/schema/accounts.ts'
import { DomainError } from '../../core/errors.ts'
import { hasInvisibleCharacters } from '../../core/invisible-characters.ts'
import { nameKey } from '../../core/names.ts'

/**
 * Letters, digits and hyphens with alphanumeric ends: what fits a URL segment, a Git remote and a
 * mention alike.
 */
const USERNAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,34}[A-Za-z0-9])?$/

/** From the specification; the length as for usernames, since both name the account in paths. */
const USER_ID = /^[a-z0-9-]{1,36}$/

/** Names that paths and clients give a meaning of their own. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  'me',
  '-',
  // Where other things are than the repositories of somebody.
  'api',
  'attachments',
  'file',
  'healthz',
  'metrics',
  'readyz',
  // Behind `/users/`.
  'search',
  // Who stands for deleted accounts.
  'ghost',
])

/**
 * One `@`, no blanks and nothing unseen, a dotted or single-label domain. Only the mail server
 * knows which addresses exist; this catches slips of the hand. RFC 5321 section 4.5.3.1.3 limits a
 * path to 256 octets, brackets included.
 */
const EMAIL = /^[^\s@<>(),;:"\\[\]]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const MAX_EMAIL_CHARACTERS = 254

export const MAX_DISPLAY_NAME_CHARACTERS = 128
const MAX_DESCRIPTION_CHARACTERS = 1024

/** The form in which e-mail addresses are compared. */
export function emailKey(email: string): string {
  return email.toLowerCase()
}

/** Whether an account may be called this. */
export function isUsername(text: string): boolean {
  return USERNAME.test(text) && !RESERVED_NAMES.has(nameKey(text))
}

/** Whether this can be an e-mail address. */
export function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_CHARACTERS && EMAIL.test(text) && !hasInvisibleCharacters(text)
}

/** @throws INVALID_USERNAME */
export function checkUsername(username: string): string {
  if (!isUsername(username)) {
    throw new DomainError('INVALID_USERNAME', { username: username.slice(0, 64) })
  }
  return username
}

/** @throws INVALID_USER_ID */
export function checkUserId(userId: string): string {
  if (!USER_ID.test(userId) || RESERVED_NAMES.has(userId)) {
    throw new DomainError('INVALID_USER_ID', { user_id: userId.slice(0, 64) })
  }
  return userId
}

/**
 * Checks the fields of an account that say something about a person.
 *
 * @param fields only those that are written.
 * @returns the columns to store.
 * @throws INVALID_EMAIL, INVALID_FIELD
 */
export function checkProfile(fields: Profile): Partial<Pick<NewUser, 'email_key' | keyof Profile>> {
  if (fields.email !== undefined && fields.email !== '' && !isEmail(fields.email))
    throw new DomainError('INVALID_EMAIL')
  checkLength('display_name', fields.display_name, MAX_DISPLAY_NAME_CHARACTERS)
  checkLength('description', fields.description, MAX_DESCRIPTION_CHARACTERS)
  return fields.email === undefined ? fields : { ...fields, email_key: emailKey(fields.email) }
}

export interface Profile {
  readonly email?: string
  readonly display_name?: string
  readonly description?: string
}

/**
 * @throws INVALID_FIELD for an address, or another text to copy and follow, with characters that
 *   cannot be seen.
 */
export function checkVisible(field: string, text: string | undefined): void {
  if (text !== undefined && hasInvisibleCharacters(text))
    throw new DomainError('INVALID_FIELD', { field })
}

/** @throws INVALID_FIELD for a text of more characters. */
export function checkLength(field: string, text: string | undefined, maxCharacters: number): void {
  // Of a character there are at most two of what `length` counts: what is far too long need not be
  // taken apart.
  const isTooLong =
    text !== undefined && (text.length > 2 * maxCharacters || [...text].length > maxCharacters)
  if (isTooLong) {
    throw new DomainError('INVALID_FIELD', { field, max_length: String(maxCharacters) })
  }
}
