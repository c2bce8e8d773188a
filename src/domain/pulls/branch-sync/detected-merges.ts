import { HEADS } from '../../../git/core/ref-names.ts'
import { findMergeBase } from '../../../git/history/history.ts'
import { independentCommits } from '../../../git/history/independent-commits.ts'
import { firstParentMerges } from '../../../git/history/merged-by.ts'
import { listOpenHeads } from '../../../storage/pulls/pull-heads.ts'
import { findPullRequestById } from '../../../storage/pulls/pull-requests.ts'
import type { Repository } from '../../../storage/schema/repos.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { nowSeconds } from '../../core/core.ts'
import type { MovedRef, ReposApp } from '../../repos/ports.ts'
import { recordMerge } from '../merging/merge-attempts.ts'
import { type MergeResult, NO_DELETION } from '../merging/open-merges.ts'

/**
 * Pull requests that somebody merges by a push: their head is new on their base. Where a repository
 * wants that to be found out, they are marked as merged in the transaction that records the push.
 */

/** A pull request that a push has merged. */
export interface DetectedMerge {
  readonly pullId: number
  readonly baseBranch: string
  readonly result: MergeResult
}

/** Found out for one push. Each takes a process or two. */
const MAX_DETECTED = 100

/**
 * The open pull requests that moves of branches have merged.
 *
 * @param moved branches that have moved, or else.
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
      // The push stands. Whoever wants to can still say that it was a merge.
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
    // Where commits are dated before those that they follow, one that the branch had may be among
    // those that are new.
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

/** Marks what was detected as merged, as far as it is still what it was. */
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
