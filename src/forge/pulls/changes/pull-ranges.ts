import { type CommitRange, countChanges as countIn } from '../../../platform/git/diffs/diff.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { DomainError } from '../../core/errors.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import type { OpenPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { findPullRequestById, storeCounts } from '../heads/pull-requests.rows.ts'
import type { PullRequest } from '../schema.ts'

/**
 * Returns the commits of a pull request: from its merge base to its head, both in the base
 * repository. The merge base is stored in the row of a merged pull request, of a closed one without
 * its base, and of one whose base was replaced by another history.
 *
 * @throws PULL_BASE_INVALID; REF_NOT_FOUND when the head is lost; SERVER_BUSY, GIT_TIMEOUT
 */
export async function rangeOf(app: ReposApp, open: OpenPull): Promise<CommitRange> {
  const head = await prepareHead(app, open.pull)
  const base = open.pull.state === 'MERGED' ? open.pull.merge_base : await findBase(app, open, head)
  if (!base) throw new DomainError('PULL_BASE_INVALID')
  return { base, head }
}

async function findBase(
  app: ReposApp,
  { repository, pull }: OpenPull,
  head: string,
): Promise<string | undefined> {
  const branch = await readBranch(app, repository, pull.base_branch)
  const base =
    branch && (await reading(findMergeBase(app.git, repository.id, branch.commit_id, head)))
  if (base === undefined && (branch || pull.state === 'CLOSED')) return keptBase(app, pull, head)
  if (base !== head) return base
  // The base contains the whole head. A merge may have come between reading the row and reading the
  // branch. Reading the branch records it.
  const latest = await findPullRequestById(app.db, pull.id)
  return latest?.state === 'MERGED' ? latest.merge_base : base
}

/** Returns the merge base that was recorded before the base was deleted or replaced. */
async function keptBase(
  app: ReposApp,
  pull: PullRequest,
  head: string,
): Promise<string | undefined> {
  const { repository_id: id, merge_base: kept } = pull
  // The stored merge base may belong to a former head.
  if (kept === '' || !(await readCommit(app.git, id, kept))) return undefined
  return reading(findMergeBase(app.git, id, kept, head))
}

/**
 * Counts the changes of a range of commits. Undefined when that takes too long. The result is
 * cached.
 *
 * @param mergeBase, head ids of commits of the repository.
 * @throws SERVER_BUSY
 */
async function countChanges(
  app: ReposApp,
  repositoryId: number,
  mergeBase: string,
  head: string,
): Promise<PullCounts | undefined> {
  const counts = await reading(countIn(app.git, repositoryId, mergeBase, head))
  return (
    counts && {
      additions: counts.additions,
      deletions: counts.deletions,
      changedFiles: counts.totalFiles,
    }
  )
}

/** The numbers of changes of a pull request. */
export interface PullCounts {
  /** Lines. */
  readonly additions: number
  readonly deletions: number
  readonly changedFiles: number
}

/**
 * Counts the changes of a pull request. Its row stores the numbers and the commits between which
 * they were counted.
 *
 * @returns undefined when counting takes too long or fails, for example because commits are lost.
 *   The pull request is shown in any case.
 */
export async function countPull(app: ReposApp, open: OpenPull): Promise<PullCounts | undefined> {
  const { pull } = open
  try {
    const { base, head } = await rangeOf(app, open)
    if (pull.counted_base === base && pull.counted_head === head) return countsIn(pull)
    const counts = await countChanges(app, open.repository.id, base, head)
    if (counts) {
      const { additions, deletions, changedFiles: changed_files } = counts
      const columns = {
        counted_base: base,
        counted_head: head,
        additions,
        deletions,
        changed_files,
      }
      await storeCounts(app.db, pull.id, columns)
    }
    return counts
  } catch (err) {
    if (!(err instanceof DomainError))
      app.log.error({ err, pullRequest: pull.id }, 'a pull request could not be counted')
    // Without a base, the numbers of the last count apply.
    return pull.counted_head === pull.head_commit ? countsIn(pull) : undefined
  }
}

function countsIn({ additions, deletions, changed_files }: OpenPull['pull']): PullCounts {
  return { additions, deletions, changedFiles: changed_files }
}
