import type { Tx } from '../../platform/database/schema.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { ConversationName, RepositoryName } from '../core/names.ts'
import { checkNotArchived } from '../repositories/access/permissions.ts'
import { changeWatched } from '../repositories/activity/repository-events.ts'
import { deleteDiscardedFiles } from '../repositories/attachments/storage-deletions.ts'
import { storeFile } from '../repositories/attachments/stored-files.ts'
import {
  type AttachmentUpload,
  checkCount,
  checkFileName,
  uploadRules,
} from './attachment-rules.ts'
import * as rows from './attachments.rows.ts'
import {
  type ConversationNeed,
  checkConversation,
  rereadConversation,
} from './conversation-needs.ts'
import { updateIssueComment } from './issue-comments.rows.ts'
import { openComment } from './issue-comments.ts'
import type { ConversationsApp, OpenConversation } from './ports.ts'
import type { IssueAttachment } from './schema.ts'

/** A conversation, or a comment by its id. */
export type AttachmentPlace = ConversationName | CommentName

interface CommentName extends RepositoryName {
  readonly commentId: number
}

/** A conversation or a comment that the caller may read. */
interface OpenHolder {
  readonly open: OpenConversation
  readonly holder: rows.AttachmentHolder
  /** Who wrote it; null if the account was deleted. */
  readonly authorId: number | null
}

async function openHolder(
  app: ConversationsApp,
  caller: Caller,
  place: AttachmentPlace,
): Promise<OpenHolder> {
  if ('commentId' in place) {
    const { open, comment } = await openComment(app, caller, place, place.commentId, 'read')
    const holder = { conversationId: open.conversation.id, commentId: comment.id }
    return { open, holder, authorId: comment.poster_id }
  }
  const open = await app.conversations.open(app, caller, place, 'read')
  const { id, poster_id } = open.conversation
  return { open, holder: { conversationId: id, commentId: null }, authorId: poster_id }
}

/**
 * Opens a conversation or a comment for a change of its attachments.
 *
 * @throws as `openHolder`; ATTACHMENT_DENIED, REPOSITORY_ARCHIVED, USER_BLOCKED, CONVERSATION_LOCKED
 */
async function openForChange(
  app: ConversationsApp,
  caller: SignedIn,
  place: AttachmentPlace,
  needs: ConversationNeed,
): Promise<OpenHolder> {
  const opened = await openHolder(app, caller, place)
  const { open, authorId } = opened
  if (authorId !== caller.user.id && !suffices(open.access, 'write'))
    throw new DomainError('ATTACHMENT_DENIED')
  checkNotArchived(open.repository)
  await checkConversation(app.db, caller, open, open.conversation, needs)
  return opened
}

/**
 * Lists the attachments of a conversation or a comment, oldest first.
 *
 * @throws as `Conversations.open`; ISSUE_COMMENT_NOT_FOUND
 */
export async function listAttachments(
  app: ConversationsApp,
  caller: Caller,
  place: AttachmentPlace,
): Promise<readonly IssueAttachment[]> {
  const { conversationId, commentId } = (await openHolder(app, caller, place)).holder
  const found =
    commentId === null
      ? (await rows.attachmentsOfConversations(app.db, [conversationId])).get(conversationId)
      : (await rows.attachmentsOfComments(app.db, [commentId])).get(commentId)
  return found ?? []
}

/**
 * Returns an attachment of a conversation or a comment.
 *
 * @throws as `listAttachments`; ATTACHMENT_NOT_FOUND
 */
export async function getAttachment(
  app: ConversationsApp,
  caller: Caller,
  place: AttachmentPlace,
  id: number,
): Promise<IssueAttachment> {
  const { holder } = await openHolder(app, caller, place)
  return found(await rows.findIssueAttachment(app.db, holder, id))
}

/**
 * Attaches a file to a conversation or a comment while it is uploaded. Its author and users with
 * write access to conversations may do so.
 *
 * @param read starts reading the upload, after the caller was checked.
 * @throws as `openForChange`; INVALID_FIELD, ATTACHMENT_TYPE_REFUSED, ATTACHMENT_TOO_LARGE,
 *   TOO_MANY_ATTACHMENTS, QUOTA_EXCEEDED
 */
export async function addAttachment(
  app: ConversationsApp,
  caller: SignedIn,
  place: AttachmentPlace,
  read: () => Promise<AttachmentUpload>,
): Promise<IssueAttachment> {
  const { open, holder } = await openForChange(app, caller, place, 'voice')
  const { name, content } = await read()
  checkFileName(app, name)
  checkCount(await rows.countAttachments(app.db, holder.conversationId), 1)
  const repositoryId = open.repository.id
  const upload = { caller, repositoryId, kind: 'issues', content } as const
  return storeFile(app, upload, uploadRules(app), async (file, checkQuota) => {
    // An upload can take hours, and the permissions at its end count.
    const opened = await openForChange(app, caller, place, 'voice')
    // Another issue may have the place by now.
    if (opened.holder.conversationId !== holder.conversationId)
      throw new DomainError('ISSUE_NOT_FOUND')
    return change(app, caller, opened, 'voice', async (tx) => {
      await checkQuota(tx)
      checkCount(await rows.countAttachments(tx, holder.conversationId), 1)
      return rows.insertIssueAttachment(tx, {
        repository_id: repositoryId,
        issue_id: holder.conversationId,
        comment_id: holder.commentId,
        uploader_id: caller.user.id,
        ...file,
        name,
        create_time: nowSeconds(app.clock),
      })
    })
  })
}

/**
 * Renames an attachment. An empty name changes nothing.
 *
 * @throws as `openForChange`; ATTACHMENT_NOT_FOUND, INVALID_FIELD, ATTACHMENT_TYPE_REFUSED
 */
export async function renameAttachment(
  app: ConversationsApp,
  caller: SignedIn,
  place: AttachmentPlace,
  id: number,
  name: string,
): Promise<IssueAttachment> {
  const opened = await openForChange(app, caller, place, 'voice')
  const attachment = found(await rows.findIssueAttachment(app.db, opened.holder, id))
  if (name === '' || name === attachment.name) return attachment
  checkFileName(app, name)
  return change(app, caller, opened, 'voice', async (tx) =>
    found(await rows.renameIssueAttachment(tx, id, name)),
  )
}

/**
 * Deletes an attachment.
 *
 * @throws as `openForChange`; ATTACHMENT_NOT_FOUND
 */
export async function deleteAttachment(
  app: ConversationsApp,
  caller: SignedIn,
  place: AttachmentPlace,
  id: number,
): Promise<void> {
  const opened = await openForChange(app, caller, place, 'nothing')
  await change(app, caller, opened, 'nothing', async (tx) => {
    found(await rows.findIssueAttachment(tx, opened.holder, id))
    await rows.deleteIssueAttachment(tx, id)
  })
  deleteDiscardedFiles(app)
}

/** Changes attachments, and records that their conversation or comment was edited. */
function change<T>(
  app: ConversationsApp,
  caller: SignedIn,
  { open, holder: { commentId } }: OpenHolder,
  needs: ConversationNeed,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return changeWatched(app, async (tx) => {
    const { record } = await rereadConversation(tx, caller, open, needs)
    if (commentId !== null) {
      const times = { update_time: nowSeconds(app.clock) }
      if (!(await updateIssueComment(tx, commentId, times)))
        throw new DomainError('ISSUE_COMMENT_NOT_FOUND')
    }
    const result = await work(tx)
    await record(
      caller.user.id,
      commentId === null
        ? { type: 'attachments' }
        : { type: 'comment', action: 'edited', commentId },
    )
    return result
  })
}

function found<T>(attachment: T | undefined): T {
  if (attachment === undefined) throw new DomainError('ATTACHMENT_NOT_FOUND')
  return attachment
}
