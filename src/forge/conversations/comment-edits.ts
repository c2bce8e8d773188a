import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import type { Owner } from '../accounts/schema.ts'
import { findOwnersByIds } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { RepositoryName } from '../core/names.ts'
import * as rows from './comment-edits.rows.ts'
import { checkMayChange, openComment } from './issue-comments.ts'
import type { ConversationsApp } from './ports.ts'
import type { CommentEdit } from './schema.ts'

/** An edit of a comment, as its readers see it. */
interface CommentEditView {
  readonly edit: CommentEdit
  readonly editor: Owner
}

/**
 * Lists the edits of a comment with the former texts, oldest first.
 *
 * @throws as `openComment`
 */
export async function listCommentEdits(
  app: ConversationsApp,
  caller: Caller,
  name: RepositoryName,
  commentId: number,
): Promise<CommentEditView[]> {
  const { comment } = await openComment(app, caller, name, commentId, 'read')
  const edits = await rows.listCommentEdits(app.db, comment.id)
  const editors = await findOwnersByIds(app.db, [
    ...new Set(edits.flatMap(({ editor_id }) => editor_id ?? [])),
  ])
  return edits.map((edit) => ({ edit, editor: editors.get(edit.editor_id ?? 0) ?? GHOST }))
}

/**
 * Removes a former text of a comment. The author and users with write access to conversations may do
 * so.
 *
 * @throws as `openComment`; ISSUE_COMMENT_DENIED, COMMENT_EDIT_NOT_FOUND
 */
export async function deleteCommentEdit(
  app: ConversationsApp,
  caller: SignedIn,
  name: RepositoryName,
  commentId: number,
  id: number,
): Promise<void> {
  const { open, comment } = await openComment(app, caller, name, commentId, 'take part')
  checkMayChange(caller, open, comment)
  await transaction(app.db, async (tx: Tx) => {
    await open.beginChange(tx)
    if (!(await rows.deleteCommentEdit(tx, comment.id, id)))
      throw new DomainError('COMMENT_EDIT_NOT_FOUND')
  })
}
