import type { Tx } from '../../../platform/database/schema.ts'
import { HEADS, type RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { firstParentMerges } from '../../../platform/git/history/commits-of-merge.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import { recordTimeline } from '../../conversations/timeline.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { type OpenRepository, openRepositoryById } from '../../repositories/access/permissions.ts'
import type { PullEventType } from '../../repositories/activity/repository-events.ts'
import type { MovedRef, RefObserver, ReposApp } from '../../repositories/ports.ts'
import { findBranch, findBranchRename } from '../../repositories/refs/branches.rows.ts'
import type { Repository } from '../../repositories/schema.ts'
import { forcedHeads } from '../heads/forced-moves.ts'
import { maintainedBranches } from '../heads/merge-rights.ts'
import * as movedRows from '../heads/moved-branches.rows.ts'
import { commitsOfPulls } from '../heads/needed-commits.rows.ts'
import { type DetailedPullChange, movedHead, recordPullChange } from '../heads/pull-changes.ts'
import * as rows from '../heads/pull-heads.rows.ts'
import { latestOpenPull, listOpenHeads } from '../heads/pull-heads.rows.ts'
import { keepHeadsOf, prepareHeadsOf, rescueHeadsFrom } from '../heads/pull-heads.ts'
import { findPullRequestById, touchPull } from '../heads/pull-requests.rows.ts'
import { endedMerges, recordMerge, settleMerges } from '../merging/merge-attempts.ts'
import { type MergeResult, NO_DELETION } from '../merging/merge-checks.ts'
import { renameAttempts } from '../merging/merge-follow-ups.rows.ts'
import { deleteScheduledMergesInto, wakeScheduledMerges } from '../merging/scheduled-merges.rows.ts'
import { dropScheduledMerge, recordDropped } from '../merging/scheduled-merges.ts'
import { proposalProblem, propose } from '../proposals/proposals.ts'
import { renameQueue, wakeQueues } from '../queue/merge-queue.rows.ts'
import { compareReviewsSoon, recomputeOfficial } from '../review/review-states.ts'
import type { PullRequest } from '../schema.ts'

/** The reaction of pull requests to changes of refs. */
export const pullRefObserver: RefObserver = {
  pushableBranches: maintainedBranches,
  async beginRecord(app, repository, ended) {
    const merges = await endedMerges(app, repository.id, ended)
    return {
      async prepare({ moved, defaultBranch, isLast, settled }) {
        const detected = await detectMerges(app, repository, moved)
        const departed = await findOrphanedBases(app, repository.id, moved)
        const forced = await forcedHeads(app, repository.id, moved)
        const known = moved.map((ref) => ({ ...ref, isForced: forced.has(ref.ref) }))
        let followed: Awaited<ReturnType<typeof followBranches>> = []
        return {
          async record(tx) {
            if (isLast) await settleMerges(app, tx, merges, settled)
            await settleDetected(app, tx, detected)
            followed = await followBranches(app, tx, repository.id, defaultBranch, known)
            await storeOrphanedBases(tx, departed)
          },
          afterCommit: () => headsMoved(app, followed),
        }
      },
      finish: (moved) => basesMoved(app, repository.id, moved),
    }
  },
  branchRenamed: renameBranchOfPulls,
  beforeFetch: prepareHeadsOf,
  beforeDeletion: keepHeadsOf,
  duringDeletion: rescueHeadsFrom,
  neededObjects: ({ db }, repositoryId) => commitsOfPulls(db, repositoryId),
  pushMessages: pullMessages,
  proposalProblem,
  propose,
}

/**
 * Updates open pull requests when their branches move, are deleted or are renamed. This happens in
 * the transaction that records the branches, so an open pull request always has its branches.
 */

/** A ref that has moved, and whether it lost commits. */
interface KnownMove extends MovedRef {
  readonly isForced?: boolean
}

interface MovedBranch extends KnownMove {
  readonly branch: string
}

/**
 * Updates open pull requests after branches have moved or were deleted. Without its head branch, a
 * pull request is closed. Without its base branch, it is retargeted to the branch that the base was
 * merged into, or else to the default branch. If that is not possible, it is closed.
 *
 * @param defaultBranch the default branch of the repository after the updates.
 * @returns the pull requests whose head has moved.
 */
export async function followBranches(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  defaultBranch: string,
  moved: readonly KnownMove[],
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
  for (const { branch, oldId, newId, pusherId, isForced = false } of branches) {
    if (newId === undefined) continue
    await wakeScheduledMerges(tx, app.clock.now(), repositoryId, { base_branch: branch })
    if (!heads.has(branch)) continue
    const pulls = await movedRows.moveHeads(tx, repositoryId, branch, newId)
    await recordAll(app, tx, pulls, pusherId, movedHead(oldId, isForced))
    followed.push(...pulls)
  }
  const now = nowSeconds(app.clock)
  for (const { branch, pusherId } of gone) {
    if (heads.has(branch))
      await pullsClosed(
        app,
        tx,
        await movedRows.closeHeads(tx, repositoryId, branch, now),
        pusherId,
      )
  }
  await followBases(app, tx, repositoryId, defaultBranch, gone)
  return followed
}

/** Starts the work that needs Git after heads have moved. Call it after the commit. */
function headsMoved(app: ReposApp, pulls: readonly PullRequest[]): void {
  if (pulls.length === 0) return
  app.signals.pullHeads.notify()
  for (const { id } of pulls) compareReviewsSoon(app, id)
}

/**
 * The latest open pull requests whose reviews are compared after a forced push to their base.
 * Reviews of others are compared when someone reads them.
 */
const MAX_COMPARED = 100

/**
 * Compares the reviews of open pull requests whose base branch has lost commits, since the pull
 * request contains more than was reviewed. Call it after the commit.
 */
function basesMoved(app: ReposApp, repositoryId: number, moved: readonly MovedRef[]): void {
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

/** Returns branches that are not being renamed. `renameBranchOfPulls` handles the others. */
async function withoutRenamed(
  tx: Tx,
  repositoryId: number,
  gone: readonly MovedBranch[],
): Promise<MovedBranch[]> {
  const kept: MovedBranch[] = []
  for (const moved of gone) {
    const rename = await findBranchRename(tx, repositoryId, moved.branch)
    if (!rename || rename.pending_update_id === null) kept.push(moved)
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
    // A user who scheduled a merge meant the old base branch.
    const dropped = await deleteScheduledMergesInto(tx, repositoryId, branch)
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
interface Retarget {
  readonly branch: string
  readonly to: string | undefined
  readonly pusherId: number | undefined
}

/**
 * Retargets the open pull requests of a base branch to another branch of the repository. Closes
 * those for which that is not possible.
 *
 * @param to undefined if there is no other branch.
 */
async function retargetPulls(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  { branch, to, pusherId }: Retarget,
): Promise<void> {
  const closed = await movedRows.closeBases(tx, repositoryId, branch, to, nowSeconds(app.clock))
  await pullsClosed(app, tx, closed, pusherId)
  if (to === undefined) return
  const moved = await movedRows.moveBases(tx, repositoryId, branch, to)
  for (const pull of moved) {
    await recomputeOfficial(tx, pull)
    const event = { type: 'change_target_branch', oldValue: branch, newValue: to } as const
    await recordTimeline(app, tx, pusherId, pull.id, event)
  }
  await recordAll(app, tx, moved, pusherId, 'PULL_REQUEST_RETARGETED')
}

/** Updates open pull requests after a rename of a branch. */
export async function renameBranchOfPulls(
  app: ReposApp,
  tx: Tx,
  repositoryId: number,
  oldName: string,
  newName: string,
): Promise<void> {
  const renamed = await movedRows.renameHeads(tx, repositoryId, oldName, newName)
  await recordAll(app, tx, renamed, undefined, 'PULL_REQUEST_EDITED')
  // Before the base of the pull requests changes, so that their entries stay.
  await renameQueue(tx, repositoryId, oldName, newName)
  await wakeQueues(tx, app.clock.now(), repositoryId, { base_branch: newName })
  await renameAttempts(tx, repositoryId, oldName, newName)
  // These have a duplicate with the new name.
  await pullsClosed(
    app,
    tx,
    await movedRows.closeHeads(tx, repositoryId, oldName, nowSeconds(app.clock)),
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
  change: PullEventType | DetailedPullChange,
): Promise<void> {
  for (const pull of pulls) {
    await touchPull(tx, pull.id, nowSeconds(app.clock), pusherId)
    await recordPullChange(app, tx, pusherId, pull, change)
  }
}

/**
 * Merge bases of unmerged pull requests whose base branch is deleted. They are found while the last
 * commit of the branch is known, and stored, so that closed pull requests keep their commits, files
 * and differences.
 */

/** A pull request, and the merge base of its head and its base branch. */
interface OrphanedBase {
  readonly pullId: number
  readonly head: string
  readonly mergeBase: string
}

/** The latest pull requests of a branch. Older ones keep the merge base that was stored last. */
const MAX_FOUND = 200

/** Finds the merge bases of pull requests whose base branch was deleted. */
async function findOrphanedBases(
  app: ReposApp,
  repositoryId: number,
  moved: readonly MovedRef[],
): Promise<OrphanedBase[]> {
  const found: OrphanedBase[] = []
  for (const { ref, oldId, newId } of moved) {
    if (!ref.startsWith(HEADS) || oldId === undefined || newId !== undefined) continue
    const pulls = await rows.listUnmergedInto(
      app.db,
      repositoryId,
      ref.slice(HEADS.length),
      MAX_FOUND,
    )
    for (const { id: pullId, head_commit: head } of pulls) {
      try {
        const mergeBase = await findMergeBase(app.git, repositoryId, oldId, head)
        if (mergeBase !== undefined) found.push({ pullId, head, mergeBase })
      } catch (err) {
        // The branch is deleted anyway.
        app.log.warn(
          { err, pullRequest: pullId },
          'where a pull request left its base could not be found out',
        )
      }
    }
  }
  return found
}

/** Stores merge bases. Runs after the pull requests were closed. */
async function storeOrphanedBases(tx: Tx, departed: readonly OrphanedBase[]): Promise<void> {
  for (const { pullId, head, mergeBase } of departed)
    await rows.putMergeBase(tx, pullId, head, mergeBase)
}

/**
 * Detects pull requests that a push has merged: their head commit is new on their base branch. If
 * the repository has this enabled, the transaction that records the push marks them as merged.
 */

/** A pull request that a push has merged. */
interface DetectedMerge {
  readonly pullId: number
  readonly baseBranch: string
  readonly result: MergeResult
}

/** Detected merges of one push. Each takes one or two Git processes. */
const MAX_DETECTED = 100

/**
 * Returns the open pull requests that ref updates have merged.
 *
 * @param moved branches and other refs.
 */
async function detectMerges(
  app: ReposApp,
  repository: Repository,
  moved: readonly MovedRef[],
): Promise<readonly DetectedMerge[]> {
  if (repository.autodetect_manual_merge === 0) return []
  const detected: DetectedMerge[] = []
  for (const { ref, oldId, newId, pusherId } of moved) {
    if (!ref.startsWith(HEADS) || oldId === undefined || newId === undefined) continue
    const move = { branch: ref.slice(HEADS.length), from: oldId, to: newId, pusherId }
    try {
      detected.push(...(await detectOn(app, repository.id, move)))
    } catch (err) {
      // The push is done. A user can still mark the pull requests as merged by hand.
      app.log.warn(
        { err, repository: repository.id },
        'what a push has merged could not be found out',
      )
    }
  }
  return detected
}

interface Move {
  readonly branch: string
  readonly from: string
  readonly to: string
  readonly pusherId: number | undefined
}

async function detectOn(app: ReposApp, repositoryId: number, move: Move): Promise<DetectedMerge[]> {
  const { branch, from, to, pusherId } = move
  const open = await listOpenHeads(app.db, repositoryId, branch)
  if (open.length === 0) return []
  const mergedBy = await firstParentMerges(app.git, repositoryId, from, to)
  const candidates = open
    .filter(({ head_commit }) => mergedBy.has(head_commit))
    .slice(0, MAX_DETECTED)
  const [merger_id, time] = [pusherId ?? null, nowSeconds(app.clock)]
  const detected: DetectedMerge[] = []
  for (const { id: pullId, head_commit } of candidates) {
    // If a commit has an earlier date than its parent, an old commit of the branch can be among the
    // new ones.
    if (!(await independentCommits(app.git, repositoryId, [from, head_commit])).has(head_commit))
      continue
    const merge_base = (await findMergeBase(app.git, repositoryId, from, head_commit)) ?? ''
    const merge_commit = mergedBy.get(head_commit) ?? to
    detected.push({
      pullId,
      baseBranch: branch,
      result: {
        merger_id,
        base_branch: branch,
        base_commit: null,
        merge_base,
        head_commit,
        merge_commit,
        time,
        ...NO_DELETION,
      },
    })
  }
  return detected
}

/** Marks pull requests as merged, unless they have changed since the detection. */
async function settleDetected(
  app: ReposApp,
  tx: Tx,
  detected: readonly DetectedMerge[],
): Promise<void> {
  for (const { pullId, baseBranch, result } of detected) {
    const pull = await findPullRequestById(tx, pullId)
    const isSame = pull?.base_branch === baseBranch && pull.head_commit === result.head_commit
    if (isSame && pull.state === 'OPEN') await recordMerge(app, tx, pullId, result)
  }
}

/** Branches of one push that the messages mention. */
const MAX_NOTICES = 5

/**
 * Returns the messages that `git push` prints about pull requests, in the words of compatible
 * systems: the address of the open pull request of each branch or, if there is none, the address to
 * create one.
 *
 * @param updates moved refs.
 * @returns lines. None if there is nothing to say.
 */
async function pullMessages(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  updates: readonly RefUpdate[],
): Promise<string[]> {
  const branches = updates.flatMap(({ name, to }) =>
    name.startsWith(HEADS) && to !== undefined ? name.slice(HEADS.length) : [],
  )
  if (branches.length === 0) return []
  const places = await placesOf(app, caller, repositoryId)
  if (!places) return []
  const { head, base } = places
  const isFork = head.repository.id !== base.repository.id
  const proposed = branches.filter((branch) => isFork || branch !== base.repository.default_branch)
  const lines: string[] = []
  for (const branch of proposed.slice(0, MAX_NOTICES)) {
    const url = `${app.publicUrl()}/${base.owner.name}/${base.repository.name}`
    const pull = await latestOpenPull(app.db, base.repository.id, head.repository.id, branch)
    const name = isFork ? `${head.owner.name}:${branch}` : branch
    lines.push(
      ...(pull
        ? ['', 'Visit the existing pull request:', `  ${url}/pulls/${pull.number}`, '']
        : [
            '',
            `Create a new pull request for '${name}':`,
            `  ${url}/compare/${rangeOf(base, name)}`,
            '',
          ]),
    )
  }
  return lines
}

/**
 * Returns the repository of the push, and the one that its pull requests go to. Undefined if the
 * caller cannot create pull requests there.
 */
async function placesOf(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
): Promise<{ head: OpenRepository; base: OpenRepository } | undefined> {
  try {
    const head = await openRepositoryById(app, caller, repositoryId, 'read')
    const baseId = head.repository.parent_id ?? repositoryId
    const base = await openRepositoryById(app, caller, baseId, 'read', 'pulls')
    return base.repository.archive_time === null ? { head, base } : undefined
  } catch (error) {
    if (error instanceof DomainError) return undefined
    throw error
  }
}

function rangeOf({ repository }: OpenRepository, head: string): string {
  const escaped = (name: string) =>
    name.split('/').map(encodeURIComponent).join('/').replaceAll('%3A', ':')
  return `${escaped(repository.default_branch)}...${escaped(head)}`
}
