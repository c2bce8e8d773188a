import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { Page, PullName, RepositoryName } from '../../core/names.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type OpenPull, openPull, openPulls, type PullNeed } from '../heads/open-pulls.ts'
import { newMentions } from '../heads/pull-changes.ts'
import { checkCommentText } from '../review/comment-lines.ts'
import {
  type ConversationNeed,
  changeReviews,
  checkConversation,
  type ReviewChange,
} from '../review/review-changes.ts'
import type { PullComment } from '../schema.ts'
import * as rows from './pull-comments.rows.ts'

/** A comment on a pull request, as its readers see it. */
export interface PullCommentView {
  readonly open: OpenRepository
  /** Of the pull request. */
  readonly number: number
  readonly comment: PullComment
  readonly poster: Owner
}

/** A page of a list. */
interface PullCommentPage {
  readonly comments: readonly PullCommentView[]
  /** Length of the whole list. */
  readonly total: number
}

/**
 * Lists the comments on a pull request as a whole, oldest first.
 *
 * @throws as `openPull`
 */
export async function listPullComments(
  app: ReposApp,
  caller: Caller,
  name: PullName,
  period: rows.CommentPeriod,
  page: Page,
): Promise<PullCommentPage> {
  const open = await openPull(app, caller, name, 'read')
  const comments = await rows.listPullComments(
    app.db,
    open.pull.id,
    period,
    page.offset,
    page.limit,
  )
  const total = await rows.countPullComments(app.db, open.pull.id, period)
  return { comments: await viewComments(app, open, numbered(open, comments)), total }
}

/**
 * Lists the comments on all pull requests of a repository as wholes, oldest first.
 *
 * @throws as `openPulls`
 */
export async function listRepositoryComments(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  period: rows.CommentPeriod,
  page: Page,
): Promise<PullCommentPage> {
  const open = await openPulls(app, caller, name)
  const { id, pull_comments_count } = open.repository
  const isWhole = period.since === undefined && period.before === undefined
  const total = isWhole
    ? pull_comments_count
    : await rows.countRepositoryComments(app.db, id, period)
  const comments = await rows.pageOfRepositoryComments(app.db, id, period, page, total)
  return { comments: await viewComments(app, open, comments), total }
}

/**
 * Returns one comment on a pull request.
 *
 * @throws as `openPulls`; ISSUE_COMMENT_NOT_FOUND
 */
export async function getPullComment(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  id: number,
): Promise<PullCommentView> {
  const { open, comment } = await openComment(app, caller, name, id, 'read')
  return viewComment(app, open, comment)
}

/**
 * Creates a comment on a pull request.
 *
 * @throws as `openPull`; USER_BLOCKED, CONVERSATION_LOCKED, INVALID_FIELD
 */
export async function createPullComment(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  body: string,
): Promise<PullCommentView> {
  const open = await openPull(app, caller, name, 'take part')
  await checkConversation(app.db, caller, open, 'voice')
  checkCommentText('body', body)
  const comment = await changeReviews<PullComment>(
    app,
    caller,
    open,
    {
      ...commentChange('created', 'voice'),
      concerns: (_, { id }) => ({ everybody: true, comment: id, mentioned: newMentions([body]) }),
    },
    (tx, pull, now) =>
      rows.insertPullComment(tx, {
        pull_request_id: pull.id,
        repository_id: pull.repository_id,
        poster_id: caller.user.id,
        create_time: now,
        update_time: now,
        body,
      }),
  )
  return viewComment(app, open, comment)
}

/**
 * Changes the text of a comment. The author and users with write access to pull requests may do so.
 *
 * @throws as `openPulls`; ISSUE_COMMENT_NOT_FOUND, REPOSITORY_ARCHIVED, ISSUE_COMMENT_DENIED,
 *   USER_BLOCKED, CONVERSATION_LOCKED, INVALID_FIELD
 */
export async function editPullComment(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  id: number,
  body: string,
): Promise<PullCommentView> {
  const { open, comment } = await openComment(app, caller, name, id, 'take part')
  checkMayChange(caller, open, comment)
  await checkConversation(app.db, caller, open, 'voice')
  checkCommentText('body', body)
  if (body === comment.body) return viewComment(app, open, comment)
  const edited = await changeReviews<PullComment>(
    app,
    caller,
    open,
    {
      ...commentChange('edited', 'voice'),
      concerns: () => ({
        everybody: false,
        comment: id,
        mentioned: newMentions([body], comment.body),
      }),
    },
    async (tx, _, now) => {
      const changed = await rows.updatePullComment(tx, id, { body, update_time: now })
      if (!changed) throw missing()
      return changed
    },
  )
  return viewComment(app, open, edited)
}

/**
 * Deletes a comment. The author and users with write access to pull requests may do so.
 *
 * @throws as `openPulls`; ISSUE_COMMENT_NOT_FOUND, REPOSITORY_ARCHIVED, ISSUE_COMMENT_DENIED
 */
export async function deletePullComment(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  id: number,
): Promise<void> {
  const { open, comment } = await openComment(app, caller, name, id, 'take part')
  checkMayChange(caller, open, comment)
  await changeReviews(app, caller, open, commentChange('deleted', 'nothing'), async (tx) => {
    if (!(await rows.deletePullComment(tx, id))) throw missing()
    return comment
  })
}

/** @param action the name in the events of webhooks. */
function commentChange(
  action: string,
  needs: ConversationNeed,
): ReviewChange<Pick<PullComment, 'id'>> {
  return {
    type: 'PULL_REQUEST_COMMENTED',
    needs,
    told: ({ id }) => [{ type: 'pull_request_comment', action, comment: id }],
  }
}

/** Opens a comment of a repository by its id, and its pull request. */
export async function openComment(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  id: number,
  needed: PullNeed,
): Promise<{ open: OpenPull; comment: PullComment }> {
  const { repository } = await openPulls(app, caller, name)
  const found = await rows.findPullComment(app.db, repository.id, id)
  if (!found) throw missing()
  const { number, ...comment } = found
  return { open: await openPull(app, caller, { ...name, number }, needed), comment }
}

/** @throws ISSUE_COMMENT_DENIED */
function checkMayChange(
  { user }: SignedIn,
  { access }: OpenPull,
  { poster_id }: PullComment,
): void {
  if (poster_id !== user.id && !suffices(access, 'write'))
    throw new DomainError('ISSUE_COMMENT_DENIED')
}

function missing(): DomainError {
  return new DomainError('ISSUE_COMMENT_NOT_FOUND')
}

function numbered(
  { pull: { number } }: OpenPull,
  comments: readonly PullComment[],
): rows.NumberedComment[] {
  return comments.map((comment) => ({ ...comment, number }))
}

async function viewComments(
  app: ReposApp,
  open: OpenRepository,
  comments: readonly rows.NumberedComment[],
): Promise<PullCommentView[]> {
  const ids = new Set(comments.flatMap(({ poster_id }) => poster_id ?? []))
  const posters = await findOwnersByIds(app.db, [...ids])
  return comments.map(({ number, ...comment }) => ({
    open,
    number,
    comment,
    poster: posters.get(comment.poster_id ?? 0) ?? GHOST,
  }))
}

async function viewComment(
  app: ReposApp,
  open: OpenPull,
  comment: PullComment,
): Promise<PullCommentView> {
  const [view] = await viewComments(app, open, numbered(open, [comment]))
  if (!view) throw new Error('a comment has no view')
  return view
}
