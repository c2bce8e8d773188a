import { findUserByUsername, maySeeOwner, userAsOwner } from '../../accounts/users/owners.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { Repository } from '../../repositories/schema.ts'
import { openPulls } from '../heads/open-pulls.ts'
import {
  countPulls,
  isOnlyByState,
  isPullSort,
  type PullFilter,
  pageOfPulls,
} from './pull-lists.rows.ts'
import { type PullView, viewPulls } from './pull-views.ts'

/** Maximum number of labels in a filter. */
const MAX_LABELS = 100

/** A list of pull requests in the words of clients. */
interface PullQuery {
  /** Name of the base branch. Empty for all. */
  readonly baseBranch: string
  /** `closed`; `open` or empty for open ones; any other value for all. */
  readonly state: string
  /** One of the orders of `PullSort`. Any other value means the default. */
  readonly sort: string
  /** 0 for all. */
  readonly milestoneId: number
  /** Ids of labels, as text. A pull request must have at least one of them. Empty for all. */
  readonly labels: readonly string[]
  /** Username. Empty for all. */
  readonly poster: string
}

/** A page of a list. */
export interface PullPage {
  readonly pulls: readonly PullView[]
  /** Length of the whole list. */
  readonly total: number
}

/** Lists the pull requests of a repository. */
export async function listPulls(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  query: PullQuery,
  page: { readonly offset: number; readonly limit: number },
): Promise<PullPage> {
  const open = await openPulls(app, caller, name)
  const { repository } = open
  const filter = {
    isOpen: readState(query.state),
    baseBranch: query.baseBranch,
    milestoneId: query.milestoneId === 0 ? undefined : query.milestoneId,
    labelIds: readLabelIds(query.labels),
    posterId:
      query.poster === '' ? undefined : await findPosterId(app, caller, repository, query.poster),
  }
  const sort = isPullSort(query.sort) ? query.sort : 'newest'
  const total = isOnlyByState(filter)
    ? countOf(repository, filter)
    : await countPulls(app.db, repository.id, filter)
  const found = await pageOfPulls(app.db, repository.id, { filter, sort }, page, total)
  return { pulls: await viewPulls(app, caller, open, found), total }
}

function readState(text: string): boolean | undefined {
  if (text === '' || text === 'open') return true
  return text === 'closed' ? false : undefined
}

/** Returns the numbers that triggers count. */
function countOf(
  { pulls_count, open_pulls_count }: Repository,
  { isOpen }: Pick<PullFilter, 'isOpen'>,
): number {
  if (isOpen === undefined) return pulls_count
  return isOpen ? open_pulls_count : pulls_count - open_pulls_count
}

/** Empty texts count as absent: `labels=` is what an empty form field sends. */
function readLabelIds(given: readonly string[]): number[] {
  const texts = given.filter((text) => text !== '')
  if (texts.length > MAX_LABELS) throw new DomainError('INVALID_FIELD', { field: 'labels' })
  return texts.map((text) => {
    if (!/^[+-]?[0-9]+$/.test(text)) throw new DomainError('INVALID_LABEL_ID')
    const id = Number(text)
    // No label has such a number, which a database may not have a type for.
    return Number.isSafeInteger(id) ? id : -1
  })
}

/** The author of a pull request is no secret, even if the account is hidden. */
async function findPosterId(
  app: ReposApp,
  caller: Caller,
  repository: Repository,
  name: string,
): Promise<number> {
  const user = await findUserByUsername(app.db, name)
  const isKnown =
    user &&
    ((await maySeeOwner(app, caller, userAsOwner(user))) ||
      (await hasOpened(app, repository, user.id)))
  if (isKnown) return user.id
  throw new DomainError('UNKNOWN_POSTER', { name: metadataText(name) })
}

/** Returns whether a user has opened a pull request of a repository. */
export async function hasOpened(
  app: ReposApp,
  { id }: Repository,
  posterId: number,
): Promise<boolean> {
  const all = { isOpen: undefined, baseBranch: '', milestoneId: undefined, labelIds: [], posterId }
  return (await countPulls(app.db, id, all)) > 0
}
