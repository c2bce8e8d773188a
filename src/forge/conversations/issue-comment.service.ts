import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type IssueComment, IssueCommentSchema } from '#gen/branchline/v1/issue_comment_pb.ts'
import {
  CreateIssueCommentRequestSchema,
  IssueCommentService,
} from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { accountMessage } from '../accounts/users/accounts.message.ts'
import type { App } from '../app.ts'
import { type Caller, signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { atSecond, secondsOf } from '../core/wire/times.ts'
import { attachmentMessage } from '../repositories/attachments/attachment.message.ts'
import { deleteCommentEdit, listCommentEdits } from './comment-edits.ts'
import { conversationUrls } from './conversation-urls.message.ts'
import {
  createIssueComment,
  deleteIssueComment,
  editIssueComment,
  getIssueComment,
  type IssueCommentView,
  listIssueComments,
  listRepositoryComments,
} from './issue-comments.ts'

import { madeOnce } from './issue-requests.ts'
import { repeatableOf } from './repeatable.message.ts'

/** Maximum number of comments in a response to clients that request no page. */
const MAX_WHOLE_LIST = 1000

/** Implements IssueCommentService. */
function issueCommentService(app: App): ServiceImpl<typeof IssueCommentService> {
  return {
    async listIssueComments({ owner, repo, index, since, before, ...page }, context) {
      const caller = callerOf(context)
      const isWhole = page.page === 0 && page.limit === 0
      const { offset, limit } = isWhole
        ? { offset: 0, limit: MAX_WHOLE_LIST }
        : readNumberedPage(app.settings, page)
      const period = { since: secondsOf(since), before: secondsOf(before) }
      const found = await listIssueComments(
        app,
        caller,
        { owner, repo, number: Number(index) },
        period,
        { offset, limit },
      )
      return {
        comments: found.comments.map((view) => commentMessage(app, caller, view)),
        total: BigInt(found.total),
        limit,
      }
    },

    async listRepositoryComments({ owner, repo, since, before, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const period = { since: secondsOf(since), before: secondsOf(before) }
      const found = await listRepositoryComments(app, caller, { owner, repo }, period, page)
      return {
        comments: found.comments.map((view) => commentMessage(app, caller, view)),
        total: BigInt(found.total),
        limit: page.limit,
      }
    },

    async createIssueComment(request, context) {
      const caller = signedIn(callerOf(context))
      const { owner, repo, index, ...draft } = request
      const name = { owner, repo, number: Number(index) }
      const repeatable = repeatableOf(CreateIssueCommentRequestSchema, request)
      const id = await madeOnce(app, caller, repeatable, async (app) => {
        const { comment } = await createIssueComment(app, caller, name, draft)
        return comment.id
      })
      return commentMessage(app, caller, await getIssueComment(app, caller, name, id))
    },

    async getIssueComment({ owner, repo, id }, context) {
      const caller = callerOf(context)
      return commentMessage(
        app,
        caller,
        await getIssueComment(app, caller, { owner, repo }, Number(id)),
      )
    },

    async editIssueComment({ owner, repo, id, body }, context) {
      const caller = signedIn(callerOf(context))
      return commentMessage(
        app,
        caller,
        await editIssueComment(app, caller, { owner, repo }, Number(id), body),
      )
    },

    async deleteIssueComment({ owner, repo, id }, context) {
      await deleteIssueComment(app, signedIn(callerOf(context)), { owner, repo }, Number(id))
      return {}
    },

    async listCommentEdits({ owner, repo, id }, context) {
      const caller = callerOf(context)
      const views = await listCommentEdits(app, caller, { owner, repo }, Number(id))
      return {
        edits: views.map(({ edit, editor }) => ({
          id: BigInt(edit.id),
          user: accountMessage(app, caller, editor),
          body: edit.body,
          createdAt: atSecond(edit.create_time),
        })),
      }
    },

    async deleteCommentEdit({ owner, repo, id, edit }, context) {
      const caller = signedIn(callerOf(context))
      await deleteCommentEdit(app, caller, { owner, repo }, Number(id), Number(edit))
      return {}
    },
  }
}

/** Returns a comment on a conversation as a viewer may see it. */
export function commentMessage(
  app: App,
  viewer: Caller,
  { open, conversation, comment, poster, assets }: IssueCommentView,
): IssueComment {
  const { page, ...urls } = conversationUrls(app, open, conversation)
  return create(IssueCommentSchema, {
    id: BigInt(comment.id),
    htmlUrl: `${page}#issuecomment-${comment.id}`,
    ...urls,
    user: accountMessage(app, viewer, poster),
    originalAuthor: comment.original_author,
    originalAuthorId: BigInt(comment.original_author_id),
    body: comment.body,
    assets: assets.map((asset) => attachmentMessage(app, asset)),
    createdAt: atSecond(comment.create_time),
    updatedAt: atSecond(comment.update_time),
  })
}

export const issueComments = defineService(IssueCommentService, issueCommentService)
