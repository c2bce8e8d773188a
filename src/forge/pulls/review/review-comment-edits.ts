import { transaction } from '../../../platform/database/database.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName } from '../../core/names.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { ReviewCommentEdit } from '../schema.ts'
import { rereadForReview } from './review-changes.ts'
import * as rows from './review-comment-edits.rows.ts'
import { checkMayChangeComment, findIn } from './review-comments.ts'
import { openReview } from './reviews.ts'

/** A comment of a review. */
export interface ReviewCommentPlace {
  /** Number of the review. */
  readonly id: number
  readonly commentId: number
}

/** An edit of a comment of a review, as its readers see it. */
interface ReviewCommentEditView {
  readonly edit: ReviewCommentEdit
  readonly editor: Owner
}

/**
 * Lists the edits of a comment of a review with the former texts, oldest first.
 *
 * @throws as `openReview`; REVIEW_COMMENT_NOT_FOUND
 */
export async function listReviewCommentEdits(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
  { id, commentId }: ReviewCommentPlace,
): Promise<ReviewCommentEditView[]> {
  const open = await openReview(app, caller, name, id, 'read')
  const comment = await findIn(app, open, commentId)
  const edits = await rows.listReviewCommentEdits(app.db, comment.id)
  const editors = await findOwnersByIds(app.db, [
    ...new Set(edits.flatMap(({ editor_id }) => editor_id ?? [])),
  ])
  return edits.map((edit) => ({ edit, editor: editors.get(edit.editor_id ?? 0) ?? GHOST }))
}

/**
 * Removes a former text of a comment of a review. The author and users with write access to pull
 * requests may do so.
 *
 * @throws as `openReview`; REVIEW_COMMENT_NOT_FOUND, REVIEW_COMMENT_DENIED, COMMENT_EDIT_NOT_FOUND
 */
export async function deleteReviewCommentEdit(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  { id, commentId }: ReviewCommentPlace,
  editId: number,
): Promise<void> {
  const open = await openReview(app, caller, name, id, 'take part')
  const comment = await findIn(app, open, commentId)
  checkMayChangeComment(caller, open, comment)
  await transaction(app.db, async (tx) => {
    await rereadForReview(tx, caller, open, 'nothing')
    if (!(await rows.deleteReviewCommentEdit(tx, comment.id, editId)))
      throw new DomainError('COMMENT_EDIT_NOT_FOUND')
  })
}
