import type { ServiceImpl } from '@connectrpc/connect'
import { ConversationService } from '#gen/branchline/v1/conversation_service_pb.ts'
import type { App } from '../app.ts'
import { commentMessage } from '../conversations/issue-comment.service.ts'
import { reactionCountMessages } from '../conversations/reaction.service.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { lookOf } from '../pulls/lifecycle/pull-request.service.ts'
import { pullRequestMessage } from '../pulls/lists/pull-request.message.ts'
import { reviewCommentMessage, reviewMessage } from '../pulls/review/review.service.ts'
import { repositoryEventCursor } from '../repositories/activity/repository-event.service.ts'
import { statusMessage } from '../repositories/commits/commit-status.service.ts'
import { repositoryMessage } from '../repositories/lifecycle/repository.message.ts'
import { conversationMessage } from './issue.message.ts'
import { timelineMessages } from './issue.service.ts'
import { getWholeConversation } from './whole-conversations.ts'

/** Implements ConversationService. */
function conversationService(app: App): ServiceImpl<typeof ConversationService> {
  return {
    async getConversation({ owner, repo, index }, context) {
      const caller = callerOf(context)
      const name = { owner, repo, number: Number(index) }
      const whole = await getWholeConversation(app, caller, name, lookOf(context))
      const { view, repository, comments, timeline, reviews, reactions, limit } = whole
      return {
        repository: repositoryMessage(app, caller, repository),
        ...(view.kind === 'pull'
          ? { pullRequest: pullRequestMessage(app, caller, view.pull) }
          : { issue: conversationMessage(app, caller, view) }),
        comments: comments.comments.map((comment) => commentMessage(app, caller, comment)),
        commentsTotal: BigInt(comments.total),
        events: await timelineMessages(app, caller, timeline.events),
        timelineTotal: BigInt(timeline.total),
        reviews: reviews.reviews.map((review) => reviewMessage(app, caller, review)),
        reviewsTotal: BigInt(reviews.total),
        reviewComments: reviews.comments.map((comment) =>
          reviewCommentMessage(app, caller, comment),
        ),
        reactions: reactionCountMessages(reactions),
        statuses: whole.statuses.map((status) => statusMessage(app, caller, repository, status)),
        limit,
        eventCursor: repositoryEventCursor(app, repository.repository.id, whole.lastEvent),
      }
    },
  }
}

export const conversations = defineService(ConversationService, conversationService)
