import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type ConversationReaction,
  ConversationReactionSchema,
  type Reaction,
  ReactionSchema,
  ReactionService,
} from '#gen/branchline/v1/reaction_service_pb.ts'
import { accountMessage } from '../accounts/users/accounts.message.ts'
import type { App } from '../app.ts'
import { type Caller, signedIn } from '../core/access.ts'
import { callerOf, restStatusKey } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { atSecond } from '../core/wire/times.ts'
import {
  addReaction,
  countAllReactions,
  listReactions,
  type ReactedText,
  type ReactionView,
  removeReaction,
} from './reactions.ts'

/** Implements ReactionService. */
function reactionService(app: App): ServiceImpl<typeof ReactionService> {
  const list = async (
    text: ReactedText,
    request: { page: number; limit: number },
    context: HandlerContext,
  ) => {
    const caller = callerOf(context)
    const page = readNumberedPage(app.settings, request)
    const { reactions, total } = await listReactions(app, caller, text, page)
    return {
      reactions: reactions.map((view) => reactionMessage(app, caller, view)),
      total: BigInt(total),
      limit: page.limit,
    }
  }
  const add = async (text: ReactedText, content: string, context: HandlerContext) => {
    const caller = signedIn(callerOf(context))
    const { isNew, ...view } = await addReaction(app, caller, text, content)
    if (!isNew) context.values.set(restStatusKey, 200)
    return reactionMessage(app, caller, view)
  }
  const remove = async (text: ReactedText, content: string, context: HandlerContext) => {
    await removeReaction(app, signedIn(callerOf(context)), text, content)
    return {}
  }
  return {
    async countReactions({ owner, repo, index }, context) {
      const name = { owner, repo, number: Number(index) }
      const counts = await countAllReactions(app, callerOf(context), name)
      return { counts: reactionCountMessages(counts) }
    },
    listIssueReactions: (request, context) => list(conversationOf(request), request, context),
    createIssueReaction: (request, context) =>
      add(conversationOf(request), request.content, context),
    deleteIssueReaction: (request, context) =>
      remove(conversationOf(request), request.content, context),
    listIssueCommentReactions: (request, context) => list(commentOf(request), request, context),
    createIssueCommentReaction: (request, context) =>
      add(commentOf(request), request.content, context),
    deleteIssueCommentReaction: (request, context) =>
      remove(commentOf(request), request.content, context),
  }
}

function conversationOf({ owner, repo, index }: { owner: string; repo: string; index: bigint }) {
  return { conversation: { owner, repo, number: Number(index) } }
}

function commentOf({ owner, repo, id }: { owner: string; repo: string; id: bigint }) {
  return { repository: { owner, repo }, commentId: Number(id) }
}

/** Returns the messages of counted reactions. */
export function reactionCountMessages(
  counts: Awaited<ReturnType<typeof countAllReactions>>,
): ConversationReaction[] {
  return counts.map(({ comment, content, count, reacted }) =>
    create(ConversationReactionSchema, {
      comment: BigInt(comment),
      content,
      count: BigInt(count),
      reacted: reacted === 1,
    }),
  )
}

function reactionMessage(app: App, viewer: Caller, { reaction, user }: ReactionView): Reaction {
  return create(ReactionSchema, {
    user: accountMessage(app, viewer, user),
    content: reaction.content,
    createdAt: atSecond(reaction.create_time),
  })
}

export const reactions = defineService(ReactionService, reactionService)
