import type { ServiceImpl } from '@connectrpc/connect'
import { MirrorService } from '#gen/branchline/v1/mirror_service_pb.ts'
import type { App } from '../../domain/app.ts'
import { signedIn } from '../../domain/core/access.ts'
import { migrateRepository } from '../../domain/repos/lifecycle/migrate.ts'
import { requestMirrorSync } from '../../domain/repos/lifecycle/mirrors.ts'
import { callerOf } from '../wire/call.ts'
import { defineService } from '../wire/define-service.ts'
import { repositoryMessage } from './repository-message.ts'

/** Implements MirrorService. */
function mirrorService(app: App): ServiceImpl<typeof MirrorService> {
  return {
    async migrateRepository(request, context) {
      const caller = signedIn(callerOf(context))
      const {
        cloneAddr: address,
        authUsername: username,
        authPassword: password,
        authToken: token,
      } = request
      const draft = {
        upstream: { address, username, password, token },
        ownerName: request.repoOwner,
        ownerId: Number(request.uid),
        name: request.repoName,
        description: request.description,
        private: request.private,
        mirror: request.mirror,
        mirrorInterval: request.mirrorInterval,
      }
      return repositoryMessage(
        app,
        caller,
        await migrateRepository(app, caller, draft, context.signal),
      )
    },

    async syncMirror({ owner, repo }, context) {
      await requestMirrorSync(app, signedIn(callerOf(context)), { owner, repo })
      return {}
    },
  }
}

export const mirrors = defineService(MirrorService, mirrorService)
