import { numbersOf, prepareQuery } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { ContentStore, StoreChange } from '../repositories/attachments/schema.ts'
import { grouped } from './conversations.rows.ts'
import type { IssueAttachment, NewIssueAttachment } from './schema.ts'

/** What attachments belong to: a conversation itself, or a comment on the conversation. */
export interface AttachmentHolder {
  readonly conversationId: number
  /** Null for the conversation itself. */
  readonly commentId: number | null
}

/** Returns the attachments of conversations, without those of their comments, oldest first. */
export async function attachmentsOfConversations(
  db: Db,
  conversationIds: readonly number[],
): Promise<ReadonlyMap<number, IssueAttachment[]>> {
  if (conversationIds.length === 0) return new Map()
  const found = await ofConversations(db, JSON.stringify(conversationIds))
  return grouped(found.map((attachment) => [attachment.issue_id ?? 0, attachment]))
}

const ofConversations = prepareQuery((db, conversationIds: string) =>
  db
    .selectFrom('issue_attachments')
    .selectAll()
    .where('issue_id', 'in', numbersOf(conversationIds))
    .where('comment_id', 'is', null)
    .orderBy('id'),
)

/** Returns the attachments of comments, oldest first. */
export async function attachmentsOfComments(
  db: Db,
  commentIds: readonly number[],
): Promise<ReadonlyMap<number, IssueAttachment[]>> {
  if (commentIds.length === 0) return new Map()
  const found = await ofComments(db, JSON.stringify(commentIds))
  return grouped(found.map((attachment) => [attachment.comment_id ?? 0, attachment]))
}

const ofComments = prepareQuery((db, commentIds: string) =>
  db
    .selectFrom('issue_attachments')
    .selectAll()
    .where('comment_id', 'in', numbersOf(commentIds))
    .orderBy('id'),
)

/** Returns the attachments of the comments of conversations by the id of the comment, oldest first. */
export async function attachmentsOfIssueComments(
  db: Db,
  conversationIds: readonly number[],
): Promise<ReadonlyMap<number, IssueAttachment[]>> {
  const found = await db
    .selectFrom('issue_attachments')
    .selectAll()
    .where('issue_id', 'in', numbersOf(JSON.stringify(conversationIds)))
    .where('comment_id', 'is not', null)
    .orderBy('id')
    .execute()
  return grouped(found.map((attachment) => [attachment.comment_id ?? 0, attachment]))
}

/** Returns the attachment of a holder with an id. */
export function findIssueAttachment(
  db: Db,
  { conversationId, commentId }: AttachmentHolder,
  id: number,
): Promise<IssueAttachment | undefined> {
  return db
    .selectFrom('issue_attachments')
    .selectAll()
    .where('id', '=', id)
    .where('issue_id', '=', conversationId)
    .where('comment_id', commentId === null ? 'is' : '=', commentId)
    .executeTakeFirst()
}

/** Returns the attachment of a download URL. */
export function findAttachmentByUuid(db: Db, uuid: string): Promise<IssueAttachment | undefined> {
  return db.selectFrom('issue_attachments').selectAll().where('uuid', '=', uuid).executeTakeFirst()
}

/** Returns the number of attachments of a conversation, with those of its comments. */
export async function countAttachments(db: Db, conversationId: number): Promise<number> {
  const { count } = await db
    .selectFrom('issue_attachments')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('issue_id', '=', conversationId)
    .executeTakeFirstOrThrow()
  return count
}

/** Returns the number of uploads of a user that nothing has taken yet. */
export async function countUnlinked(db: Db, uploaderId: number): Promise<number> {
  const { count } = await db
    .selectFrom('issue_attachments')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('uploader_id', '=', uploaderId)
    .where('issue_id', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

export function insertIssueAttachment(
  tx: Tx,
  attachment: NewIssueAttachment,
): Promise<IssueAttachment> {
  return tx
    .insertInto('issue_attachments')
    .values(attachment)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** An upload that nothing has taken yet, as its uploader names it. */
interface UnlinkedUpload {
  readonly uuid: string
  readonly repositoryId: number
  readonly uploaderId: number
  /** Unix seconds. The upload is not older than this. */
  readonly sinceTime: number
}

/** Gives an upload to a holder. @returns whether there is such an upload. */
export async function linkUpload(
  tx: Tx,
  { uuid, repositoryId, uploaderId, sinceTime }: UnlinkedUpload,
  { conversationId, commentId }: AttachmentHolder,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('issue_attachments')
    .set({ issue_id: conversationId, comment_id: commentId })
    .where('uuid', '=', uuid)
    .where('repository_id', '=', repositoryId)
    .where('uploader_id', '=', uploaderId)
    .where('issue_id', 'is', null)
    .where('create_time', '>=', sinceTime)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Renames an attachment. Returns undefined if it has been deleted. */
export function renameIssueAttachment(
  tx: Tx,
  id: number,
  name: string,
): Promise<IssueAttachment | undefined> {
  return tx
    .updateTable('issue_attachments')
    .set({ name })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Counts a download. */
export async function countAttachmentDownload(db: Db, id: number): Promise<void> {
  await db
    .updateTable('issue_attachments')
    .set((eb) => ({ download_count: eb('download_count', '+', 1) }))
    .where('id', '=', id)
    .execute()
}

export async function deleteIssueAttachment(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('issue_attachments').where('id', '=', id).execute()
}

/** Returns the files of a conversation and of its comments, in a fixed order. */
export function filesOfConversation(
  db: Db,
  conversationId: number,
): Promise<Pick<IssueAttachment, 'uuid' | 'store'>[]> {
  return db
    .selectFrom('issue_attachments')
    .select(['uuid', 'store'])
    .where('issue_id', '=', conversationId)
    .orderBy('id')
    .execute()
}

/** Deletes uploads before a time, in Unix seconds, that nothing has taken. */
export async function deleteUnlinkedBefore(tx: Tx, time: number): Promise<void> {
  await tx
    .deleteFrom('issue_attachments')
    .where('issue_id', 'is', null)
    .where('create_time', '<', time)
    .execute()
}

/** Changes the store of an attachment. @returns false if the row is not as it was. */
export async function setStoreOfAttachment(
  tx: Tx,
  row: { readonly id: number; readonly repository_id: number },
  { from, to }: StoreChange,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('issue_attachments')
    .set({ store: to })
    .where('id', '=', row.id)
    .where('repository_id', '=', row.repository_id)
    .where('store', '=', from)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Names the store that has all files. */
export async function setStoreOfAttachments(tx: Tx, store: ContentStore): Promise<void> {
  await tx.updateTable('issue_attachments').set({ store }).where('store', '<>', store).execute()
}

/**
 * Returns a page of all attachments, sorted by uuid.
 *
 * @param after the last uuid of the previous page; empty for the first page
 */
export function pageOfIssueAttachments(
  db: Db,
  after: string,
  limit: number,
): Promise<Pick<IssueAttachment, 'id' | 'uuid' | 'repository_id' | 'bytes' | 'store'>[]> {
  return db
    .selectFrom('issue_attachments')
    .select(['id', 'uuid', 'repository_id', 'bytes', 'store'])
    .where('uuid', '>', after)
    .orderBy('uuid')
    .limit(limit)
    .execute()
}
