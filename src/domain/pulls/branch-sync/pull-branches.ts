import { HEADS } from '../../../git/core/ref-names.ts'
import { independentCommits } from '../../../git/history/independent-commits.ts'
import { deleteAutoMergesInto, wakeAutoMerges } from '../../../storage/pulls/auto-merges.ts'
import * as rows from '../../../storage/pulls/pull-heads.ts'
import { touchPull } from '../../../storage/pulls/pull-requests.ts'
import { findBranchRename } from '../../../storage/repos/branch-renames.ts'
import { findBranch } from '../../../storage/repos/branches.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import type { PullEventType } from '../../repos/events/repository-events.ts'
import type { MovedRef, ReposApp } from '../../repos/ports.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { dropScheduledMerge, recordDropped } from '../merging/dropped-merges.ts'
import { compareReviewsSoon, recomputeOfficial } from '../review/review-states.ts'

/**
 * What becomes of open pull requests when the branches that they are of, and go to, move, go, or
 * get other names. In the transaction that records what has become of the branches, so that no pull
 * request is ever open without its branches.
 */

interface MovedBranch extends MovedRef {
  readonly branch: string
}

/**
 * Lets open pull requests follow branches that have moved or gone: without the branch that they are
 * of they are closed; without the one that they go to they go to where that was merged or else to
 * the default branch, or are closed where that makes no sense.
 *
 * @param defaultBranch of the repository, from now on.
 * @returns those that are of a branch that has moved.
 */
export async function followBranches(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  defaultBranch: string,
  moved: readonly MovedRef[],
): Promise<PullRequest[]> {
  const branches = moved.flatMap((ref) =>
    ref.ref.startsWith(HEADS) ? [{ ...ref, branch: ref.ref.slice(HEADS.length) }] : [],
  )
  const heads = new Set(await rows.openHeadBranches(tx, repositoryId, namesOf(branches)))
  const gone = await withoutRenamed(
    tx,
    repositoryId,
    branches.filter(({ newId }) => newId === undefined),
  )
  const followed: PullRequest[] = []
  for (const { branch, newId, pusherId } of branches) {
    if (newId === undefined) continue
    await wakeAutoMerges(tx, app.clock.now(), repositoryId, { base_branch: branch })
    if (!heads.has(branch)) continue
    const pulls = await rows.moveHeads(tx, repositoryId, branch, newId)
    await recordAll(app, tx, pulls, pusherId, 'PULL_REQUEST_HEAD_MOVED')
    followed.push(...pulls)
  }
  const now = nowSeconds(app.clock)
  for (const { branch, pusherId } of gone) {
    if (heads.has(branch))
      await pullsClosed(app, tx, await rows.closeHeads(tx, repositoryId, branch, now), pusherId)
  }
  await followBases(app, tx, repositoryId, defaultBranch, gone)
  return followed
}

/**
 * Sees to what takes Git when open pull requests have followed their branches, once that is
 * committed.
 */
export function headsMoved(app: ReposApp, pulls: readonly PullRequest[]): void {
  if (pulls.length === 0) return
  app.signals.pullHeads.notify()
  for (const { id } of pulls) compareReviewsSoon(app, id)
}

/**
 * Open pull requests whose reviews are compared when their base was forced, the latest. The others
 * are when somebody needs it.
 */
const MAX_COMPARED = 100

/**
 * Sees to the reviews of open pull requests whose base has lost commits, once that is committed:
 * more is proposed than was reviewed.
 */
export function basesMoved(app: ReposApp, repositoryId: number, moved: readonly MovedRef[]): void {
  const bases = moved.filter(
    ({ ref, oldId, newId }) => ref.startsWith(HEADS) && oldId !== undefined && newId !== undefined,
  )
  if (bases.length === 0) return
  app.background.run('look for bases that were forced', async () => {
    for (const { ref, oldId = '', newId = '' } of bases) {
      const branch = ref.slice(HEADS.length)
      const pulls = await rows.listReviewedInto(app.db, repositoryId, branch, MAX_COMPARED)
      if (pulls.length === 0) continue
      const isForced = (await independentCommits(app.git, repositoryId, [oldId, newId])).has(oldId)
      if (isForced) for (const id of pulls) compareReviewsSoon(app, id)
    }
  })
}

/**
 * Branches without those that are only being renamed: `renameBranchOfPulls` sees to them when that
 * is settled.
 */
async function withoutRenamed(
  tx: Tx,
  repositoryId: number,
  gone: readonly MovedBranch[],
): Promise<MovedBranch[]> {
  const kept: MovedBranch[] = []
  for (const moved of gone) {
    const rename = await findBranchRename(tx, repositoryId, moved.branch)
    if (!rename || rename.note_id === null) kept.push(moved)
  }
  return kept
}

async function followBases(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  defaultBranch: string,
  gone: readonly MovedBranch[],
): Promise<void> {
  const bases = new Set(await rows.openBaseBranches(tx, repositoryId, namesOf(gone)))
  if (bases.size === 0) return
  for (const { branch, oldId = '', pusherId } of gone) {
    if (!bases.has(branch)) continue
    const mergedInto = await rows.findMergedInto(tx, repositoryId, branch, oldId)
    const to =
      (await existing(tx, repositoryId, mergedInto)) ??
      (await existing(tx, repositoryId, defaultBranch))
    // Whoever ordered a merge did not mean one to another branch.
    const dropped = await deleteAutoMergesInto(tx, repositoryId, branch)
    await retargetPulls(app, tx, repositoryId, { branch, to, pusherId })
    for (const id of dropped) await recordDropped(app, tx, pusherId, id)
  }
}

async function existing(
  tx: Tx,
  repositoryId: number,
  branch: string | undefined,
): Promise<string | undefined> {
  return branch === undefined ? undefined : (await findBranch(tx, repositoryId, branch))?.name
}

/** A change of the base branch of pull requests. */
export interface Retarget {
  readonly branch: string
  readonly to: string | undefined
  readonly pusherId: number | undefined
}

/**
 * Lets the open pull requests that go to a branch go to another one of the repository, and closes
 * those that cannot.
 *
 * @param to undefined where there is no other branch.
 */
export async function retargetPulls(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  { branch, to, pusherId }: Retarget,
): Promise<void> {
  const closed = await rows.closeBases(tx, repositoryId, branch, to, nowSeconds(app.clock))
  await pullsClosed(app, tx, closed, pusherId)
  if (to === undefined) return
  const moved = await rows.moveBases(tx, repositoryId, branch, to)
  for (const pull of moved) await recomputeOfficial(tx, pull)
  await recordAll(app, tx, moved, pusherId, 'PULL_REQUEST_RETARGETED')
}

/** Lets open pull requests follow a branch to another name. */
export async function renameBranchOfPulls(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  oldName: string,
  newName: string,
): Promise<void> {
  const renamed = await rows.renameHeads(tx, repositoryId, oldName, newName)
  await recordAll(app, tx, renamed, undefined, 'PULL_REQUEST_EDITED')
  // Of these there is one by the new name already.
  await pullsClosed(
    app,
    tx,
    await rows.closeHeads(tx, repositoryId, oldName, nowSeconds(app.clock)),
    undefined,
  )
  await retargetPulls(app, tx, repositoryId, { branch: oldName, to: newName, pusherId: undefined })
}

function namesOf(branches: readonly MovedBranch[]): string[] {
  return branches.map(({ branch }) => branch)
}

async function pullsClosed(
  app: ReposApp,
  tx: Tx,
  pulls: readonly PullRequest[],
  pusherId: number | undefined,
): Promise<void> {
  for (const { id } of pulls) await dropScheduledMerge(app, tx, pusherId, id)
  await recordAll(app, tx, pulls, pusherId, 'PULL_REQUEST_CLOSED')
}

async function recordAll(
  app: ReposApp,
  tx: Tx,
  pulls: readonly PullRequest[],
  pusherId: number | undefined,
  type: PullEventType,
): Promise<void> {
  for (const pull of pulls) {
    await touchPull(tx, pull.id, nowSeconds(app.clock), pusherId)
    await recordPullChange(app, tx, pusherId, pull, type)
  }
}
