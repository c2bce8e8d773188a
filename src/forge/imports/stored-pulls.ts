import type { Tx } from '../../platform/database/schema.ts'
import { findMergeBase } from '../../platform/git/history/history.ts'
import { inspectObjects } from '../../platform/git/objects/objects.ts'
import { RecordError } from '../conversations/imported-attachments.ts'
import { insertPullRequest } from '../pulls/heads/pull-requests.rows.ts'
import { newPullRow } from '../pulls/lifecycle/create-pull.ts'
import { isWorkInProgress } from '../pulls/lists/pull-views.ts'
import { insertFollowUp } from '../pulls/merging/merge-follow-ups.rows.ts'
import { insertReview, insertReviewComment } from '../pulls/review/reviews.rows.ts'
import type { PullRequest } from '../pulls/schema.ts'
import { reading } from '../repositories/content/git-reading.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { LineCommentRecord, PullRecord, ReviewRecord } from './project-records.ts'
import { authorOf, bodyOf, conversationColumns, storeParts, type Target } from './stored-records.ts'

/** What Git says about a pull request, before its rows are written. */
export interface ImportedPullFacts {
  readonly headCommit: string
  /** Empty if there is none. */
  readonly mergeBase: string
  /** Null unless the repository has the commit. */
  readonly mergeCommit: string | null
}

/**
 * Reads the commits of a pull request. A merged one without its head is shown by the commit of its
 * merge.
 *
 * @throws RecordError if the repository has no head.
 */
export async function readPullFacts(
  app: ReposApp,
  repositoryId: number,
  { headCommit, baseCommit, merge }: PullRecord,
): Promise<ImportedPullFacts> {
  const named = [headCommit, baseCommit, merge?.commit ?? ''].filter((commit) => commit !== '')
  const objects = await reading(inspectObjects(app.git, repositoryId, named))
  const isHere = (commit: string) => objects.get(commit)?.type === 'commit'
  const mergeCommit = merge && isHere(merge.commit) ? merge.commit : null
  const head = isHere(headCommit) ? headCommit : mergeCommit
  if (head === null) throw new RecordError('the other server does not have the head')
  const mergeBase = isHere(baseCommit)
    ? await reading(findMergeBase(app.git, repositoryId, baseCommit, head))
    : undefined
  return { headCommit: head, mergeBase: mergeBase ?? '', mergeCommit }
}

/** Stores a pull request with everything that belongs to it. */
export async function storePullRecord(
  app: ReposApp,
  tx: Tx,
  target: Target,
  record: PullRecord,
  facts: ImportedPullFacts,
): Promise<void> {
  const columns = await conversationColumns(tx, target, record)
  const { merge, isClosed } = record
  const { original_author, original_name, original_author_id, ...shared } = columns
  const { title, body, poster_id, repository_id } = shared
  const given = newPullRow(app, {
    repository_id,
    poster_id,
    title: record.isDraft && !isWorkInProgress(app, title) ? draftTitle(app, title) : title,
    body,
    base_branch: record.baseBranch,
    head_branch: record.headBranch,
    // The branches of forks are not imported.
    head_repository_id: record.isHeadHere ? repository_id : null,
    head_commit: facts.headCommit,
    merge_base: facts.mergeBase,
    allow_maintainer_edit: 0,
  })
  const state = merge ? 'MERGED' : isClosed ? 'CLOSED' : 'OPEN'
  const pull = await insertPullRequest(
    tx,
    {
      ...given,
      ...shared,
      title: given.title,
      ...{ original_author, original_name, original_author_id },
      state,
      ...(merge && {
        merge_commit: facts.mergeCommit,
        merge_time: merge.time,
        close_time: columns.close_time ?? merge.time,
        merger_id: (merge.merger && target.accountOf(merge.merger)) ?? null,
      }),
    },
    record.number,
  )
  await storeParts(tx, target, pull, record)
  if (facts.mergeCommit !== null)
    await insertFollowUp(tx, {
      pull_request_id: pull.id,
      repository_id,
      base_commit: null,
      deleter_id: null,
      scopes: null,
      token_uuid: null,
      due_time: app.clock.now(),
    })
  for (const review of record.reviews) await storeReview(tx, target, pull, review)
}

/** A title says that a pull request is a draft. */
function draftTitle({ settings }: ReposApp, title: string): string {
  const [prefix = ''] = settings.wipPrefixes
  return prefix === '' ? title : `${prefix} ${title}`
}

/** Stores a review. It never counts, since it gives no rights. */
async function storeReview(
  tx: Tx,
  target: Target,
  pull: PullRequest,
  record: ReviewRecord,
): Promise<void> {
  const { id: reviewer_id, ...original } = authorOf(target, record.author)
  const commit_id = record.commit || pull.head_commit
  const review = await insertReview(tx, {
    pull_request_id: pull.id,
    reviewer_id,
    team_id: null,
    ...original,
    state: record.state,
    commit_id,
    merge_base: commit_id === pull.head_commit ? pull.merge_base : '',
    official: 0,
    stale: Number(commit_id !== pull.head_commit),
    compared_head: pull.head_commit,
    compared_base: pull.merge_base,
    dismissed: Number(record.isDismissed),
    create_time: record.createTime,
    update_time: record.updateTime,
    body: bodyOf(target, record.body),
  })
  for (const comment of record.comments)
    await storeLineComment(tx, target, { reviewId: review.id, commitId: commit_id }, comment)
}

async function storeLineComment(
  tx: Tx,
  target: Target,
  { reviewId, commitId }: { readonly reviewId: number; readonly commitId: string },
  record: LineCommentRecord,
): Promise<void> {
  if (record.path === '') return target.leftOut('a comment names no file')
  const { id: poster_id, ...original } = authorOf(target, record.author)
  const commit = record.commit || commitId
  await insertReviewComment(tx, {
    review_id: reviewId,
    poster_id,
    ...original,
    // Who resolved is not known everywhere.
    resolver_id: record.isResolved ? target.importerId : null,
    path: record.path,
    side: record.side,
    line: record.line,
    commit_id: commit,
    original_commit_id: commit,
    create_time: record.createTime,
    update_time: record.updateTime,
    diff_hunk: bodyOf(target, record.diffHunk),
    body: bodyOf(target, record.body),
  })
}
