import type { ServiceImpl } from '@connectrpc/connect'
import { MergeQueueService } from '#gen/branchline/v1/merge_queue_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { atMs } from '../../core/wire/times.ts'
import { statusMessage } from '../../repositories/commits/commit-status.service.ts'
import { dequeuePull, enqueuePull } from './queue-entries.ts'
import { queueEntryMessage } from './queue-entry.message.ts'
import { getQueue, getQueueEntry, viewEntry } from './queue-views.ts'

/** Implements MergeQueueService. */
function mergeQueueService(app: App): ServiceImpl<typeof MergeQueueService> {
  return {
    async getMergeQueue({ owner, repo, base }, context) {
      const caller = callerOf(context)
      const view = await getQueue(app, caller, { owner, repo }, base)
      return {
        base,
        style: view.style,
        entries: view.entries.map((entry) => queueEntryMessage(app, caller, view.open, entry)),
        groups: view.groups.map(({ group, numbers, statuses }) => ({
          number: BigInt(group.number),
          ref: group.ref ?? '',
          baseSha: group.base_commit,
          headSha: group.head_commit,
          state: group.state,
          entries: numbers.map(BigInt),
          statuses: statuses.map((status) => statusMessage(app, caller, view.open, status)),
          ...(group.request_time !== null && { requestedAt: atMs(group.request_time) }),
          ...(group.deadline !== null && { deadline: atMs(group.deadline) }),
        })),
      }
    },

    async enqueuePullRequest(request, context) {
      const { owner, repo, index, jump, headCommitId } = request
      const { mergeTitleField: title, mergeMessageField: message } = request
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      const options = {
        jump,
        title,
        message,
        headCommitId,
        deleteBranch: request.deleteBranchAfterMerge,
      }
      const { open, entry } = await enqueuePull(app, caller, name, options)
      return queueEntryMessage(app, caller, open, await viewEntry(app, open, entry))
    },

    async dequeuePullRequest({ owner, repo, index }, context) {
      const name = { owner, repo, number: Number(index) }
      await dequeuePull(app, signedIn(callerOf(context)), name)
      return {}
    },

    async getMergeQueueEntry({ owner, repo, index }, context) {
      const caller = callerOf(context)
      const name = { owner, repo, number: Number(index) }
      const { open, view } = await getQueueEntry(app, caller, name)
      return queueEntryMessage(app, caller, open, view)
    },
  }
}

export const mergeQueues = defineService(MergeQueueService, mergeQueueService)
