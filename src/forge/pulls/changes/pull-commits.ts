import { transaction } from '../../../platform/database/database.ts'
import {
  listContainedCommits,
  listMergedCommits,
} from '../../../platform/git/history/commits-of-merge.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { isRevision } from '../../../platform/git/refs/refs.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName, Page, RepositoryName } from '../../core/names.ts'
import { type CommitPage, type CommitParts, readPage } from '../../repositories/commits/commits.ts'
import { findCommitId, reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { openPull, openPulls } from '../heads/open-pulls.ts'
import { findPullRequestById, findPullRequestByMergeCommit } from '../heads/pull-requests.rows.ts'
import { type PullView, viewPull } from '../lists/pull-views.ts'
import * as rows from '../merging/merge-follow-ups.rows.ts'
import type { MergeFollowUp, PullRequest } from '../schema.ts'
import { rangeOf } from './pull-files.ts'

/** Lists a page of the commits of a pull request, merges included, newest first. */
export async function listPullCommits(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  parts: CommitParts,
  page: Page,
): Promise<CommitPage> {
  const open = await openPull(app, caller, name, 'read')
  const { base, head } = await rangeOf(app, open)
  return readPage(app, caller, open, { from: head, without: base }, { parts, page })
}

/**
 * Returns the pull request whose merge created a commit or, if there is none, the first merged one
 * that brought it: as one of its commits, also if a squash replaced the commit, or as its rebased
 * form.
 *
 * @param sha id of the commit, or name of a branch or tag.
 */
export async function getPullOfCommit(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  sha: string,
): Promise<PullView> {
  const open = await openPulls(app, caller, name)
  const { repository } = open
  const commitId = isRevision(sha) ? await findCommitId(app, repository, sha) : undefined
  const pull =
    commitId &&
    ((await findPullRequestByMergeCommit(app.db, repository.id, commitId)) ??
      (await findPullOfCommit(app, repository.id, commitId)))
  if (!pull) throw new DomainError('PULL_REQUEST_NOT_FOUND')
  return viewPull(app, caller, open, pull)
}

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

/** Finds the first merged pull request of a repository that has brought a commit. */
async function findPullOfCommit(
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

/** A merged pull request that is found by commits which its base had before. */
interface BroughtProblem {
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
  for (const [pullId, commitIds] of await rows.broughtCommits(app.db, repositoryId)) {
    const pull = await findPullRequestById(app.db, pullId)
    const before = pull && (await commitsBefore(app, pull))
    if (!pull || !before || before.length === 0) continue
    const old = await listContainedCommits(app.git, repositoryId, commitIds, before)
    if (old.length === 0) continue
    yield {
      text: `pull request ${pull.number} is found by ${old.length} commits that its base had before`,
      repair: () => transaction(app.db, (tx) => rows.removeBrought(tx, repositoryId, pullId, old)),
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
