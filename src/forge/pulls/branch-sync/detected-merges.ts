import type { Tx } from '../../../platform/database/schema.ts'
import { HEADS } from '../../../platform/git/core/ref-names.ts'
import { firstParentMerges } from '../../../platform/git/history/commits-of-merge.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import { nowSeconds } from '../../core/core.ts'
import type { MovedRef, ReposApp } from '../../repositories/ports.ts'
import type { Repository } from '../../repositories/schema.ts'
import { listOpenHeads } from '../heads/pull-heads.rows.ts'
import { findPullRequestById } from '../heads/pull-requests.rows.ts'
import { recordMerge } from '../merging/merge-attempts.ts'
import { type MergeResult, NO_DELETION } from '../merging/merge-checks.ts'

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
export async function detectMerges(
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
export async function settleDetected(
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
