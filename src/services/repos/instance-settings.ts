import type { ServiceImpl } from '@connectrpc/connect'
import { InstanceService } from '#gen/branchline/v1/instance_service_pb.ts'
import type { App } from '../../domain/app.ts'
import { actsAsAdministrator } from '../../forge/core/access.ts'
import { VERSION } from '../../forge/core/version.ts'
import { callerOf } from '../../forge/core/wire/call.ts'
import { defineService } from '../../forge/core/wire/define-service.ts'
import { numberedPageSizes } from '../../forge/core/wire/pages.ts'
import { REACTIONS } from '../../forge/pulls/conversation/reactions.ts'
import { MAX_INLINE_BYTES } from '../../forge/repositories/content/contents.ts'
import { MAX_TREE_ENTRIES } from '../../forge/repositories/content/git-object.service.ts'
import { MAX_ASSETS } from '../../forge/repositories/releases/release-assets.ts'

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
      lfsDisabled: true,
      gitHooksDisabled: !(settings.gitHooks && actsAsAdministrator(callerOf(context), 'read')),
    }),

    getUiSettings: () => ({ allowedReactions: [...REACTIONS] }),

    getAttachmentSettings: () => ({
      enabled: true,
      allowedTypes: '*/*',
      maxFiles: MAX_ASSETS,
      maxSize: BigInt(Math.floor(settings.maxAssetBytes / MEBIBYTE)),
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
