import { transaction } from '../../../platform/database/database.ts'
import { listMergedCommits } from '../../../platform/git/history/commits-of-merge.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { findPullRequestById } from '../heads/pull-requests.rows.ts'
import * as rows from '../merging/merge-follow-ups.rows.ts'
import type { MergeFollowUp, PullRequest } from '../schema.ts'

/**
 * Maximum number of commits by which one merged pull request is found, the newest. Each takes about
 * 40 bytes of the database.
 */
const MAX_LISTED_COMMITS = 10_000

/**
 * Maximum number of merged pull requests whose commits are listed before a caller gets the answer
 * that none has brought a commit.
 */
const MAX_LISTED_ON_DEMAND = 20

export async function listBroughtCommits(
  app: ReposApp,
  followUp: MergeFollowUp,
  pull: PullRequest,
): Promise<void> {
  const { base_commit, is_listed, repository_id } = followUp
  const { head_commit, merge_base, merge_commit } = pull
  if (is_listed === 1 || merge_commit === null) return
  // If the former tip of the base is unknown, other commits may lie between the head and the merge
  // commit.
  const [tips, without] =
    base_commit === null ? [[head_commit], merge_base] : [[head_commit, merge_commit], base_commit]
  const brought =
    without === ''
      ? []
      : await reading(listMergedCommits(app.git, repository_id, tips, without, MAX_LISTED_COMMITS))
  await transaction(app.db, (tx) =>
    rows.listMergedCommits(tx, followUp, [merge_commit, ...brought]),
  )
}

/**
 * Finds the first merged pull request of a repository that has brought a commit.
 *
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function findPullOfCommit(
  app: ReposApp,
  repositoryId: number,
  commitId: string,
): Promise<PullRequest | undefined> {
  let id = await rows.findPullThatBrought(app.db, repositoryId, commitId)
  if (id === undefined) {
    for (const pullId of await rows.unlistedMerges(app.db, repositoryId, MAX_LISTED_ON_DEMAND))
      await listNow(app, pullId)
    id = await rows.findPullThatBrought(app.db, repositoryId, commitId)
  }
  return id === undefined ? undefined : findPullRequestById(app.db, id)
}

async function listNow(app: ReposApp, pullId: number): Promise<void> {
  await withPullLock(app, pullId, async () => {
    const followUp = await rows.findFollowUp(app.db, pullId)
    const pull = followUp && (await findPullRequestById(app.db, pullId))
    if (pull) await listBroughtCommits(app, followUp, pull)
  })
}
