import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import { fetchCommit } from '../../../platform/git/packs/forks.ts'
import { isRefName, readRef } from '../../../platform/git/refs/refs.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { checkWritable, openRepository, openRepositoryById } from '../access/permissions.ts'
import { gitIdentity } from '../commits/commit-authors.ts'
import { mergeTrees } from '../commits/merging.ts'
import { storeServerCommit } from '../commits/server-commits.ts'
import { reading } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import { pushUpdates } from '../refs/ref-updates.ts'
import type { Repository } from '../schema.ts'
import { findRepositoryById } from './repositories.rows.ts'

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
  const to = hasOwn ? await storeMerge(app, caller, fork, ours, theirs) : theirs
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

async function storeMerge(
  app: ReposApp,
  caller: SignedIn,
  { id }: Repository,
  ours: string,
  theirs: string,
): Promise<string> {
  const treeId = await mergeTrees(app, id, ours, theirs, 'merge')
  const self = gitIdentity(app, caller)
  return storeServerCommit(app, id, {
    treeId,
    parentIds: [ours, theirs],
    author: self,
    committer: self,
    message: MESSAGE,
  })
}
