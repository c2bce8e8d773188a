import type { Tx } from '../../platform/database/schema.ts'
import type { Owner } from '../accounts/schema.ts'
import { findOwnersByIds } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import { checkLength } from '../accounts/users/user-fields.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { ConversationName, Page, RepositoryName } from '../core/names.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import { changeWatched } from '../repositories/activity/repository-events.ts'
import { deleteDiscardedFiles } from '../repositories/attachments/storage-deletions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { attachmentsOfComments } from './attachments.rows.ts'
import { insertCommentEdit } from './comment-edits.rows.ts'
import { newMentions } from './concerns.ts'
import {
  type ConversationNeed,
  checkConversation,
  rereadConversation,
} from './conversation-needs.ts'
import { openConversations, readsKind } from './conversation-readers.ts'
import { checkIssueAccess } from './issue-access.ts'
import * as rows from './issue-comments.rows.ts'
import { insertActor } from './participants.rows.ts'
import type {
  ConversationChange,
  ConversationRight,
  ConversationsApp,
  OpenConversation,
} from './ports.ts'
import { checkRate, countContribution } from './rates.ts'
import type { Conversation, IssueAttachment, IssueComment } from './schema.ts'
import { recordReferences } from './text-references.ts'
import { linkUploads } from './unlinked-uploads.ts'

/** Maximum length of a review or a comment. */
export const MAX_TEXT_CHARACTERS = 65_536

/** The number of former texts that a comment keeps. */
export const MAX_EDITS = 20

/** @throws INVALID_FIELD if the text is blank or too long. */
export function checkCommentText(field: string, text: string): void {
  if (text.trim() === '') throw new DomainError('INVALID_FIELD', { field, rule: 'Required' })
  checkLength(field, text, MAX_TEXT_CHARACTERS)
}

/** A comment on a conversation, as its readers see it. */
export interface IssueCommentView {
  readonly open: OpenRepository
  readonly conversation: Pick<Conversation, 'number' | 'is_pull'>
  readonly comment: IssueComment
  readonly poster: Owner
  /** Attachments, oldest first. */
  readonly assets: readonly IssueAttachment[]
}

/** A page of a list. */
interface IssueCommentPage {
  readonly comments: readonly IssueCommentView[]
  /** Length of the whole list. */
  readonly total: number
}

/**
 * Lists the comments on a conversation as a whole, oldest first.
 *
 * @throws as `Conversations.open`
 */
export async function listIssueComments(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
  period: rows.CommentPeriod,
  page: Page,
): Promise<IssueCommentPage> {
  const open = await app.conversations.open(app, caller, name, 'read')
  const { id } = open.conversation
  const comments = await rows.listIssueComments(app.db, id, period, page)
  // A page that is not full is the end of the list.
  const isEnd = comments.length < page.limit && (comments.length > 0 || page.offset === 0)
  const [total, views] = await Promise.all([
    isEnd ? page.offset + comments.length : rows.countIssueComments(app.db, id, period),
    viewComments(app, open, numbered(open, comments)),
  ])
  return { comments: views, total }
}

/**
 * Lists the comments on all conversations of a repository as wholes, oldest first.
 *
 * @throws as `openConversations`
 */
export async function listRepositoryComments(
  app: ConversationsApp,
  caller: Caller,
  name: RepositoryName,
  period: rows.CommentPeriod,
  page: Page,
): Promise<IssueCommentPage> {
  const open = await openConversations(app, caller, name)
  const { id, comments_count } = open.repository
  const selection = { repositoryId: id, kinds: open.kinds, ...period }
  const isWhole = open.kinds.issues && open.kinds.pulls && !period.since && !period.before
  const total = isWhole ? comments_count : await rows.countRepositoryComments(app.db, selection)
  const comments = await rows.pageOfRepositoryComments(app.db, selection, page, total)
  return { comments: await viewComments(app, open, comments), total }
}

/**
 * Returns one comment on a conversation.
 *
 * @throws as `openConversations`; ISSUE_COMMENT_NOT_FOUND
 */
export async function getIssueComment(
  app: ConversationsApp,
  caller: Caller,
  name: RepositoryName,
  id: number,
): Promise<IssueCommentView> {
  const { open, comment } = await openComment(app, caller, name, id, 'read')
  return viewComment(app, open, comment)
}

/** A comment as a client requests it. */
export interface IssueCommentDraft {
  readonly body: string
  /** The uuids of uploads of the caller. */
  readonly attachments: readonly string[]
}

/**
 * Creates a comment on a conversation.
 *
 * @throws as `Conversations.open`; USER_BLOCKED, CONVERSATION_LOCKED, INVALID_FIELD,
 *   ISSUE_RATE_LIMITED, ATTACHMENT_NOT_FOUND, TOO_MANY_ATTACHMENTS; on an issue as
 *   `checkIssueAccess`
 */
export async function createIssueComment(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  { body, attachments }: IssueCommentDraft,
): Promise<IssueCommentView> {
  const open = await app.conversations.open(app, caller, name, 'take part')
  await checkConversation(app.db, caller, open, open.conversation, 'voice')
  if (open.conversation.is_pull === 0) await checkIssueAccess(app, caller, open)
  checkCommentText('body', body)
  await checkRate(app, app.db, { caller, open }, 'TEXT')
  const comment = await changeComments(
    app,
    caller,
    open,
    'voice',
    async (tx, conversation, now) => {
      await countContribution(app, tx, { caller, open }, 'TEXT')
      const { id } = conversation
      const created = await rows.insertIssueComment(tx, {
        issue_id: id,
        repository_id: open.repository.id,
        poster_id: caller.user.id,
        create_time: now,
        update_time: now,
        body,
      })
      const uploads = { repositoryId: open.repository.id, uuids: attachments }
      const holder = { conversationId: id, commentId: created.id }
      await linkUploads(app, tx, caller, uploads, holder)
      const stored = { conversation, commentId: created.id, text: { body }, isNew: true }
      await recordReferences(app, tx, caller, stored)
      const concerns = { everybody: true, comment: created.id, mentioned: newMentions([body]) }
      return { comment: created, action: 'created', body, concerns }
    },
  )
  return viewComment(app, open, comment)
}

/**
 * Changes the text of a comment. The author and users with write access to conversations may do so.
 *
 * @throws as `openConversations`; ISSUE_COMMENT_NOT_FOUND, REPOSITORY_ARCHIVED, ISSUE_COMMENT_DENIED,
 *   USER_BLOCKED, CONVERSATION_LOCKED, INVALID_FIELD
 */
export async function editIssueComment(
  app: ConversationsApp,
  caller: SignedIn,
  name: RepositoryName,
  id: number,
  body: string,
): Promise<IssueCommentView> {
  const { open, comment } = await openComment(app, caller, name, id, 'take part')
  checkMayChange(caller, open, comment)
  await checkConversation(app.db, caller, open, open.conversation, 'voice')
  checkCommentText('body', body)
  if (body === comment.body) return viewComment(app, open, comment)
  const edited = await changeComments(app, caller, open, 'voice', async (tx, conversation, now) => {
    const former = await rows.findIssueCommentById(tx, id)
    const changed = await rows.updateIssueComment(tx, id, { body, update_time: now })
    if (!former || !changed) throw missing()
    const edit = { comment_id: id, editor_id: caller.user.id, body: former.body, create_time: now }
    await insertCommentEdit(tx, edit, MAX_EDITS)
    const stored = { conversation, commentId: id, text: { body }, isNew: false }
    await recordReferences(app, tx, caller, stored)
    const mentioned = newMentions([body], comment.body)
    const concerns = { everybody: false, comment: id, mentioned }
    return { comment: changed, action: 'edited', formerBody: comment.body, concerns }
  })
  return viewComment(app, open, edited)
}

/**
 * Deletes a comment. The author and users with write access to conversations may do so.
 *
 * @throws as `openConversations`; ISSUE_COMMENT_NOT_FOUND, REPOSITORY_ARCHIVED, ISSUE_COMMENT_DENIED
 */
export async function deleteIssueComment(
  app: ConversationsApp,
  caller: SignedIn,
  name: RepositoryName,
  id: number,
): Promise<void> {
  const { open, comment } = await openComment(app, caller, name, id, 'take part')
  checkMayChange(caller, open, comment)
  await changeComments(app, caller, open, 'nothing', async (tx) => {
    if (!(await rows.deleteIssueComment(tx, id))) throw missing()
    return { comment, action: 'deleted' }
  })
  deleteDiscardedFiles(app)
}

/** A changed comment, and what is recorded of the change. */
type CommentChange = Pick<
  Extract<ConversationChange, { type: 'comment' }>,
  'action' | 'body' | 'concerns' | 'formerBody'
> & {
  readonly comment: IssueComment
}

/** Changes comments, and makes the caller a participant. */
async function changeComments(
  app: ConversationsApp,
  caller: SignedIn,
  open: OpenConversation,
  needs: ConversationNeed,
  work: (tx: Tx, conversation: Conversation, now: number) => Promise<CommentChange>,
): Promise<IssueComment> {
  return changeWatched(app, async (tx) => {
    const { conversation, record } = await rereadConversation(tx, caller, open, needs)
    const { comment, ...change } = await work(tx, conversation, nowSeconds(app.clock))
    await insertActor(tx, conversation.id, caller.user.id)
    await record(caller.user.id, { type: 'comment', commentId: comment.id, ...change })
    return comment
  })
}

/** Returns comments by their ids, of conversations that the caller may read, by id. */
export async function viewCommentsById(
  app: ReposApp,
  ids: readonly number[],
  conversations: ReadonlyMap<number, OpenedConversation>,
): Promise<ReadonlyMap<number, IssueCommentView>> {
  const comments = await rows.findIssueComments(app.db, ids)
  const posters = await findOwnersByIds(app.db, [
    ...new Set(comments.flatMap(({ poster_id }) => poster_id ?? [])),
  ])
  const assets = await attachmentsOfComments(app.db, ids)
  return new Map(
    comments.flatMap((comment) => {
      const opened = conversations.get(comment.issue_id)
      const poster = posters.get(comment.poster_id ?? 0) ?? GHOST
      const view = { comment, poster, assets: assets.get(comment.id) ?? [] }
      return opened ? [[comment.id, { ...opened, ...view }] as const] : []
    }),
  )
}

/** A conversation that the caller may read, and its repository. */
type OpenedConversation = Pick<IssueCommentView, 'open' | 'conversation'>

/** Opens a comment of a repository by its id, and its conversation. */
export async function openComment(
  app: ConversationsApp,
  caller: Caller,
  name: RepositoryName,
  id: number,
  needed: ConversationRight,
): Promise<{ open: OpenConversation; comment: IssueComment }> {
  const { repository, units } = await openConversations(app, caller, name)
  const found = await rows.findIssueComment(app.db, repository.id, id)
  if (!found || !readsKind(units, found)) throw missing()
  const { number, is_pull: _, ...comment } = found
  return { open: await app.conversations.open(app, caller, { ...name, number }, needed), comment }
}

/** @throws ISSUE_COMMENT_DENIED */
export function checkMayChange(
  { user }: SignedIn,
  { access }: OpenConversation,
  { poster_id }: IssueComment,
): void {
  if (poster_id !== user.id && !suffices(access, 'write'))
    throw new DomainError('ISSUE_COMMENT_DENIED')
}

function missing(): DomainError {
  return new DomainError('ISSUE_COMMENT_NOT_FOUND')
}

function numbered(
  { conversation: { number, is_pull } }: OpenConversation,
  comments: readonly IssueComment[],
): rows.NumberedComment[] {
  return comments.map((comment) => ({ ...comment, number, is_pull }))
}

async function viewComments(
  app: ConversationsApp,
  open: OpenRepository,
  comments: readonly rows.NumberedComment[],
): Promise<IssueCommentView[]> {
  const ids = new Set(comments.flatMap(({ poster_id }) => poster_id ?? []))
  const posters = await findOwnersByIds(app.db, [...ids])
  const assets = await attachmentsOfComments(
    app.db,
    comments.map(({ id }) => id),
  )
  return comments.map(({ number, is_pull, ...comment }) => ({
    open,
    conversation: { number, is_pull },
    comment,
    poster: posters.get(comment.poster_id ?? 0) ?? GHOST,
    assets: assets.get(comment.id) ?? [],
  }))
}

async function viewComment(
  app: ConversationsApp,
  open: OpenConversation,
  comment: IssueComment,
): Promise<IssueCommentView> {
  const [view] = await viewComments(app, open, numbered(open, [comment]))
  if (!view) throw new Error('a comment has no view')
  return view
}
