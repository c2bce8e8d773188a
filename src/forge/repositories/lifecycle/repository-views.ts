import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { suffices } from '../../core/levels.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepositories, openRepository } from '../access/permissions.ts'
import { starExists } from '../activity/stars.rows.ts'
import { findRepositorySubscription } from '../activity/subscriptions.rows.ts'
import type { ReposApp } from '../ports.ts'
import type { Mirror, RepositoryTransfer } from '../schema.ts'
import { topicsOf } from '../search/topics.rows.ts'
import { mirrorsOf } from './mirrors.rows.ts'
import { findRepositoriesByIds, findTransfers } from './repositories.rows.ts'

/** A repository as a caller sees it, with the related records of its message. */
export interface RepositoryView extends OpenRepository {
  /**
   * The parent of a fork, without its own parent; undefined if the repository is no fork or the
   * caller cannot read the parent.
   */
  readonly parent: RepositoryView | undefined
  /** The mirror settings; undefined if the repository is no mirror. */
  readonly mirror: Mirror | undefined
  /** In alphabetical order. */
  readonly topics: readonly string[]
  /** The pending transfer; undefined if there is none or the caller is not a party to it. */
  readonly transfer: TransferView | undefined
}

/** A page of a list. */
export interface RepositoryPage {
  readonly repositories: readonly RepositoryView[]
  /** The number of repositories on all pages. */
  readonly total: number
}

/** A pending transfer of a repository. */
interface TransferView {
  readonly doer: Owner
  readonly recipient: Owner
}

/** Returns the view of a repository that a caller has opened. */
export async function viewRepository(
  app: ReposApp,
  caller: Caller,
  opened: OpenRepository,
): Promise<RepositoryView> {
  const [view] = await viewRepositories(app, caller, [opened])
  if (!view) throw new Error('a repository that was opened has no view')
  return view
}

/**
 * Returns the views of repositories that a caller has opened. The number of queries does not depend
 * on the number of repositories.
 */
export async function viewRepositories(
  app: ReposApp,
  caller: Caller,
  opened: readonly OpenRepository[],
): Promise<RepositoryView[]> {
  const [parents, transfers] = await Promise.all([
    findParents(app, caller, opened),
    findOffers(app, caller, opened),
  ])
  const known = [...opened, ...parents]
  const [mirrors, topics] = await Promise.all([
    mirrorsOf(
      app.db,
      known.flatMap(({ repository }) => (repository.mirror === 1 ? [repository.id] : [])),
    ),
    topicsOf(
      app.db,
      known.map(({ repository }) => repository.id),
    ),
  ])
  const views = known.map((open) => ({
    ...open,
    parent: undefined,
    mirror: mirrors.get(open.repository.id),
    topics: topics.get(open.repository.id) ?? [],
    transfer: transfers.get(open.repository.id),
  }))
  const byId = new Map(views.map((view) => [view.repository.id, view]))
  return views
    .slice(0, opened.length)
    .map((view) => ({ ...view, parent: byId.get(view.repository.parent_id ?? 0) }))
}

/** Returns the parents that the caller can read. */
async function findParents(
  app: ReposApp,
  caller: Caller,
  opened: readonly OpenRepository[],
): Promise<readonly OpenRepository[]> {
  const ids = opened.flatMap(({ repository: { parent_id } }) => parent_id ?? [])
  if (ids.length === 0) return []
  const found = await findRepositoriesByIds(app.db, ids)
  return openRepositories(app, caller, [...found.values()])
}

/** Returns the pending transfers that the caller is a party to, by repository id. */
async function findOffers(
  app: ReposApp,
  caller: Caller,
  opened: readonly OpenRepository[],
): Promise<ReadonlyMap<number, TransferView>> {
  if (caller.kind === 'anonymous') return new Map()
  const { id } = caller.user
  const offered = await findTransfers(
    app.db,
    opened.map(({ repository }) => repository.id),
  )
  const isSide = ({ doer_id, recipient_id }: RepositoryTransfer) =>
    doer_id === id || recipient_id === id
  const told = opened.flatMap(({ repository, access }) => {
    const transfer = offered.get(repository.id)
    return transfer && (suffices(access, 'owner') || isSide(transfer)) ? [transfer] : []
  })
  const accounts = await findOwnersByIds(
    app.db,
    told.flatMap(({ doer_id, recipient_id }) => [doer_id, recipient_id]),
  )
  const views = told.flatMap(
    ({ repository_id, doer_id, recipient_id }): [number, TransferView][] => {
      const doer = accounts.get(doer_id)
      const recipient = accounts.get(recipient_id)
      return doer && recipient ? [[repository_id, { doer, recipient }]] : []
    },
  )
  return new Map(views)
}

/** Choices of a user about a repository. */
interface ViewerState {
  readonly starred: boolean
  readonly watched: boolean
  readonly ignored: boolean
}

/**
 * Returns what the caller has decided about a repository.
 *
 * @throws as `openRepository`
 */
export async function getViewerState(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<ViewerState> {
  const { repository } = await openRepository(app, caller, name, 'none')
  const { id: userId } = caller.user
  const subscription = await findRepositorySubscription(app.db, repository.id, userId)
  return {
    starred: await starExists(app.db, userId, repository.id),
    watched: subscription?.mode === 'WATCHING',
    ignored: subscription?.mode === 'IGNORED',
  }
}
