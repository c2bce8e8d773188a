import type { Tx } from '../../../platform/database/schema.ts'
import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import { draftFork, fetchCommit } from '../../../platform/git/packs/forks.ts'
import { isRefName, readRef } from '../../../platform/git/refs/refs.ts'
import type { Owner } from '../../accounts/schema.ts'
import { blockExists } from '../../accounts/users/blocks.rows.ts'
import { isBlocked } from '../../accounts/users/blocks.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import {
  checkWritable,
  type OpenRepository,
  openRepositories,
  openRepository,
  openRepositoryById,
  repositoryReader,
} from '../access/permissions.ts'
import { gitIdentity } from '../commits/commit-authors.ts'
import { storeMerge } from '../commits/merging.ts'
import { reading } from '../content/git-reading.ts'
import { linkCommits } from '../lfs/lfs-networks.ts'
import { copyLfsObjects } from '../lfs/lfs-objects.rows.ts'
import type { ReposApp } from '../ports.ts'
import { quotaOfOwner } from '../quotas/quota-checks.ts'
import { checkRepositoryLimit } from '../quotas/repository-limit.ts'
import { pushUpdates } from '../refs/ref-updates.ts'
import type { Repository } from '../schema.ts'
import { type Copy, publishCopy } from './copies.ts'
import { openForNewRepository, recordCreator } from './create-repository.ts'
import * as rows from './forks.rows.ts'
import { findRepository, findRepositoryById } from './repositories.rows.ts'
import { getRepositoryById } from './repositories.ts'
import { checkRepositoryName, isHidden, repositoryNameKey } from './repository-fields.ts'
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
  const bytes = parent.repository.size_kib * 1024
  const kind = isHidden(parent.repository, parent.owner) ? 'private' : 'public'
  const fork = { owner: place.owner, repository: { name: forkName }, kind } as const
  const quota = await quotaOfOwner(app, caller, fork)
  const added = { [kind]: bytes, lfs: parent.repository.lfs_bytes }
  await quota?.check(app.db, added)
  await checkRepositoryLimit(app, app.db, place.owner.id)
  const folder = await draftFork(app.git, parent.repository.id).catch(async (error: unknown) => {
    const isGone = (await findRepositoryById(app.db, parent.repository.id)) === undefined
    throw isGone ? new DomainError('REPOSITORY_NOT_FOUND') : error
  })
  const id = await publishCopy(app, folder, {
    creatorId: caller.user.id,
    async describe(tx) {
      await quota?.check(tx, added)
      const copy = await describe(tx, caller, parent.repository.id, place.owner, forkName)
      return { ...copy, owned_bytes: quota ? bytes : 0 }
    },
    addRows: async (tx, fork) => {
      await recordCreator(app, tx, place, caller.user.id, fork)
      await copyLfsObjects(tx, [parent.repository.id, fork], nowSeconds(app.clock))
    },
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

/**
 * Checks that a repository may become public: its parent must not be hidden. Runs in the
 * transaction that makes it public, since the parent and its forks may become private at the same
 * time.
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

/** Returns a page of the forks of a repository that a caller may read, oldest first. */
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

/** How a branch of a fork got the commits of its parent. */
type UpstreamMerge = 'up-to-date' | 'fast-forward' | 'merge'

/** As in compatible systems. */
const MESSAGE = 'merge upstream\n'

/**
 * Merges a branch of the parent into the branch of the same name of a fork, as a push of the
 * caller. If the parent has no such branch, this merges the parent's default branch.
 *
 * @param branch without `refs/heads/`.
 * @param fastForwardOnly whether to fail if a merge commit is necessary.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REPOSITORY_ACCESS_DENIED,
 *   REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR; REPOSITORY_NOT_FORK, UPSTREAM_ACCESS_DENIED,
 *   UPSTREAM_BRANCH_NOT_FOUND; FAST_FORWARD_IMPOSSIBLE, MERGE_CONFLICT; what `pushUpdates` throws;
 *   SERVER_BUSY, GIT_TIMEOUT
 */
export async function mergeUpstream(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  branch: string,
  fastForwardOnly: boolean,
): Promise<UpstreamMerge> {
  const { repository: fork } = await openRepository(app, caller, name, 'write')
  checkWritable(fork)
  const parent = await openParent(app, caller, fork)
  const ours = await readBranch(app, fork, branch)
  if (ours === undefined) throw noBranch(fork, branch)
  const theirs =
    (await readBranch(app, parent, branch)) ??
    (await readBranch(app, parent, parent.default_branch))
  if (theirs === undefined) throw noBranch(parent, parent.default_branch)
  const compared = independentCommits(app.git, fork.id, [ours, theirs], { alsoFrom: parent.id })
  const tips = await readingParent(app, parent, compared)
  if (theirs === ours || !tips.has(theirs)) return 'up-to-date'
  const hasOwn = tips.has(ours)
  if (hasOwn && fastForwardOnly) throw new DomainError('FAST_FORWARD_IMPOSSIBLE')
  await readingParent(app, parent, fetchCommit(app.git, fork.id, parent.id, theirs))
  await reading(linkCommits(app, parent.id, fork.id, theirs))
  const to = hasOwn ? await mergeInto(app, caller, fork, ours, theirs) : theirs
  await pushUpdates(app, caller, fork.id, [{ name: `refs/heads/${branch}`, from: ours, to }])
  return hasOwn ? 'merge' : 'fast-forward'
}

async function openParent(
  app: ReposApp,
  caller: SignedIn,
  { parent_id }: Repository,
): Promise<Repository> {
  if (parent_id === null) throw new DomainError('REPOSITORY_NOT_FORK')
  try {
    return (await openRepositoryById(app, caller, parent_id, 'read')).repository
  } catch (error) {
    throw error instanceof DomainError ? accessDenied(parent_id) : error
  }
}

function accessDenied(parentId: number): DomainError {
  return new DomainError('UPSTREAM_ACCESS_DENIED', { repository_id: String(parentId) })
}

function noBranch({ id }: Repository, branch: string): DomainError {
  return new DomainError('UPSTREAM_BRANCH_NOT_FOUND', {
    repository_id: String(id),
    branch: metadataText(branch),
  })
}

async function readBranch(
  app: ReposApp,
  { id }: Repository,
  branch: string,
): Promise<string | undefined> {
  return isRefName(branch) ? readRef(app.git, id, `refs/heads/${branch}`) : undefined
}

/** Waits for work that reads the parent, which may be deleted meanwhile. */
async function readingParent<T>(app: ReposApp, { id }: Repository, work: Promise<T>): Promise<T> {
  try {
    return await reading(work)
  } catch (error) {
    const isGone = (await findRepositoryById(app.db, id)) === undefined
    throw isGone ? accessDenied(id) : error
  }
}

/** Stores the merge of a branch of the parent into the one of the fork. @returns the id of its commit. */
function mergeInto(
  app: ReposApp,
  caller: SignedIn,
  { id }: Repository,
  ours: string,
  theirs: string,
): Promise<string> {
  const self = gitIdentity(app, caller)
  const commit = { parentIds: [ours, theirs], author: self, committer: self, message: MESSAGE }
  return storeMerge(app, id, { ours, theirs, style: 'merge' }, commit)
}
