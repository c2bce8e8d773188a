import { type CommitRange, countChanges as countIn } from '../../../git/diffs/diff.ts'
import { findMergeBase } from '../../../git/history/history.ts'
import { readCommit } from '../../../git/objects/commits.ts'
import { findPullRequestById } from '../../../storage/pulls/pull-requests.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { reading } from '../../repos/reading/git-reading.ts'
import { readBranch } from '../../repos/refs/ref-index.ts'
import type { OpenPull } from '../access/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'

/**
 * What a pull request is about: the commits from where it left its base, which after the merge, and
 * where the base of a closed one is gone, is kept in its row, to its head, both in the repository
 * of the base, whatever has become of that of the head.
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
  if (base === undefined && pull.state === 'CLOSED') return keptBase(app, pull, head)
  if (base !== head) return base
  // The base has all of it: maybe by a merge that came between reading the row and reading the
  // branch, which records what it finds.
  const latest = await findPullRequestById(app.db, pull.id)
  return latest?.state === 'MERGED' ? latest.merge_base : base
}

/** Where a closed pull request left a base that is gone, or has begun anew since. */
async function keptBase(
  app: ReposApp,
  pull: PullRequest,
  head: string,
): Promise<string | undefined> {
  const { repository_id: id, merge_base: kept } = pull
  // As a check found it last: the head may have become another one since, and left what it was.
  if (kept === '' || !(await readCommit(app.git, id, kept))) return undefined
  return reading(findMergeBase(app.git, id, kept, head))
}

/**
 * How much a range of commits changes; undefined where that takes too long to find out. Kept, so
 * that it may be asked for again.
 *
 * @param mergeBase, head ids of commits of the repository.
 * @throws SERVER_BUSY
 */
export async function countChanges(
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

/** What a pull request changes. */
export interface PullCounts {
  /** Lines. */
  readonly additions: number
  readonly deletions: number
  readonly changedFiles: number
}
