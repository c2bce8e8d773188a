import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type Tag as TagMessage, TagSchema } from '#gen/branchline/v1/tag_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { gitTime } from '../commits/commit.service.ts'
import { createTag, deleteTag, getTag, listTags, type TagView } from './tags.ts'

/** Implements TagService. */
function tagService(app: App): ServiceImpl<typeof TagService> {
  return {
    async listTags(request, context) {
      const page = readNumberedPage(app.settings, request)
      const { owner, repo } = request
      const { refs, total, open } = await listTags(app, callerOf(context), { owner, repo }, page)
      return {
        tags: refs.map((tag) => tagMessage(app, { open, tag })),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async getTag({ owner, repo, tag }, context) {
      return tagMessage(app, await getTag(app, callerOf(context), { owner, repo }, tag))
    },

    async createTag({ owner, repo, tagName, message, target }, context) {
      const draft = { name: tagName, message, target }
      return tagMessage(
        app,
        await createTag(app, signedIn(callerOf(context)), { owner, repo }, draft),
      )
    },

    async deleteTag({ owner, repo, tag }, context) {
      await deleteTag(app, signedIn(callerOf(context)), { owner, repo }, tag)
      return {}
    },
  }
}

function tagMessage(app: App, { open, tag }: TagView): TagMessage {
  const path = `${open.owner.name}/${open.repository.name}`
  const sha = tag.commit_id ?? tag.object_id
  const archive = `${app.publicUrl()}/${path}/archive/${encodeURIComponent(tag.name)}`
  return create(TagSchema, {
    name: tag.name,
    message: tag.message,
    id: tag.object_id,
    commit: {
      url: `${app.publicUrl()}/api/v1/repos/${path}/git/commits/${sha}`,
      sha,
      created: gitTime(tag.time),
    },
    zipballUrl: `${archive}.zip`,
    tarballUrl: `${archive}.tar.gz`,
  })
}

export const tags = defineService(TagService, tagService)
