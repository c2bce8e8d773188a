import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { StopwatchService } from '#gen/branchline/v1/stopwatch_service_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { refuseTimes } from './time-tracking.ts'

/** Implements StopwatchService. */
function stopwatchService(app: App): ServiceImpl<typeof StopwatchService> {
  const refuse = (
    { owner, repo, index }: { owner: string; repo: string; index: bigint },
    context: HandlerContext,
  ) => {
    const name = { owner, repo, number: Number(index) }
    return refuseTimes(app, signedIn(callerOf(context)), name, 'take part', 'STOPWATCH_DENIED')
  }
  return {
    startStopwatch: refuse,
    stopStopwatch: refuse,
    deleteStopwatch: refuse,

    async listMyStopwatches(request, context) {
      signedIn(callerOf(context))
      return { stopwatches: [], total: 0n, limit: readNumberedPage(app.settings, request).limit }
    },
  }
}

export const stopwatches = defineService(StopwatchService, stopwatchService)
