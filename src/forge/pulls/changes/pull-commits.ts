import { isRevision } from '../../../platform/git/refs/refs.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page, PullName, RepositoryName } from '../../core/names.ts'
import { type CommitPage, type CommitParts, readPage } from '../../repositories/commits/commits.ts'
import { findCommitId } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { openPull, openPulls } from '../heads/open-pulls.ts'
import { findPullRequestByMergeCommit } from '../heads/pull-requests.rows.ts'
import { type PullView, viewPull } from '../lists/pull-views.ts'
import { findPullOfCommit } from './merged-commits.ts'
import { rangeOf } from './pull-ranges.ts'

/**
 * Lists a page of the commits of a pull request, merges included, newest first.
 *
 * @throws as `openPull` and `rangeOf`; SERVER_BUSY, GIT_TIMEOUT
 */
export async function listPullCommits(
  app: ReposApp,
  caller: Caller,
  name: PullName,
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
 * @throws as `openPulls`; PULL_REQUEST_NOT_FOUND, SERVER_BUSY, GIT_TIMEOUT
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
