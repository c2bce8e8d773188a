import { transaction } from '../../../platform/database/database.ts'
import { listContainedCommits } from '../../../platform/git/history/commits-of-merge.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { findPullRequestById } from '../heads/pull-requests.rows.ts'
import { broughtCommits, removeBrought } from '../merging/merge-follow-ups.rows.ts'
import type { PullRequest } from '../schema.ts'

/** A merged pull request that is found by commits which its base had before. */
export interface BroughtProblem {
  /** Description for operators. */
  readonly text: string
  repair(): Promise<void>
}

/**
 * Compares the commits that merged pull requests of a repository have brought with the history of
 * the base. The walk of an earlier version listed some old commits when the clock of a committer was slow.
 *
 * @throws GitError
 */
export async function* examineBrought(
  app: ReposApp,
  repositoryId: number,
): AsyncGenerator<BroughtProblem, void, undefined> {
  for (const [pullId, commitIds] of await broughtCommits(app.db, repositoryId)) {
    const pull = await findPullRequestById(app.db, pullId)
    const before = pull && (await commitsBefore(app, pull))
    if (!pull || !before || before.length === 0) continue
    const old = await listContainedCommits(app.git, repositoryId, commitIds, before)
    if (old.length === 0) continue
    yield {
      text: `pull request ${pull.number} is found by ${old.length} commits that its base had before`,
      repair: () => transaction(app.db, (tx) => removeBrought(tx, repositoryId, pullId, old)),
    }
  }
}

/** Returns commits that the base had before the merge, whose ancestors it had too. */
async function commitsBefore(app: ReposApp, pull: PullRequest): Promise<string[]> {
  const { repository_id, merge_base, merge_commit, head_commit } = pull
  const merge =
    merge_commit === null ? undefined : await readCommit(app.git, repository_id, merge_commit)
  const [base, head] = merge?.parentIds ?? []
  return [
    ...(merge_base === '' ? [] : [merge_base]),
    ...(base !== undefined && head === head_commit ? [base] : []),
  ]
}
