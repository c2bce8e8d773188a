import { domainToASCII } from 'node:url'
import type { EqualityOperator, Field } from '../../../platform/filters/schema.ts'
import { DomainError } from '../../core/errors.ts'
import { hasInvisibleCharacters } from '../../core/invisible-characters.ts'
import { nameKey } from '../../core/names.ts'
import type { NewUser } from '../schema.ts'

/**
 * Letters, digits, and `-`, `_` and `.` between them, which are valid in a URL segment, a Git remote
 * and a mention. Two dots are a range to Git. Names of compatible systems have at most 40
 * characters.
 */
const USERNAME = /^(?!.*\.\.)[A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9])?$/

/**
 * Endings of addresses below an account, here and in compatible systems: `/ada.keys` would be
 * either. The first three also belong to repositories.
 */
const RESERVED_ENDING = /\.(?:git|wiki|lock|keys|gpg|rss|atom|png)$/i

/** The services of RPC are top-level paths, with names such as `branchline.v1.UserService`. */
const SERVICE_NAME = /^(?:branchline|grpc)\./i

/** The pattern is from the specification. The maximum length is that of generated ids. */
const USER_ID = /^[a-z0-9-]{1,36}$/

/** Names with a special meaning in paths or clients. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  'me',
  '-',
  // Top-level paths that are not owners of repositories, of the API and of the web pages.
  'admin',
  'api',
  'attachments',
  'explore',
  'file',
  'healthz',
  'login',
  'memos',
  'metrics',
  'notifications',
  'openapi.json',
  'readyz',
  'reset-password',
  'schema',
  'settings',
  'user',
  'verify-email',
  // Files that browsers and crawlers ask every site for.
  'favicon.ico',
  'manifest.json',
  'robots.txt',
  'sitemap.xml',
  // Paths below `/users/` and `/repos/`.
  'issues',
  'search',
  // Represents deleted accounts.
  'ghost',
])

/**
 * One `@`, no whitespace or invisible characters, and a domain of one or more labels, in any script
 * (RFC 6531). Detects typing errors. Only the mail server knows which addresses exist. RFC 5321
 * section 4.5.3.1.3 limits a path to 256 octets, including the brackets.
 */
const EMAIL = /^[^\s@<>(),;:"\\[\]]+@([^\s@]+)$/
const DOMAIN = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const NOT_ASCII = /[^\0-\x7f]/
const MAX_EMAIL_BYTES = 254

export const MAX_DISPLAY_NAME_CHARACTERS = 128
const MAX_DESCRIPTION_CHARACTERS = 1024

/** Returns the form in which e-mail addresses are compared. */
export function emailKey(email: string): string {
  const start = email.lastIndexOf('@') + 1
  return email.slice(0, start).toLowerCase() + asciiDomain(email.slice(start)).toLowerCase()
}

/** Returns a domain as the domain name system has it (RFC 5890); empty for one that is invalid. */
function asciiDomain(domain: string): string {
  return NOT_ASCII.test(domain) ? domainToASCII(domain) : domain
}

/** Returns whether a text is a valid username. */
export function isUsername(text: string): boolean {
  const isReserved =
    RESERVED_NAMES.has(nameKey(text)) || RESERVED_ENDING.test(text) || SERVICE_NAME.test(text)
  return USERNAME.test(text) && !isReserved
}

/** Returns whether a text is a plausible e-mail address. */
export function isEmail(text: string): boolean {
  const domain = EMAIL.exec(text)?.[1]
  const isShort = Buffer.byteLength(text) <= MAX_EMAIL_BYTES
  return (
    domain !== undefined &&
    isShort &&
    DOMAIN.test(asciiDomain(domain)) &&
    !hasInvisibleCharacters(text)
  )
}

/** Returns a username, unless it is not allowed. */
export function checkUsername(username: string): string {
  if (!isUsername(username)) {
    throw new DomainError('INVALID_USERNAME', { username: username.slice(0, 64) })
  }
  return username
}

/** Returns a chosen id, unless it is not allowed. */
export function checkUserId(userId: string): string {
  if (!USER_ID.test(userId) || RESERVED_NAMES.has(userId)) {
    throw new DomainError('INVALID_USER_ID', { user_id: userId.slice(0, 64) })
  }
  return userId
}

/**
 * Checks the profile fields of an account.
 *
 * @param fields the fields to write.
 * @returns the columns to store.
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

/** Checks an address, or another text that people copy, for invisible characters. */
export function checkVisible(field: string, text: string | undefined): void {
  if (text !== undefined && hasInvisibleCharacters(text))
    throw new DomainError('INVALID_FIELD', { field })
}

/** Checks the maximum length of a text. */
export function checkLength(field: string, text: string | undefined, maxCharacters: number): void {
  // `length` counts at most two units per character, which quickly excludes texts that are far too
  // long.
  const isTooLong =
    text !== undefined && (text.length > 2 * maxCharacters || [...text].length > maxCharacters)
  if (isTooLong) {
    throw new DomainError('INVALID_FIELD', { field, max_length: String(maxCharacters) })
  }
}

/**
 * A field that holds accounts by resource name, `users/{user}`. Any other text makes the filter
 * invalid. Whether the accounts exist is not checked.
 *
 * @param term receives the name keys of the accounts.
 */
export function accountField<Term>(
  operators: readonly EqualityOperator[],
  term: (keys: readonly string[]) => Term,
): Field<Term> {
  const termOf = (names: readonly string[]) => {
    const keys = names.flatMap((name) => /^users\/([^/]+)$/.exec(name)?.[1] ?? []).map(nameKey)
    return keys.length === names.length ? term(keys) : undefined
  }
  return { type: 'string', operators, term: termOf }
}
