import type { Tx } from '../../../platform/database/schema.ts'
import { draftFork } from '../../../platform/git/packs/forks.ts'
import type { Owner } from '../../accounts/schema.ts'
import { blockExists } from '../../accounts/users/blocks.rows.ts'
import { isBlocked } from '../../accounts/users/blocks.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import {
  type OpenRepository,
  openRepositories,
  openRepository,
  repositoryReader,
} from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { type Copy, publishCopy } from './copies.ts'
import { openForNewRepository, recordCreator } from './create-repository.ts'
import * as rows from './forks.rows.ts'
import { findRepository, findRepositoryById } from './repositories.rows.ts'
import { getRepositoryById } from './repositories.ts'
import { checkRepositoryName, repositoryNameKey } from './repository-fields.ts'
import { type RepositoryView, viewRepositories } from './repository-views.ts'

/** The request for a fork. Empty texts mean the default. */
interface ForkDraft {
  /** The name of the organisation that owns the fork. Empty for the caller. */
  readonly organization: string
  /** Empty for the name of the parent. */
  readonly name: string
}

/**
 * Forks a repository. An owner has at most one fork of a repository, and none of an own one.
 *
 * The fork is private if the parent is private, or if the parent's owner is not public.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, USER_BLOCKED,
 *   ORGANIZATION_NOT_FOUND, ORGANIZATION_ACCESS_DENIED, PUBLIC_ONLY_TOKEN, INVALID_REPOSITORY_NAME,
 *   FORK_EXISTS, REPOSITORY_EXISTS
 */
export async function createFork(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  draft: ForkDraft,
): Promise<RepositoryView> {
  const parent = await openRepository(app, caller, name, 'read')
  if (await isBlocked(app, [parent.owner.id], caller.user.id)) throw new DomainError('USER_BLOCKED')
  const place = await openForNewRepository(app, caller, draft.organization)
  const forkName = checkRepositoryName(draft.name || parent.repository.name)
  await checkNoFork(app, place.owner, parent)
  // The name is checked again when the copy is complete. This check saves a copy.
  if (await findRepository(app.db, place.owner.id, repositoryNameKey(forkName))) {
    throw new DomainError('REPOSITORY_EXISTS', { name: forkName })
  }
  const folder = await draftFork(app.git, parent.repository.id).catch(async (error: unknown) => {
    const isGone = (await findRepositoryById(app.db, parent.repository.id)) === undefined
    throw isGone ? new DomainError('REPOSITORY_NOT_FOUND') : error
  })
  const id = await publishCopy(app, folder, {
    creatorId: caller.user.id,
    describe: (tx) => describe(tx, caller, parent.repository.id, place.owner, forkName),
    addRows: (tx, fork) => recordCreator(app, tx, place, caller.user.id, fork),
  })
  return getRepositoryById(app, caller, id)
}

async function checkNoFork(app: ReposApp, owner: Owner, parent: OpenRepository): Promise<void> {
  const { id } = parent.repository
  const existing =
    owner.id === parent.owner.id ? parent.repository : await rows.findForkOf(app.db, owner.id, id)
  if (existing) throw new DomainError('FORK_EXISTS', { owner: owner.name })
}

/**
 * Returns the columns of a fork. While Git copied, the parent may have been deleted or made private,
 * and its owner may have blocked the caller.
 *
 * @throws REPOSITORY_NOT_FOUND, USER_BLOCKED
 */
async function describe(
  tx: Tx,
  { user }: SignedIn,
  parentId: number,
  owner: Owner,
  name: string,
): Promise<Copy> {
  const parent = await findRepositoryById(tx, parentId)
  const parentOwner = parent && (await findOwnerById(tx, parent.owner_id))
  if (!parentOwner) throw new DomainError('REPOSITORY_NOT_FOUND')
  if (await blockExists(tx, [parentOwner.id], user.id)) throw new DomainError('USER_BLOCKED')
  const { description, default_branch } = parent
  const isPrivate = isHidden(parent, parentOwner) ? 1 : 0
  return {
    owner_id: owner.id,
    name,
    description,
    default_branch,
    private: isPrivate,
    parent_id: parentId,
  }
}

function isHidden(repository: Repository, owner: Owner): boolean {
  return repository.private === 1 || owner.visibility !== 'public'
}

/**
 * Checks that a repository may become public: its parent must not be hidden. Runs in the
 * transaction that makes it public, since the parent and its forks may become private at the same
 * time.
 *
 * @throws PARENT_PRIVATE
 */
export async function checkMayBePublic(tx: Tx, { parent_id }: Repository): Promise<void> {
  const parent = parent_id === null ? undefined : await findRepositoryById(tx, parent_id)
  const owner = parent && (await findOwnerById(tx, parent.owner_id))
  if (owner && isHidden(parent, owner)) throw new DomainError('PARENT_PRIVATE')
}

/** A page of forks. */
interface ForkPage {
  readonly forks: readonly RepositoryView[]
  /** Number of forks in the whole list. */
  readonly total: number
}

/**
 * Returns a page of the forks of a repository that a caller may read, oldest first.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED
 */
export async function listForks(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  page: Page,
): Promise<ForkPage> {
  const { repository } = await openRepository(app, caller, name, 'read')
  const reader = repositoryReader(app, caller)
  const found = await rows.listForks(app.db, repository.id, reader, page.offset, page.limit)
  return {
    forks: await viewRepositories(app, caller, await openRepositories(app, caller, found)),
    total: await rows.countForks(app.db, repository.id, reader),
  }
}
