import type { ServiceImpl } from '@connectrpc/connect'
import { InstanceService } from '#gen/branchline/v1/instance_service_pb.ts'
import type { App } from '../app.ts'
import { MAX_ATTACHMENTS } from '../conversations/attachment-rules.ts'
import { REACTIONS } from '../conversations/reactions.ts'
import { actsAsAdministrator } from '../core/access.ts'
import { VERSION } from '../core/version.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { numberedPageSizes } from '../core/wire/pages.ts'
import { MAX_INLINE_BYTES } from '../repositories/content/contents.ts'
import { MAX_TREE_ENTRIES } from '../repositories/content/git-object.service.ts'

const MEBIBYTE = 1024 ** 2

/** Implements InstanceService. */
function instanceService({ settings }: App): ServiceImpl<typeof InstanceService> {
  return {
    getApiSettings() {
      const { defaultPageSize, maxPageSize } = numberedPageSizes(settings)
      return {
        maxResponseItems: maxPageSize,
        defaultPagingNum: defaultPageSize,
        defaultGitTreesPerPage: MAX_TREE_ENTRIES,
        defaultMaxBlobSize: BigInt(MAX_INLINE_BYTES),
      }
    },

    getRepositorySettings: (_, context) => ({
      timeTrackingDisabled: true,
      lfsDisabled: !settings.lfs,
      gitHooksDisabled: !(settings.gitHooks && actsAsAdministrator(callerOf(context), 'read')),
    }),

    getUiSettings: () => ({ allowedReactions: [...REACTIONS] }),

    getAttachmentSettings: () => ({
      enabled: true,
      allowedTypes: settings.attachmentTypes.join(','),
      maxFiles: MAX_ATTACHMENTS,
      maxSize: BigInt(Math.floor(settings.maxAttachmentBytes / MEBIBYTE)),
    }),

    getNodeInfo: () => ({
      version: '2.1',
      software: { name: 'branchline', version: VERSION },
      services: {},
      openRegistrations: settings.registration === 'open',
      usage: { users: {} },
      metadata: {},
    }),
  }
}

export const instance = defineService(InstanceService, instanceService)
