import type { ServiceImpl } from '@connectrpc/connect'
import { PullStackService } from '#gen/branchline/v1/pull_stack_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { restackPulls } from './restack.ts'

/** Implements PullStackService. */
function pullStackService(app: App): ServiceImpl<typeof PullStackService> {
  return {
    async restackPullRequests({ owner, repo, index }, context) {
      const caller = signedIn(callerOf(context))
      const heads = await restackPulls(app, caller, { owner, repo, number: Number(index) })
      return {
        heads: heads.map(({ number, branch, from, to }) => ({
          number: BigInt(number),
          branch,
          oldCommitId: from,
          newCommitId: to,
        })),
      }
    },
  }
}

export const pullStacks = defineService(PullStackService, pullStackService)
