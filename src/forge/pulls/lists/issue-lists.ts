import type { Owner } from '../../accounts/schema.ts'
import {
  findUserByUsername,
  getOwner,
  maySeeOwner,
  userAsOwner,
} from '../../accounts/users/owners.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { nameKey, type Page, type RepositoryName } from '../../core/names.ts'
import { openRepositories, repositoryReader } from '../../repositories/access/permissions.ts'
import { findRepositoriesByIds } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { Repository } from '../../repositories/schema.ts'
import { openPulls } from '../heads/open-pulls.ts'
import * as rows from './issue-lists.rows.ts'
import { hasOpened, type PullPage } from './pull-lists.ts'
import { viewPullsOf } from './pull-views.ts'

/** Maximum number of labels or milestones in a filter. */
const MAX_NAMES = 100
/** The number of characters of a search text. */
const MAX_TEXT_CHARACTERS = 256

/** Filters that lists and searches of issues share, in the words of clients. */
interface IssueQuery {
  /** `closed` or `all`; any other text means open ones. */
  readonly state: string
  /** `issues` for none, since there are no issues but pull requests. */
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
}

/** A list of the issues of one repository. Usernames are empty for all. */
interface IssueListQuery extends IssueQuery {
  readonly assignedBy: string
  readonly mentionedBy: string
}

/** A search for issues. The flags mean the caller. */
interface IssueSearchQuery extends IssueQuery {
  readonly owner: string
  readonly priorityRepoId: number
  readonly assigned: boolean
  readonly created: boolean
  readonly mentioned: boolean
  readonly reviewRequested: boolean
  readonly reviewed: boolean
}

const NONE: PullPage = { pulls: [], total: 0 }

/** Lists the pull requests of a repository for clients that look for issues, newest first. */
export async function listIssues(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  query: IssueListQuery,
  page: Page,
): Promise<PullPage> {
  const open = await openPulls(app, caller, name)
  if (query.type === 'issues') return NONE
  const { repository } = open
  const userId = (username: string) => findFilterUser(app, caller, username, repository)
  const filter = {
    ...readFilter(query),
    posterId: (await userId(query.createdBy))?.id,
    assigneeId: (await userId(query.assignedBy))?.id,
    mention: (await userId(query.mentionedBy))?.key,
  }
  const place = { repositoryId: repository.id }
  const found = await rows.listIssues(app.db, place, filter, page)
  return {
    pulls: await viewPullsOf(app, caller, [open], found),
    total: await rows.countIssues(app.db, place, filter),
  }
}

/**
 * Returns the pull requests of all repositories that match a query and that the caller can read,
 * newest first.
 */
export async function searchIssues(
  app: ReposApp,
  caller: Caller,
  query: IssueSearchQuery,
  page: Page,
): Promise<PullPage> {
  const owner = query.owner === '' ? undefined : await findFilterOwner(app, caller, query.owner)
  const poster = await findFilterUser(app, caller, query.createdBy, undefined)
  const asksForCaller =
    query.assigned || query.created || query.mentioned || query.reviewRequested || query.reviewed
  if (query.type === 'issues' || (asksForCaller && caller.kind === 'anonymous')) return NONE
  const me = caller.kind === 'anonymous' ? undefined : caller.user
  const mine = (isAsked: boolean) => (isAsked ? me?.id : undefined)
  if (query.created && poster && poster.id !== me?.id) return NONE
  const filter = {
    ...readFilter(query),
    posterId: mine(query.created) ?? poster?.id,
    assigneeId: mine(query.assigned),
    requestedId: mine(query.reviewRequested),
    reviewerId: mine(query.reviewed),
    mention: query.mentioned && me ? nameKey(me.username) : undefined,
  }
  const place = { reader: repositoryReader(app, caller), ownerId: owner?.id }
  const firstRepositoryId = query.priorityRepoId || undefined
  const found = await rows.listIssues(app.db, place, filter, { ...page, firstRepositoryId })
  const repositories = await findRepositoriesByIds(app.db, [
    ...new Set(found.map(({ repository_id }) => repository_id)),
  ])
  const opened = await openRepositories(app, caller, [...repositories.values()], 'pulls')
  const isOpened = new Set(opened.map(({ repository }) => repository.id))
  // A repository may have been closed to the caller between the two queries.
  const shown = found.filter(({ repository_id }) => isOpened.has(repository_id))
  return {
    pulls: await viewPullsOf(app, caller, opened, shown),
    total: await rows.countIssues(app.db, place, filter),
  }
}

async function findFilterOwner(app: ReposApp, caller: Caller, name: string): Promise<Owner> {
  try {
    return await getOwner(app, caller, name)
  } catch (error) {
    const isUnknown = error instanceof DomainError && error.reason === 'USER_NOT_FOUND'
    throw isUnknown ? new DomainError('FILTER_OWNER_UNKNOWN', { name: metadataText(name) }) : error
  }
}

function readFilter(query: IssueQuery): rows.IssueFilter {
  const labels = namesOf('labels', query.labels)
  const titles = namesOf('milestones', query.milestones)
  const ids = titles.filter((title) => /^[0-9]{1,15}$/.test(title)).map(Number)
  const text = query.q.trim().slice(0, MAX_TEXT_CHARACTERS)
  return {
    isOpen: query.state === 'all' ? undefined : query.state !== 'closed',
    labels: labels.length > 0 ? labels : undefined,
    milestones: titles.length > 0 ? { titles, ids } : undefined,
    text: text === '' ? undefined : text,
    since: query.since,
    before: query.before,
  }
}

function namesOf(field: string, text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  const given = [...new Set(names.filter((name) => name !== ''))]
  if (given.length > MAX_NAMES) throw new DomainError('INVALID_FIELD', { field })
  return given
}

/**
 * Returns the user that a filter names; undefined if it names nobody.
 *
 * @param repository where the author of a pull request is no secret, even if the account is hidden.
 */
async function findFilterUser(
  app: ReposApp,
  caller: Caller,
  username: string,
  repository: Repository | undefined,
): Promise<{ readonly id: number; readonly key: string } | undefined> {
  if (username === '') return undefined
  const user = await findUserByUsername(app.db, username)
  const isKnown =
    user &&
    ((await maySeeOwner(app, caller, userAsOwner(user))) ||
      (repository !== undefined && (await hasOpened(app, repository, user.id))))
  if (!isKnown) throw new DomainError('USER_NOT_FOUND', { name: metadataText(username) })
  return { id: user.id, key: nameKey(user.username) }
}
