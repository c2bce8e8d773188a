import { createHash } from 'node:crypto'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { FeedService } from '#gen/branchline/v1/feed_service_pb.ts'
import type { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'
import type { App } from '../../app.ts'
import { type Feed, writeFeed } from '../../core/atom.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { activityFeed, branchFeed, releaseFeed } from './feeds.ts'

/** Implements FeedService. */
function feedService(app: App): ServiceImpl<typeof FeedService> {
  return {
    async getActivityFeed({ owner, repo }, context) {
      return feedBody(context, await activityFeed(app, callerOf(context), { owner, repo }))
    },

    async getReleaseFeed({ owner, repo }, context) {
      return feedBody(context, await releaseFeed(app, callerOf(context), { owner, repo }))
    },

    async getBranchFeed({ owner, repo, branch }, context) {
      return feedBody(context, await branchFeed(app, callerOf(context), { owner, repo }, branch))
    },
  }
}

function feedBody(
  { responseHeader }: HandlerContext,
  feed: Feed,
): MessageInitShape<typeof HttpBodySchema> {
  const data = Buffer.from(writeFeed(feed))
  responseHeader.set('etag', `"${createHash('sha256').update(data).digest('base64url')}"`)
  responseHeader.set('cache-control', 'private, no-cache')
  responseHeader.set('x-content-type-options', 'nosniff')
  responseHeader.set('content-security-policy', "default-src 'none'; sandbox")
  return { contentType: 'application/atom+xml; charset=utf-8', data }
}

export const feeds = defineService(FeedService, feedService)
