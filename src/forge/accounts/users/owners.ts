import type { Db } from '../../../platform/database/schema.ts'
import { readFilter } from '../../../platform/filters/conditions.ts'
import type { FilterSchema } from '../../../platform/filters/schema.ts'
import {
  actsAsAdministrator,
  type Caller,
  type SignedIn,
  seesPublicDataOnly,
} from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey, type Page } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import { findMembership } from '../../organizations/organizations.rows.ts'
import type { Organization } from '../../organizations/schema.ts'
import type { AccountsApp } from '../ports.ts'
import type { Owner } from '../schema.ts'
import { findOwnerByNameKey } from './owners.rows.ts'
import type { UserViewer } from './user-search.rows.ts'
import * as rows from './user-search.rows.ts'
import { findUserByNameKey } from './users.rows.ts'

const VISIBILITIES: readonly Owner['visibility'][] = ['public', 'limited', 'private']

/** No name that can be found is longer. */
const MAX_SEARCH_CHARACTERS = 128

/** Maximum number of characters of an unknown name in an error. */
const MAX_SHOWN_NAME_CHARACTERS = 64

const EMPTY_OWNER: Owner = {
  id: -1,
  kind: 'USER',
  name: '',
  full_name: '',
  email: '',
  avatar_url: '',
  user_id: null,
  description: '',
  website: '',
  location: '',
  visibility: 'public',
  restricted: 0,
  role: null,
  state: null,
  login_name: '',
  source_id: 0,
  stars_count: 0,
  followers_count: 0,
  following_count: 0,
  create_time: 0,
}

/** Represents deleted accounts. */
export const GHOST: Owner = { ...EMPTY_OWNER, name: 'Ghost' }

/**
 * Returns the user or organisation with a name, compared case-insensitively.
 *
 * @throws USER_NOT_FOUND if there is none that the caller may see.
 */
export async function getOwner(app: AccountsApp, caller: Caller, name: string): Promise<Owner> {
  const owner = await findOwnerByNameKey(app.db, nameKey(name))
  if (!owner || !(await maySeeOwner(app, caller, owner)))
    throw new DomainError('USER_NOT_FOUND', { name })
  return owner
}

/**
 * Returns the user with a username, compared case-insensitively. Unlike in resource names, a custom
 * id does not match.
 */
export async function findUserByUsername(db: Db, username: string): Promise<User | undefined> {
  const user = await findUserByNameKey(db, nameKey(username))
  return user && nameKey(user.username) === nameKey(username) ? user : undefined
}

/** Returns the user with a username, compared case-insensitively. */
export async function getUserByUsername(db: Db, username: string): Promise<User> {
  const user = await findUserByUsername(db, username)
  if (!user)
    throw new DomainError('USER_NOT_FOUND', {
      name: `users/${username.slice(0, MAX_SHOWN_NAME_CHARACTERS)}`,
    })
  return user
}

/** A page of a list of users. */
export interface NumberedUserPage {
  readonly users: readonly User[]
  /** Length of the whole list. */
  readonly total: number
}

/** Search criteria for users. */
export interface UserSearch {
  /** Part of the username or of the display name; for administrators also of the e-mail address. */
  readonly text: string
  /** The only user to find; undefined for all. */
  readonly id: number | undefined
}

/** Returns the active users that a caller may see, ordered by name. */
export async function searchUsers(
  app: AccountsApp,
  caller: SignedIn,
  { text, id }: UserSearch,
  { offset, limit }: Page,
): Promise<NumberedUserPage> {
  const search = {
    text: text.slice(0, MAX_SEARCH_CHARACTERS),
    id,
    visible: visibilitiesFor(caller),
    searcherId: caller.user.id,
    // Only administrators see the addresses of others.
    inEmails: actsAsAdministrator(caller, 'read'),
  }
  return {
    users: await rows.searchUsers(app.db, search, offset, limit),
    total: await rows.countFoundUsers(app.db, search),
  }
}

/** A search of an administrator for accounts. */
export interface AccountFilters extends Omit<rows.AccountSearch, 'visible'> {
  readonly visibility: Owner['visibility'] | undefined
}

/**
 * Returns the accounts of the instance that fit a search, active or not. For administrators.
 *
 * @param visibility undefined for all accounts.
 */
export async function listAccounts(
  app: AccountsApp,
  caller: SignedIn,
  { visibility, ...filters }: AccountFilters,
  { offset, limit }: Page,
): Promise<NumberedUserPage> {
  const visible = visibilitiesFor(caller).filter((known) => (visibility ?? known) === known)
  const search = { ...filters, text: filters.text.slice(0, MAX_SEARCH_CHARACTERS), visible }
  // `in ()` is no SQL.
  if (visible.length === 0) return { users: [], total: 0 }
  return {
    users: await rows.listAccounts(app.db, search, offset, limit),
    total: await rows.countAccounts(app.db, search),
  }
}

/**
 * Parses the visibility of an account or team.
 *
 * @returns undefined for a missing or empty text.
 */
export function readVisibility(text: string | undefined): Owner['visibility'] | undefined {
  if (text === undefined || text === '') return undefined
  const visibility = VISIBILITIES.find((known) => known === text)
  if (!visibility) throw new DomainError('INVALID_FIELD', { field: 'visibility' })
  return visibility
}

/** Returns which users a caller may see, for the lists of users that are not searches. */
export function userViewer(caller: Caller): UserViewer {
  const viewerId = caller.kind === 'anonymous' ? undefined : caller.user.id
  return { visible: visibilitiesFor(caller), viewerId }
}

/** Returns the visibilities of the users that a caller may see. Callers also see themselves. */
export function visibilitiesFor(caller: Caller): readonly Owner['visibility'][] {
  if (caller.kind === 'anonymous' || seesPublicDataOnly(caller)) return ['public']
  return actsAsAdministrator(caller, 'read')
    ? ['public', 'limited', 'private']
    : ['public', 'limited']
}

/**
 * Returns whether a caller may see an owner. Everyone may see public owners, signed-in users
 * limited ones, and members private organisations.
 */
export async function maySeeOwner(
  app: AccountsApp,
  caller: Caller,
  owner: Owner,
): Promise<boolean> {
  if (caller.kind === 'anonymous')
    return owner.visibility === 'public' && !app.settings.privateInstance
  if (owner.visibility !== 'public' && seesPublicDataOnly(caller)) return false
  if (caller.user.id === owner.id || actsAsAdministrator(caller, 'read')) return true
  const isRestricted = caller.user.restricted === 1 && owner.kind === 'ORGANIZATION'
  if (owner.visibility !== 'private' && !isRestricted) return true
  return (await findMembership(app.db, owner.id, caller.user.id)) !== undefined
}

/** Returns whether a caller may see fields that are private to an account and to administrators. */
export function seesPrivateFieldsOf(caller: Caller, owner: Pick<Owner, 'id'>): boolean {
  if (caller.kind === 'anonymous' || seesPublicDataOnly(caller)) return false
  return caller.user.id === owner.id || actsAsAdministrator(caller, 'read')
}

/**
 * Returns the address of an account as a caller sees it. Signed-in users see the addresses of
 * organisations.
 */
export function emailFor(app: AccountsApp, caller: Caller, owner: Owner): string {
  const isShown =
    owner.kind === 'ORGANIZATION' ? caller.kind === 'user' : seesPrivateFieldsOf(caller, owner)
  return (isShown && owner.email) || noReplyAddress(app, owner)
}

/** Returns an address that identifies an account and accepts no mail. */
export function noReplyAddress(app: AccountsApp, { id, name }: Pick<Owner, 'id' | 'name'>): string {
  return `${id}+${name.toLowerCase()}@noreply.${new URL(app.publicUrl()).hostname}`
}

/** Returns the address that identifies the instance and accepts no mail. */
export function instanceAddress(app: AccountsApp): string {
  return `branchline@noreply.${new URL(app.publicUrl()).hostname}`
}

/** Returns a user as an owner. */
export function userAsOwner(user: User): Owner {
  const { id, username: name, display_name: full_name, email, avatar_url, user_id } = user
  const { description, visibility, restricted, role, state, create_time } = user
  const { stars_count, followers_count, following_count } = user
  const { website, location, login_name, source_id } = user
  const profile = { name, full_name, email, avatar_url, user_id, description, website, location }
  const figures = { stars_count, followers_count, following_count }
  const rights = { visibility, restricted, role, state, login_name, source_id }
  return { ...EMPTY_OWNER, id, ...profile, ...rights, ...figures, create_time }
}

/** Returns an organisation as an owner. */
export function organizationAsOwner(organization: Organization): Owner {
  const { id, name, full_name, email, description, website, location } = organization
  const { visibility, create_time } = organization
  const profile = { name, full_name, email, description, website, location }
  return { ...EMPTY_OWNER, id, kind: 'ORGANIZATION', ...profile, visibility, create_time }
}

/** The only term is the username. */
const USER_FILTER: FilterSchema<string> = {
  logic: [],
  fields: {
    username: { type: 'string', operators: ['='], term: ([username]) => username || undefined },
  },
}

/** Unused, because no field of this filter is a time. */
const NO_TIME = 0

/**
 * Parses the filter of ListUsers: `username == '<username>'`, with the operands in either order and
 * optional parentheses.
 *
 * @returns the username, or undefined for a blank filter.
 * @throws INVALID_FILTER for any other CEL expression, and for an empty username.
 */
export function parseUserFilter(filter: string): string | undefined {
  const condition = readFilter(filter, USER_FILTER, NO_TIME)
  return condition?.kind === 'term' ? condition.term : undefined
}
