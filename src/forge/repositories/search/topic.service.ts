import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type Topic as TopicMessage, TopicSchema } from '#gen/branchline/v1/topic_pb.ts'
import { TopicService } from '#gen/branchline/v1/topic_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import {
  addRepositoryTopic,
  listRepositoryTopics,
  removeRepositoryTopic,
  replaceRepositoryTopics,
  searchTopics,
  type Topic,
} from './topics.ts'

/** Implements TopicService. */
function topicService(app: App): ServiceImpl<typeof TopicService> {
  return {
    async listRepositoryTopics(request, context) {
      const page = readNumberedPage(app.settings, request)
      const { owner, repo } = request
      const { topics, total } = await listRepositoryTopics(
        app,
        callerOf(context),
        { owner, repo },
        page,
      )
      return { page: { topics: [...topics] }, total: BigInt(total), limit: page.limit }
    },

    async replaceRepositoryTopics({ owner, repo, topics }, context) {
      await replaceRepositoryTopics(app, signedIn(callerOf(context)), { owner, repo }, topics)
      return {}
    },

    async addRepositoryTopic({ owner, repo, topic }, context) {
      await addRepositoryTopic(app, signedIn(callerOf(context)), { owner, repo }, topic)
      return {}
    },

    async removeRepositoryTopic({ owner, repo, topic }, context) {
      await removeRepositoryTopic(app, signedIn(callerOf(context)), { owner, repo }, topic)
      return {}
    },

    async searchTopics(request) {
      const page = readNumberedPage(app.settings, request)
      const { topics, total } = await searchTopics(app, request.q, page)
      return { page: { topics: topics.map(topicMessage) }, total: BigInt(total), limit: page.limit }
    },
  }
}

function topicMessage({ id, name, public_count, create_time, update_time }: Topic): TopicMessage {
  return create(TopicSchema, {
    id: BigInt(id),
    topicName: name,
    repoCount: BigInt(public_count),
    created: atSecond(create_time),
    updated: atSecond(update_time),
  })
}

export const topics = defineService(TopicService, topicService)
