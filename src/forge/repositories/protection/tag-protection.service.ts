import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type TagProtection as TagProtectionMessage,
  TagProtectionSchema,
} from '#gen/branchline/v1/tag_protection_pb.ts'
import { TagProtectionService } from '#gen/branchline/v1/tag_protection_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { textsOf } from '../../core/wire/list-values.ts'
import { atSecond } from '../../core/wire/times.ts'
import type { TagProtection } from './schema.ts'
import {
  createTagProtection,
  deleteTagProtection,
  editTagProtection,
  getTagProtection,
  listTagProtections,
} from './tag-protections.ts'

/** Implements TagProtectionService. */
function tagProtectionService(app: App): ServiceImpl<typeof TagProtectionService> {
  return {
    async listTagProtections({ owner, repo }, context) {
      const rules = await listTagProtections(app, callerOf(context), { owner, repo })
      return { tagProtections: rules.map(tagProtectionMessage) }
    },

    async getTagProtection({ owner, repo, id }, context) {
      return tagProtectionMessage(
        await getTagProtection(app, callerOf(context), { owner, repo }, Number(id)),
      )
    },

    async createTagProtection(
      { owner, repo, namePattern, whitelistUsernames, whitelistTeams },
      context,
    ) {
      const draft = { namePattern, usernames: whitelistUsernames, teams: whitelistTeams }
      return tagProtectionMessage(
        await createTagProtection(app, callerOf(context), { owner, repo }, draft),
      )
    },

    async editTagProtection(
      { owner, repo, id, namePattern, whitelistUsernames, whitelistTeams },
      context,
    ) {
      const edit = {
        namePattern,
        usernames: whitelistUsernames && textsOf('whitelist_usernames', whitelistUsernames),
        teams: whitelistTeams && textsOf('whitelist_teams', whitelistTeams),
      }
      return tagProtectionMessage(
        await editTagProtection(app, callerOf(context), { owner, repo }, Number(id), edit),
      )
    },

    async deleteTagProtection({ owner, repo, id }, context) {
      await deleteTagProtection(app, callerOf(context), { owner, repo }, Number(id))
      return {}
    },
  }
}

function tagProtectionMessage(rule: TagProtection): TagProtectionMessage {
  return create(TagProtectionSchema, {
    id: BigInt(rule.id),
    namePattern: rule.name_pattern,
    whitelistUsernames: rule.users.map(({ name }) => name),
    whitelistTeams: rule.teams.map(({ name }) => name),
    createdAt: atSecond(rule.create_time),
    updatedAt: atSecond(rule.update_time),
  })
}

export const tagProtections = defineService(TagProtectionService, tagProtectionService)
