import {
  type Expression,
  type ExpressionBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import { containsSql } from '../database/database.ts'
import { prepareFirst, prepareQuery } from '../database/prepared.ts'
import { either, positionOf } from '../dialects/dialects.ts'
import type { Repository } from '../schema/repos.ts'
import type { Db, Schema } from '../schema/schema.ts'
import { findRepositoriesByIds } from './repositories.ts'
import { countReadable } from './repository-counts.ts'
import { isNearTo, type RepositoryReader, readableBy } from './repository-readers.ts'

/**
 * The number of repositories, newest first, that one search examines for a text. It bounds the time
 * that a search blocks the process.
 */
const MAX_SEARCHED = 50_000

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
  /** Topics, at least one of which the repository has. */
  readonly topics?: readonly string[] | undefined
  readonly private?: boolean | undefined
  readonly template?: boolean | undefined
  readonly archived?: boolean | undefined
  readonly fork?: boolean | undefined
  readonly mirror?: boolean | undefined
}

/** A user with access to repositories as owner, collaborator, or member of the organisation. */
export interface Participant {
  readonly id: number
  /** Whether the participant's own repositories are included. */
  readonly asOwner: boolean
  /** Whether hidden memberships in organisations are included. */
  readonly withHiddenMemberships: boolean
}

/** A lowercase text that a repository is searched for. */
export interface SearchedText {
  /** A substring of the name, or of a topic. */
  readonly name: string
  /**
   * The end of the owner's name. The text is then the start of the repository's name, and topics do
   * not match.
   */
  readonly ownerEnding: string | undefined
  /** A substring of the description, which also matches. */
  readonly description: string | undefined
}

/** The sort key of a list. Repositories with equal keys are sorted by id. */
export interface RepositoryOrder {
  readonly column:
    | 'name_key'
    | 'create_time'
    | 'update_time'
    | 'size_kib'
    | 'stars_count'
    | 'forks_count'
    | 'id'
  readonly direction: 'asc' | 'desc'
  /** The owner whose repositories come first. */
  readonly firstOwnerId?: number | undefined
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
      ? await usual.page(db, search.reader.userId ?? 0, onlyName(search), offset, limit)
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
    ? await usual.total(db, search.reader.userId ?? 0, onlyName(search))
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

/** The queries of a search without filters, of a kind of readers, by name. */
interface UsualSearch {
  readonly page: (
    db: Db,
    userId: number,
    name: string,
    offset: number,
    limit: number,
  ) => Promise<{ id: number }[]>
  readonly total: (db: Db, userId: number, name: string) => Promise<{ count: number } | undefined>
}

function prepareSearch(kind: RepositoryReader, hasName: boolean): UsualSearch {
  const searchOf = (userId: number, name: string): RepositorySearch => ({
    reader: { ...kind, userId: kind.userId === undefined ? undefined : userId },
    texts: hasName ? [{ name, ownerEnding: undefined, description: undefined }] : undefined,
  })
  return {
    page: prepareQuery((db, userId: number, name: string, offset: number, limit: number) =>
      ordered(matching(db, searchOf(userId, name)), { column: 'name_key', direction: 'asc' })
        .limit(limit)
        .offset(offset),
    ),
    total: prepareFirst((db, userId: number, name: string) => countOf(db, searchOf(userId, name))),
  }
}

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
    [true, false].map((hasName) => [usualKey(reader, hasName), prepareSearch(reader, hasName)]),
  ),
)

function usualKey({ userId, ...rights }: RepositoryReader, hasName: boolean): string {
  const { needsSignIn, restricted, publicOnly, administrator } = rights
  const isUser = userId !== undefined
  return [isUser, needsSignIn, restricted, publicOnly, administrator, hasName].join(' ')
}

/**
 * Returns the queries of a search. Undefined if it has filters, several texts or an unusual reader.
 */
function usualSearch({ reader, texts, ...filters }: RepositorySearch): UsualSearch | undefined {
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  const [text, ...others] = texts ?? []
  const isPlain = text?.ownerEnding === undefined && text?.description === undefined
  if (isFiltered || !isPlain || others.length > 0) return undefined
  return USUAL_SEARCHES.get(usualKey(reader, text !== undefined))
}

/** Returns the name in a usual search. Empty if the search has no text. */
function onlyName({ texts }: RepositorySearch): string {
  return texts?.[0]?.name ?? ''
}

type Found = SelectQueryBuilder<Schema, 'repositories', { id: number }>

function matching(db: Db, search: RepositorySearch): Found {
  const { reader, ownerId, participant, teamId, starredBy, texts, topics } = search
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
  return result.where(isAmongNewest).where((eb) => eb.or(texts.map((text) => hasText(text)(eb))))
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

const isAmongNewest: Condition = (eb) => isNewest(eb.ref('repositories.id'), eb)

/** The condition for the id of one of the newest repositories. */
function isNewest(
  id: Expression<number>,
  eb: ExpressionBuilder<Schema, 'repositories'>,
): Expression<SqlBool> {
  const newest = eb.selectFrom('repositories as all').select(({ fn }) => fn.max('all.id').as('id'))
  return sql`${id} > ${newest} - ${MAX_SEARCHED}`
}

/** Returns as many of the last characters of a text as another text has. */
function lastCharacters(text: Expression<string>, other: string): Expression<string> {
  return either({
    sqlite: sql`substr(${text}, -length(${other}))`,
    postgres: sql`right(${text}, length(${other}))`,
  })
}

function hasText({ name, ownerEnding, description }: SearchedText): Condition {
  return (eb) => {
    const key = eb.ref('repositories.name_key')
    if (ownerEnding !== undefined) {
      const begins = sql<SqlBool>`substr(${key}, 1, length(${name})) = ${name}`
      const owners = eb
        .selectFrom('account_names')
        .select('account_id')
        .where(
          ({ ref }) =>
            sql<SqlBool>`${lastCharacters(ref('name_key'), ownerEnding)} = ${ownerEnding}`,
        )
      return ownerEnding === ''
        ? begins
        : eb.and([begins, eb('repositories.owner_id', 'in', owners)])
    }
    const inName = sql<SqlBool>`${positionOf(sql`${name}`, key)} > 0`
    const inText = eb.or([inName, hasTopicLike(name)(eb)])
    if (description === undefined) return inText
    return eb.or([inText, containsSql(eb.ref('repositories.description'), description)])
  }
}

/** The condition for the repositories among the newest that have a topic with a substring. */
function hasTopicLike(text: string): Condition {
  return (eb) => {
    const having = eb
      .selectFrom('repository_topics')
      .innerJoin('topics', 'topics.id', 'repository_topics.topic_id')
      .select('repository_topics.repository_id')
      .where(({ ref }) => isNewest(ref('repository_topics.repository_id'), eb))
      .where(({ ref }) => sql<SqlBool>`${positionOf(sql`${text}`, ref('topics.name'))} > 0`)
    return eb('repositories.id', 'in', having)
  }
}
