import { findOwnersByIds } from '../../../storage/accounts/owners.ts'
import { mirrorsOf } from '../../../storage/repos/mirrors.ts'
import { findRepositoriesByIds } from '../../../storage/repos/repositories.ts'
import { findTransfers } from '../../../storage/repos/repository-transfers.ts'
import { topicsOf } from '../../../storage/repos/topics.ts'
import type { Owner } from '../../../storage/schema/accounts.ts'
import type { Mirror, RepositoryTransfer } from '../../../storage/schema/repos.ts'
import type { Caller } from '../../core/access.ts'
import { suffices } from '../../core/levels.ts'
import { type OpenRepository, openRepositories } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'

/** A repository as a caller sees it, with what its message says of others. */
export interface RepositoryView extends OpenRepository {
  /**
   * What it was forked from, without a parent of its own; undefined when it was not, and when the
   * caller may not read that.
   */
  readonly parent: RepositoryView | undefined
  /** How it follows another one; undefined when it does not. */
  readonly mirror: Mirror | undefined
  /** In the order of the alphabet. */
  readonly topics: readonly string[]
  /**
   * Undefined when it is not offered to anybody, and when the caller is on neither side of the
   * offer.
   */
  readonly transfer: TransferView | undefined
}

/** A part of a list. */
export interface RepositoryPage {
  readonly repositories: readonly RepositoryView[]
  /** How many the whole list has. */
  readonly total: number
}

/** An offer of a repository. */
export interface TransferView {
  readonly doer: Owner
  readonly recipient: Owner
}

/** A repository that a caller has opened, as the caller sees it. */
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
 * Repositories that a caller has opened, as the caller sees them, in as many queries as for one.
 */
export async function viewRepositories(
  app: ReposApp,
  caller: Caller,
  opened: readonly OpenRepository[],
): Promise<RepositoryView[]> {
  const parents = await findParents(app, caller, opened)
  const transfers = await findOffers(app, caller, opened)
  const known = [...opened, ...parents]
  const mirrors = await mirrorsOf(
    app.db,
    known.flatMap(({ repository }) => (repository.mirror === 1 ? [repository.id] : [])),
  )
  const topics = await topicsOf(
    app.db,
    known.map(({ repository }) => repository.id),
  )
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

/** The parents that the caller may read. */
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

/** The offers that the caller is on a side of, by the id of the repository. */
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
