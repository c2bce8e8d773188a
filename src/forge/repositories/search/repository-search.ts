import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { getOwner, maySeeOwner } from '../../accounts/users/owners.ts'
import { actsAsAdministrator, type Caller, type SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { openOrganization } from '../../organizations/organization-access.ts'
import { openRepositories, repositoryReader } from '../access/permissions.ts'
import { type RepositoryPage, viewRepositories } from '../lifecycle/repository-views.ts'
import type { ReposApp } from '../ports.ts'
import * as rows from './repository-search.rows.ts'
import type { SearchedText } from './repository-texts.rows.ts'

/** The number of characters of a search text. Names are shorter. */
const MAX_TEXT_CHARACTERS = 256

/** The number of texts of a search. Each one is compared with thousands of names. */
const MAX_TEXTS = 10

/**
 * A search for repositories. Undefined, empty, zero and false fields do not restrict the result.
 */
interface RepositoryQuery {
  readonly q: string
  readonly topic: boolean
  readonly includeDesc: boolean
  /** Id of an account, like the next two fields. */
  readonly uid: number
  readonly priorityOwnerId: number
  readonly starredBy: number
  readonly exclusive: boolean
  readonly teamId: number
  /** False excludes private repositories. */
  readonly private?: boolean | undefined
  readonly isPrivate?: boolean | undefined
  readonly template?: boolean | undefined
  readonly archived?: boolean | undefined
  readonly mode: string
  readonly sort: string
  readonly order: string
}

/** A page of a list. */
interface Page {
  readonly offset: number
  readonly limit: number
}

/** The columns of the sort keys of compatible systems. */
const SORT_COLUMNS: ReadonlyMap<string, rows.RepositoryOrder['column']> = new Map([
  ['', 'name_key'],
  ['alpha', 'name_key'],
  ['created', 'create_time'],
  ['updated', 'update_time'],
  ['size', 'size_kib'],
  ['git_size', 'size_kib'],
  ['lfs_size', 'lfs_bytes'],
  ['stars', 'stars_count'],
  ['forks', 'forks_count'],
  ['id', 'id'],
])

const MODES: ReadonlyMap<string, Pick<rows.RepositorySearch, 'fork' | 'mirror'>> = new Map([
  ['', {}],
  ['source', { fork: false, mirror: false }],
  ['fork', { fork: true }],
  ['mirror', { mirror: true }],
  ['collaborative', { mirror: false }],
])

const BY_NAME: rows.RepositoryOrder = { column: 'name_key', direction: 'asc' }

/** Returns a page of the repositories that match a query and that the caller can read. */
export async function searchRepositories(
  app: ReposApp,
  caller: Caller,
  query: RepositoryQuery,
  page: Page,
): Promise<RepositoryPage> {
  const order = readOrder(query)
  const narrowed = readSearch(caller, query)
  const contradictsItself = query.private === false && query.isPrivate === true
  const isUnknown = query.starredBy !== 0 && !(await maySee(app, caller, query.starredBy))
  if (isUnknown || contradictsItself) return { repositories: [], total: 0 }
  return list(app, caller, narrowed, order, page)
}

/**
 * Returns a page of the repositories that the caller owns or has been granted access to, sorted by
 * name.
 */
export function listMyRepositories(
  app: ReposApp,
  caller: SignedIn,
  page: Page,
): Promise<RepositoryPage> {
  const participant = { id: caller.user.id, asOwner: true, withHiddenMemberships: true }
  return list(app, caller, { participant }, BY_NAME, page)
}

/**
 * Returns a page of the repositories of a user or organisation that the caller can read, sorted by
 * name.
 */
export async function listRepositoriesOf(
  app: ReposApp,
  caller: Caller,
  ownerName: string,
  page: Page,
): Promise<RepositoryPage> {
  const owner = await getOwner(app, caller, ownerName)
  return list(app, caller, { ownerId: owner.id }, BY_NAME, page)
}

/**
 * Returns a page of the repositories of an organisation that the caller can read, sorted by name.
 */
export async function listOrganizationRepositories(
  app: ReposApp,
  caller: Caller,
  name: string,
  page: Page,
): Promise<RepositoryPage> {
  const { organization } = await openOrganization(app, caller, name, 'visible')
  return list(app, caller, { ownerId: organization.id }, BY_NAME, page)
}

async function maySee(app: ReposApp, caller: Caller, id: number): Promise<boolean> {
  const owner = await findOwnerById(app.db, id)
  return owner !== undefined && maySeeOwner(app, caller, owner)
}

async function list(
  app: ReposApp,
  caller: Caller,
  narrowed: Omit<rows.RepositorySearch, 'reader'>,
  order: rows.RepositoryOrder,
  { offset, limit }: Page,
): Promise<RepositoryPage> {
  const reader = repositoryReader(app, caller)
  const search = await rows.narrowByName(app.db, { ...narrowed, reader })
  const found = await rows.searchRepositories(app.db, search, order, offset, limit)
  const opened = await openRepositories(app, caller, found)
  return {
    repositories: await viewRepositories(app, caller, opened),
    total: await rows.countRepositories(app.db, search),
  }
}

function readOrder({ sort, order, priorityOwnerId }: RepositoryQuery): rows.RepositoryOrder {
  const column = SORT_COLUMNS.get(sort)
  if (!column) throw invalidSearch('sort', sort)
  const direction = sort === '' || order === '' ? 'asc' : order
  if (direction !== 'asc' && direction !== 'desc') throw invalidSearch('order', order)
  return { column, direction, firstOwnerId: priorityOwnerId || undefined }
}

function readSearch(caller: Caller, query: RepositoryQuery): Omit<rows.RepositorySearch, 'reader'> {
  const mode = MODES.get(query.mode)
  if (!mode) throw invalidSearch('mode', query.mode)
  const { uid, teamId, template, archived, isPrivate } = query
  const alone = query.exclusive && query.mode !== 'collaborative'
  const knowsAll =
    actsAsAdministrator(caller, 'read') || (caller.kind === 'user' && caller.user.id === uid)
  const participant = {
    id: uid,
    asOwner: query.mode !== 'collaborative',
    withHiddenMemberships: knowsAll,
  }
  return {
    ...mode,
    template,
    archived,
    private: query.private === false ? false : isPrivate,
    ownerId: uid !== 0 && alone ? uid : undefined,
    participant: uid !== 0 && !alone ? participant : undefined,
    teamId: teamId || undefined,
    starredBy: query.starredBy || undefined,
    ...(query.topic ? { topics: readTopics(query) } : { texts: readTexts(query) }),
  }
}

/** Returns the topics of a search. */
function readTopics({ q }: RepositoryQuery): string[] | undefined {
  const topics = wordsOf(q)
  return topics.length === 0 ? undefined : topics
}

/**
 * Returns the texts of a search. Repository names have no slash, so a text with a slash is the end
 * of an owner's name and the start of a repository's name.
 */
function readTexts({ q, includeDesc }: RepositoryQuery): SearchedText[] | undefined {
  const words = wordsOf(q)
  if (words.length > MAX_TEXTS) throw invalidSearch('q', q)
  if (words.length === 0) return undefined
  return words.map((word) => {
    const slash = word.indexOf('/')
    return {
      name: word.slice(slash + 1),
      ownerEnding: slash < 0 ? undefined : word.slice(0, slash),
      description: includeDesc ? word : undefined,
    }
  })
}

/** Returns the words of a search, which commas separate. */
function wordsOf(q: string): string[] {
  const words = q.trim().toLowerCase().slice(0, MAX_TEXT_CHARACTERS).split(',')
  return [...new Set(words.map((word) => word.trim()).filter((word) => word !== ''))]
}

function invalidSearch(field: string, value: string): DomainError {
  return new DomainError('INVALID_REPOSITORY_SEARCH', { field, value: value.slice(0, 100) })
}
