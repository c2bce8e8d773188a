import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { TrackedTimeService } from '#gen/branchline/v1/tracked_time_service_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { refuseRepositoryTimes, refuseTimes } from './time-tracking.ts'

/** Implements TrackedTimeService. */
function trackedTimeService(app: App): ServiceImpl<typeof TrackedTimeService> {
  type OfRepository = { owner: string; repo: string }
  const refuseChange = (
    { owner, repo, index }: OfRepository & { index: bigint },
    context: HandlerContext,
  ) => {
    const name = { owner, repo, number: Number(index) }
    return refuseTimes(app, signedIn(callerOf(context)), name, 'take part', 'TIME_NOT_TRACKED')
  }
  const refuseList = ({ owner, repo }: OfRepository, context: HandlerContext) =>
    refuseRepositoryTimes(app, signedIn(callerOf(context)), { owner, repo })
  return {
    async listIssueTrackedTimes({ owner, repo, index }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      return refuseTimes(app, caller, name, 'read', 'TIME_TRACKING_DISABLED')
    },

    addTrackedTime: refuseChange,
    resetTrackedTimes: refuseChange,
    deleteTrackedTime: refuseChange,
    listRepositoryTrackedTimes: refuseList,
    listUserTrackedTimes: refuseList,

    async listMyTrackedTimes(request, context) {
      signedIn(callerOf(context))
      return { times: [], total: 0n, limit: readNumberedPage(app.settings, request).limit }
    },
  }
}

export const trackedTimes = defineService(TrackedTimeService, trackedTimeService)
