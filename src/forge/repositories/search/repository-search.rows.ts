import type { Expression, ExpressionBuilder, SelectQueryBuilder, SqlBool } from 'kysely'
import { prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Schema } from '../../../platform/database/schema.ts'
import { isNearTo, type RepositoryReader, readableBy } from '../access/repository-readers.rows.ts'
import { countReadable, findRepositoriesByIds } from '../lifecycle/repositories.rows.ts'
import type { Repository } from '../schema.ts'
import { findNamed, hasText, isNamed, type SearchedText } from './repository-texts.rows.ts'

/**
 * A search for repositories that the reader can access. Undefined fields do not restrict the
 * result.
 */
export interface RepositorySearch {
  readonly reader: RepositoryReader
  readonly ownerId?: number | undefined
  readonly participant?: Participant | undefined
  readonly teamId?: number | undefined
  /** A user who has starred the repositories. */
  readonly starredBy?: number | undefined
  /** Texts, at least one of which matches. */
  readonly texts?: readonly SearchedText[] | undefined
  /** The ids of the repositories whose names contain the only text, as a JSON array. */
  readonly named?: string | undefined
  /** Topics, at least one of which the repository has. */
  readonly topics?: readonly string[] | undefined
  readonly private?: boolean | undefined
  readonly template?: boolean | undefined
  readonly archived?: boolean | undefined
  readonly fork?: boolean | undefined
  readonly mirror?: boolean | undefined
}

/** A user with access to repositories as owner, collaborator, or member of the organisation. */
interface Participant {
  readonly id: number
  /** Whether the participant's own repositories are included. */
  readonly asOwner: boolean
  /** Whether hidden memberships in organisations are included. */
  readonly withHiddenMemberships: boolean
}

/** The sort key of a list. Repositories with equal keys are sorted by id. */
export interface RepositoryOrder {
  readonly column:
    | 'name_key'
    | 'create_time'
    | 'update_time'
    | 'size_kib'
    | 'lfs_bytes'
    | 'stars_count'
    | 'forks_count'
    | 'id'
  readonly direction: 'asc' | 'desc'
  /** The owner whose repositories come first. */
  readonly firstOwnerId?: number | undefined
}

/**
 * Returns a search with the repositories that the index of names finds for its text. The search is
 * unchanged without a text, with several, with one that does not stand for names alone, and with one
 * that too many names contain.
 */
export async function narrowByName(db: Db, search: RepositorySearch): Promise<RepositorySearch> {
  const [text, ...others] = search.texts ?? []
  if (!text || others.length > 0 || !isPlain(text)) return search
  const ids = await findNamed(db, text.name)
  return ids ? { ...search, named: JSON.stringify(ids) } : search
}

/** Returns a page of the repositories that match a search. */
export async function searchRepositories(
  db: Db,
  search: RepositorySearch,
  order: RepositoryOrder,
  offset: number,
  limit: number,
): Promise<Repository[]> {
  const usual = usualSearch(search)
  const page =
    usual && order.column === 'name_key' && order.direction === 'asc' && !order.firstOwnerId
      ? await usual.page(db, ...valuesOf(search), offset, limit)
      : await ordered(matching(db, search), order).limit(limit).offset(offset).execute()
  const found = await findRepositoriesByIds(
    db,
    page.map(({ id }) => id),
  )
  return page.flatMap(({ id }) => found.get(id) ?? [])
}

/** Returns the number of repositories in that list. */
export async function countRepositories(db: Db, search: RepositorySearch): Promise<number> {
  const usual = usualSearch(search)
  const found = usual
    ? await usual.total(db, ...valuesOf(search))
    : await countOf(db, search).executeTakeFirst()
  return found?.count ?? 0
}

function countOf(db: Db, search: RepositorySearch) {
  const { reader, ...restrictions } = search
  if (Object.values(restrictions).every((value) => value === undefined))
    return countReadable(db, reader)
  return db
    .selectFrom(matching(db, search).as('found'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
}

/** The values of a search without filters: the id of the reader, the text, and what names have it. */
type Values = [userId: number, name: string, named: string]

function valuesOf(search: RepositorySearch): Values {
  return [search.reader.userId ?? 0, onlyName(search), search.named ?? '[]']
}

/** How a search without filters finds a text. */
type TextKind = 'no text' | 'text' | 'named'

/** The queries of a search without filters, of a kind of readers, by name. */
interface UsualSearch {
  readonly page: (
    db: Db,
    ...values: [...Values, offset: number, limit: number]
  ) => Promise<{ id: number }[]>
  readonly total: (db: Db, ...values: Values) => Promise<{ count: number } | undefined>
}

function prepareSearch(kind: RepositoryReader, text: TextKind): UsualSearch {
  const searchOf = ([userId, name, named]: Values): RepositorySearch => ({
    reader: { ...kind, userId: kind.userId === undefined ? undefined : userId },
    texts:
      text === 'no text' ? undefined : [{ name, ownerEnding: undefined, description: undefined }],
    named: text === 'named' ? named : undefined,
  })
  return {
    page: prepareQuery((db, ...[id, name, named, offset, limit]: [...Values, number, number]) =>
      ordered(matching(db, searchOf([id, name, named])), BY_NAME)
        .limit(limit)
        .offset(offset),
    ),
    total: prepareFirst((db, ...values: Values) => countOf(db, searchOf(values))),
  }
}

const BY_NAME: RepositoryOrder = { column: 'name_key', direction: 'asc' }

const ANYONE: RepositoryReader = {
  userId: undefined,
  needsSignIn: false,
  restricted: false,
  publicOnly: false,
  administrator: 'none',
}

/** The readers of most searches. The id stands for that of any user. */
const USUAL_READERS: readonly RepositoryReader[] = [
  ANYONE,
  { ...ANYONE, userId: 0 },
  { ...ANYONE, userId: 0, administrator: 'read' },
  { ...ANYONE, userId: 0, administrator: 'write' },
]

const USUAL_SEARCHES = new Map(
  USUAL_READERS.flatMap((reader) =>
    (['no text', 'text', 'named'] as const).map((text) => [
      usualKey(reader, text),
      prepareSearch(reader, text),
    ]),
  ),
)

function usualKey({ userId, ...rights }: RepositoryReader, text: TextKind): string {
  const { needsSignIn, restricted, publicOnly, administrator } = rights
  const isUser = userId !== undefined
  return [isUser, needsSignIn, restricted, publicOnly, administrator, text].join(' ')
}

/**
 * Returns the queries of a search. Undefined if it has filters, several texts or an unusual reader.
 */
function usualSearch(search: RepositorySearch): UsualSearch | undefined {
  const { reader, texts = [], named, ...filters } = search
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  if (isFiltered || texts.length > 1 || !texts.every(isPlain)) return undefined
  if (texts.length === 0) return USUAL_SEARCHES.get(usualKey(reader, 'no text'))
  return USUAL_SEARCHES.get(usualKey(reader, named === undefined ? 'text' : 'named'))
}

/** Whether a text stands for the names and topics of repositories only. */
function isPlain({ ownerEnding, description }: SearchedText): boolean {
  return ownerEnding === undefined && description === undefined
}

/** Returns the name in a usual search. Empty if the search has no text. */
function onlyName({ texts }: RepositorySearch): string {
  return texts?.[0]?.name ?? ''
}

type Found = SelectQueryBuilder<Schema, 'repositories', { id: number }>

function matching(db: Db, search: RepositorySearch): Found {
  const { reader, ownerId, participant, teamId, starredBy, texts, named, topics } = search
  let result = db.selectFrom('repositories').select('repositories.id').where(readableBy(reader))
  // Indexes find what the reader has a grant for, so that the search does not read all others.
  const { userId, administrator, restricted } = reader
  if (userId !== undefined && administrator === 'none' && (restricted || search.private))
    result = result.where((eb) => isNearTo(eb, userId))
  if (ownerId !== undefined) result = result.where('repositories.owner_id', '=', ownerId)
  if (participant) result = result.where(isPartOf(participant))
  if (teamId !== undefined) result = result.where(isOfTeam(teamId, reader))
  if (starredBy !== undefined) result = result.where(isStarredBy(starredBy))
  if (topics) result = result.where(hasOneOf(topics))
  for (const flag of ['private', 'template', 'mirror'] as const) {
    const wanted = search[flag]
    if (wanted !== undefined) result = result.where(`repositories.${flag}`, '=', wanted ? 1 : 0)
  }
  if (search.archived !== undefined) {
    result = result.where('repositories.archive_time', search.archived ? 'is not' : 'is', null)
  }
  if (search.fork !== undefined)
    result = result.where('repositories.parent_id', search.fork ? 'is not' : 'is', null)
  if (!texts) return result
  return result.where(named ? isNamed(named, onlyName(search)) : hasText(texts))
}

function ordered(query: Found, { column, direction, firstOwnerId }: RepositoryOrder): Found {
  const first =
    firstOwnerId === undefined
      ? query
      : query.orderBy(({ eb }) => eb('repositories.owner_id', '=', firstOwnerId), 'desc')
  const sorted = first.orderBy(`repositories.${column}`, direction)
  return column === 'id' ? sorted : sorted.orderBy('repositories.id', direction)
}

type Condition = (eb: ExpressionBuilder<Schema, 'repositories'>) => Expression<SqlBool>

function isPartOf({ id, asOwner, withHiddenMemberships }: Participant): Condition {
  return (eb) => {
    const memberships = eb
      .selectFrom('organization_members')
      .select('organization_id')
      .where('user_id', '=', id)
      .$if(!withHiddenMemberships, (query) => query.where('is_public', '=', 1))
    const given = eb.or([
      eb(
        'repositories.id',
        'in',
        eb.selectFrom('collaborators').select('repository_id').where('user_id', '=', id),
      ),
      eb('repositories.owner_id', 'in', memberships),
    ])
    return asOwner
      ? eb.or([eb('repositories.owner_id', '=', id), given])
      : eb.and([eb('repositories.owner_id', '<>', id), given])
  }
}

/** The condition for the repositories of a team in an organisation of the reader. */
function isOfTeam(id: number, { administrator, userId }: RepositoryReader): Condition {
  return (eb) => {
    const team = eb.selectFrom('teams').where('teams.id', '=', id)
    const known = team
      .innerJoin(
        'organization_members',
        'organization_members.organization_id',
        'teams.organization_id',
      )
      .select('teams.organization_id')
      .where('organization_members.user_id', '=', userId ?? 0)
    const hasAll = team
      .select('teams.id')
      .where((all) =>
        all.or([all('permission', '=', 'owner'), all('includes_all_repositories', '=', 1)]),
      )
    const given = eb
      .selectFrom('team_repositories')
      .select('repository_id')
      .where('team_id', '=', id)
    return eb.and([
      eb(
        'repositories.owner_id',
        'in',
        administrator === 'none' ? known : team.select('teams.organization_id'),
      ),
      eb.or([eb.exists(hasAll), eb('repositories.id', 'in', given)]),
    ])
  }
}

function isStarredBy(id: number): Condition {
  return (eb) =>
    eb(
      'repositories.id',
      'in',
      eb.selectFrom('stars').select('repository_id').where('user_id', '=', id),
    )
}

function hasOneOf(topics: readonly string[]): Condition {
  return (eb) => {
    const having = eb
      .selectFrom('repository_topics')
      .innerJoin('topics', 'topics.id', 'repository_topics.topic_id')
      .select('repository_topics.repository_id')
      .where('topics.name', 'in', topics)
    return eb('repositories.id', 'in', having)
  }
}
