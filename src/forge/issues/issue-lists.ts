import type { Db } from '../../platform/database/schema.ts'
import type { Owner } from '../accounts/schema.ts'
import { getOwner } from '../accounts/users/owners.ts'
import { type OpenConversations, openConversations } from '../conversations/conversation-readers.ts'
import type { ConversationKinds } from '../conversations/schema.ts'
import { readSearch } from '../conversations/search-tokens.ts'
import type { Caller } from '../core/access.ts'
import { DomainError, metadataText } from '../core/errors.ts'
import type { Page, RepositoryName } from '../core/names.ts'
import { withProgress } from '../pulls/lists/pull-progress.ts'
import type { PullRequest } from '../pulls/schema.ts'
import {
  type OpenRepository,
  openRepositories,
  repositoryReader,
} from '../repositories/access/permissions.ts'
import { findRepositoriesByIds } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { reconcileRefs } from '../repositories/refs/ref-index.ts'
import type { Repository } from '../repositories/schema.ts'
import { findFilterTeam } from './filter-teams.ts'
import { countFacet, FACETS, type Facet, type FacetCount } from './issue-facets.rows.ts'
import * as rows from './issue-lists.rows.ts'
import {
  type IssuePosition,
  type IssueSort,
  issueSortOf,
  sortOfQuery,
} from './issue-orders.rows.ts'
import type { IssueFilter, IssueSelection } from './issue-selections.rows.ts'
import { countConversations } from './issue-totals.rows.ts'
import { type ConversationView, viewConversations } from './issue-views.ts'
import { listConversations } from './issue-walks.rows.ts'
import { readQueries } from './query/issue-queries.ts'
import { withQuery } from './query/lifted-terms.ts'
import { findSeenUser } from './query/query-names.ts'
import type { QuerySort } from './query/schema.ts'
import { queryOfView } from './saved-views.ts'

/** Maximum number of labels or milestones in a filter. */
const MAX_NAMES = 100

/** Filters that lists and searches of issues share, in the words of clients. */
interface IssueQuery {
  /** `closed` or `all`; any other text means open ones. */
  readonly state: string
  /** `issues` or `pulls`; any other text means both. */
  readonly type: string
  /** Names, separated by commas, as are the milestones, which may be named by numbers too. */
  readonly labels: string
  readonly milestones: string
  readonly q: string
  /** Unix seconds. */
  readonly since: number | undefined
  readonly before: number | undefined
  /** Username. Empty for all. */
  readonly createdBy: string
  /** Name of an order; any other text means the latest first. */
  readonly sort: string
  /** In the query language; empty for all. */
  readonly query: string
  /** Number of a saved view; 0 for none. */
  readonly view: number
  /** Names of what to count, separated by commas. */
  readonly facets: string
  /** Whether the views of pull requests have their progress. */
  readonly pullStates: boolean
}

/** A list of the issues of one repository. Usernames are empty for all. */
interface IssueListQuery extends IssueQuery {
  readonly assignedBy: string
  readonly mentionedBy: string
}

/** A search for issues. The flags mean the caller. */
interface IssueSearchQuery extends IssueQuery {
  readonly owner: string
  /** Name of a team of the owner; empty for all repositories. */
  readonly team: string
  readonly priorityRepoId: number
  readonly assigned: boolean
  readonly created: boolean
  readonly mentioned: boolean
  readonly reviewRequested: boolean
  readonly reviewed: boolean
}

/** A page of conversations of both kinds. */
export interface ConversationPage {
  readonly conversations: readonly ConversationView[]
  /** Length of the whole list, as far as the list was counted. */
  readonly total: number
  /** Whether the list is longer than `total`. */
  readonly isTotalCapped: boolean
  /** Whether only the newest matches were sorted. */
  readonly isIncomplete: boolean
  /** Undefined unless the query asks for some. */
  readonly facets: Facets | undefined
  /** The last conversation of the page, if others follow. */
  readonly next: IssuePosition | undefined
}

/** The page that a request for conversations asks for. */
export interface PageOfIssues extends Page {
  /** The last conversation before the page, in place of the offset. */
  readonly after?: IssuePosition | undefined
}

/** The counts that a query asks for. */
export interface Facets {
  readonly counts: Readonly<Partial<Record<Facet, readonly FacetCount[]>>>
  /** Whether the list is longer than what was counted. */
  readonly isCapped: boolean
}

const NONE: ConversationPage = {
  conversations: [],
  total: 0,
  isTotalCapped: false,
  isIncomplete: false,
  facets: undefined,
  next: undefined,
}

/**
 * Lists the conversations of a repository that the caller may read.
 *
 * @throws as `openConversations`; ISSUE_NOT_FOUND if the caller may not read the kind that the query
 *   names; INVALID_FIELD, USER_NOT_FOUND
 */
export async function listIssues(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  query: IssueListQuery,
  page: PageOfIssues,
): Promise<ConversationPage> {
  const { kinds: readable, ...open } = await openConversations(app, caller, name)
  const { repository } = open
  const asked = kindsAsked(query.type)
  const kinds = { issues: asked.issues && readable.issues, pulls: asked.pulls && readable.pulls }
  if (!kinds.issues && !kinds.pulls) throw new DomainError('ISSUE_NOT_FOUND')
  await reconcileRefs(app, repository.id)
  const userId = (username: string) => findFilterUser(app, caller, username, repository)
  const { condition, sort } = await readQueries(
    app,
    caller,
    repository,
    await queriesOf(app, caller, repository, query),
  )
  const filter = {
    ...readFilter(query),
    posterId: await userId(query.createdBy),
    assigneeId: await userId(query.assignedBy),
    mentionedId: await userId(query.mentionedBy),
  }
  const selection = {
    place: { repositoryId: repository.id },
    ...withQuery({ kinds, filter }, condition),
  }
  const order = orderOf(query, sort)
  const reading = await rows.readingOf(app.db, selection)
  const { found, next } = await listConversations(app.db, reading, { ...page, sort: order })
  const length = await lengthOf(app.db, reading, { ...page, order, found, next }, repository)
  return {
    conversations: await viewPage(app, caller, query, { opened: [open], found }),
    ...length,
    next,
    facets: await countFacets(app, reading, query.facets, length),
  }
}

/** Returns the views of a page, with what a query asks for. */
async function viewPage(
  app: ReposApp,
  caller: Caller,
  { pullStates }: IssueQuery,
  { opened, found }: { opened: readonly OpenRepository[]; found: readonly PullRequest[] },
): Promise<ConversationView[]> {
  const views = await viewConversations(app, caller, opened, found)
  if (!pullStates) return views
  const pulls = await withProgress(
    app,
    views.flatMap((view) => (view.kind === 'pull' ? [view.pull] : [])),
  )
  const byId = new Map(pulls.map((pull) => [pull.pull.id, pull]))
  return views.map((view) =>
    view.kind === 'pull' ? { ...view, pull: byId.get(view.pull.pull.id) ?? view.pull } : view,
  )
}

type ListLength = Pick<ConversationPage, 'total' | 'isTotalCapped' | 'isIncomplete'>

/** A page that was read. */
interface ReadPage extends PageOfIssues {
  readonly order: IssueSort
  readonly found: readonly unknown[]
  /** Undefined if nothing follows. */
  readonly next: IssuePosition | undefined
}

/** Returns the length of a list. The repository counts its conversations of each kind and state. */
async function lengthOf(
  db: Db,
  reading: rows.Reading,
  page: ReadPage,
  repository?: Repository,
): Promise<ListLength> {
  const counted = repository && countedTotal(repository, reading)
  if (counted !== undefined) return { total: counted, isTotalCapped: false, isIncomplete: false }
  const bound = rows.boundOf(reading, page.order)
  const leftOut = repository && countedLeftOut(repository, reading)
  const total = lengthByPage(page, bound) ?? (await countConversations(db, reading, leftOut))
  const isSortedInPart = bound !== undefined && total > bound
  return {
    total: Math.min(total, rows.MAX_COUNTED),
    isTotalCapped: total > rows.MAX_COUNTED,
    isIncomplete: isSortedInPart || (await rows.isCut(db, reading)),
  }
}

/** The last page tells the length of a list, unless the page is empty or a place in the list was given. */
function lengthByPage(
  { offset, after, found, next }: ReadPage,
  bound = rows.MAX_COUNTED + 1,
): number | undefined {
  if (next || after || (found.length === 0 && offset > 0)) return undefined
  const length = offset + found.length
  // A list that was sorted in part ends there.
  return length < bound ? length : undefined
}

/** Returns the length of a list without filters but state and kind; undefined for another list. */
function countedTotal(
  repository: Repository,
  { kinds, filter: { isOpen, ...others } }: Pick<IssueSelection, 'kinds' | 'filter'>,
): number | undefined {
  if (Object.values(others).some((value) => value !== undefined)) return undefined
  const { issues_count, open_issues_count, pulls_count, open_pulls_count } = repository
  const count = (all: number, open: number) =>
    isOpen === undefined ? all : isOpen ? open : all - open
  return (
    (kinds.issues ? count(issues_count, open_issues_count) : 0) +
    (kinds.pulls ? count(pulls_count, open_pulls_count) : 0)
  )
}

/**
 * Returns the number of conversations that a list leaves out by kinds and state. Undefined for a list with
 * more filters, whatever its words are.
 */
function countedLeftOut(
  repository: Repository,
  { kinds, filter: { terms: _, ...filter } }: Pick<IssueSelection, 'kinds' | 'filter'>,
): number | undefined {
  const listed = countedTotal(repository, { kinds, filter })
  return listed === undefined
    ? undefined
    : repository.issues_count + repository.pulls_count - listed
}

function kindsAsked(type: string): ConversationKinds {
  return { issues: type !== 'pulls', pulls: type !== 'issues' }
}

/**
 * Returns the conversations of all repositories that match a query and that the caller can read.
 *
 * @param maxExamined the newest conversations of a kind and state that are tested, where no filter leads to
 *   few. Left out: the usual number.
 */
export async function searchIssues(
  app: ReposApp,
  caller: Caller,
  query: IssueSearchQuery,
  page: PageOfIssues,
  maxExamined?: number,
): Promise<ConversationPage> {
  const owner = query.owner === '' ? undefined : await findFilterOwner(app, caller, query.owner)
  const team = await findFilterTeam(app, caller, owner, query.team)
  const posterId = await findFilterUser(app, caller, query.createdBy, undefined)
  const asksForCaller =
    query.assigned || query.created || query.mentioned || query.reviewRequested || query.reviewed
  if (asksForCaller && caller.kind === 'anonymous') return NONE
  const me = caller.kind === 'anonymous' ? undefined : caller.user
  const mine = (isAsked: boolean) => (isAsked ? me?.id : undefined)
  if (query.created && posterId !== undefined && posterId !== me?.id) return NONE
  const { condition, sort } = await readQueries(
    app,
    caller,
    undefined,
    await queriesOf(app, caller, undefined, query),
  )
  const filter = {
    ...readFilter(query),
    posterId: mine(query.created) ?? posterId,
    assigneeId: mine(query.assigned),
    requestedId: mine(query.reviewRequested),
    reviewerId: mine(query.reviewed),
    mentionedId: mine(query.mentioned),
  }
  const teamId = team?.hasAll ? undefined : team?.id
  const place = { reader: repositoryReader(app, caller), ownerId: owner?.id, teamId, maxExamined }
  const selection = { place, ...withQuery({ kinds: kindsAsked(query.type), filter }, condition) }
  const firstRepositoryId = query.priorityRepoId || undefined
  const order = orderOf(query, sort)
  const reading = await rows.readingOf(app.db, selection)
  const { found, next } = await listConversations(app.db, reading, {
    ...page,
    sort: order,
    firstRepositoryId,
  })
  const repositories = await findRepositoriesByIds(app.db, [
    ...new Set(found.map(({ repository_id }) => repository_id)),
  ])
  const opened = await openRepositories(app, caller, [...repositories.values()], 'issues')
  const isOpened = new Set(opened.map(({ repository }) => repository.id))
  // A repository may have been closed to the caller between the two queries.
  const shown = found.filter(({ repository_id }) => isOpened.has(repository_id))
  const length = await lengthOf(app.db, reading, { ...page, order, found, next })
  return {
    conversations: await viewPage(app, caller, query, { opened, found: shown }),
    ...length,
    next,
    facets: await countFacets(app, reading, query.facets, length),
  }
}

/**
 * Returns the numbers of the conversations of a repository that match a query and that the caller may
 * read, the oldest first.
 *
 * @param limit of the result.
 * @throws INVALID_ISSUE_QUERY
 */
export async function numbersOfQuery(
  app: ReposApp,
  caller: Caller,
  { repository, kinds }: Pick<OpenConversations, 'repository' | 'kinds'>,
  query: string,
  limit: number,
): Promise<number[]> {
  const { condition } = await readQueries(app, caller, repository, [query])
  const filter = { isOpen: undefined }
  const selection = {
    place: { repositoryId: repository.id },
    ...withQuery({ kinds, filter }, condition),
  }
  return rows.listNumbers(app.db, selection, limit)
}

async function countFacets(
  app: ReposApp,
  selection: IssueSelection,
  names: string,
  { isTotalCapped }: ListLength,
): Promise<Facets | undefined> {
  const asked = namesOf('facets', names)
  if (asked.length === 0) return undefined
  const counts: Partial<Record<Facet, readonly FacetCount[]>> = {}
  for (const name of asked) {
    const facet = FACETS.find((known) => known === name)
    if (!facet) throw new DomainError('INVALID_FIELD', { field: 'facets' })
    counts[facet] = await countFacet(app.db, selection, facet)
  }
  return { counts, isCapped: isTotalCapped }
}

async function findFilterOwner(app: ReposApp, caller: Caller, name: string): Promise<Owner> {
  try {
    return await getOwner(app, caller, name)
  } catch (error) {
    const isUnknown = error instanceof DomainError && error.reason === 'USER_NOT_FOUND'
    throw isUnknown ? new DomainError('FILTER_OWNER_UNKNOWN', { name: metadataText(name) }) : error
  }
}

function readFilter(query: IssueQuery): IssueFilter {
  const labels = namesOf('labels', query.labels)
  const titles = namesOf('milestones', query.milestones)
  const ids = titles.filter((title) => /^[0-9]{1,15}$/.test(title)).map(Number)
  return {
    isOpen: isOpenOf(query),
    labels: labels.length > 0 ? labels : undefined,
    milestones: titles.length > 0 ? { titles, ids } : undefined,
    ...readSearch(query.q),
    since: query.since,
    before: query.before,
  }
}

/** With a query, the state is a matter of the query unless the request names one. */
function isOpenOf(query: IssueQuery): boolean | undefined {
  const isOfQuery = query.state === '' && (query.query !== '' || query.view !== 0)
  return isOfQuery || query.state === 'all' ? undefined : query.state !== 'closed'
}

/** Returns the queries that a conversation must match. */
async function queriesOf(
  app: ReposApp,
  caller: Caller,
  repository: Repository | undefined,
  { query, view }: IssueQuery,
): Promise<string[]> {
  const ofView = view === 0 ? [] : [await queryOfView(app, caller, repository?.id, view)]
  return [...(query === '' ? [] : [query]), ...ofView]
}

/** The order of a query comes before that of the parameter. */
function orderOf({ sort }: IssueQuery, asked: QuerySort | undefined): IssueSort {
  return asked ? sortOfQuery(asked) : issueSortOf(sort)
}

function namesOf(field: string, text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  const given = [...new Set(names.filter((name) => name !== ''))]
  if (given.length > MAX_NAMES) throw new DomainError('INVALID_FIELD', { field })
  return given
}

/**
 * Returns the id of the user that a filter names; undefined if it names nobody.
 *
 * @param repository of a list of one repository.
 */
async function findFilterUser(
  app: ReposApp,
  caller: Caller,
  username: string,
  repository: Repository | undefined,
): Promise<number | undefined> {
  if (username === '') return undefined
  const user = await findSeenUser(app, caller, username, repository)
  if (!user) throw new DomainError('USER_NOT_FOUND', { name: metadataText(username) })
  return user.id
}
