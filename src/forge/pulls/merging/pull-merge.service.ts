import type { ServiceImpl } from '@connectrpc/connect'
import { PullMergeService } from '#gen/branchline/v1/pull_merge_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf, restStatusKey } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { proposeMessages } from './merge-messages.ts'
import { checkMerged, mergePull } from './merge-pull.ts'
import { cancelScheduledMerge } from './scheduled-merges.ts'
import { updatePullHead } from './update-pull.ts'

/** Implements PullMergeService. */
function pullMergeService(app: App): ServiceImpl<typeof PullMergeService> {
  return {
    async checkPullRequestMerged({ owner, repo, index }, context) {
      await checkMerged(app, callerOf(context), { owner, repo, number: Number(index) })
      return {}
    },

    async listMergeMessages({ owner, repo, index }, context) {
      const name = { owner, repo, number: Number(index) }
      const { head, messages } = await proposeMessages(app, signedIn(callerOf(context)), name)
      return { messages: [...messages], headSha: head }
    },

    async mergePullRequest(request, context) {
      const {
        owner,
        repo,
        index,
        forceMerge: force,
        mergeWhenChecksSucceed: whenChecksSucceed,
      } = request
      const {
        do: style,
        mergeTitleField: title,
        mergeMessageField: message,
        mergeCommitId,
        headCommitId,
      } = request
      const { deleteBranchAfterMerge: deleteBranch } = request
      const options = {
        style,
        title,
        message,
        mergeCommitId,
        headCommitId,
        force,
        whenChecksSucceed,
        deleteBranch,
      }
      const outcome = await mergePull(
        app,
        signedIn(callerOf(context)),
        { owner, repo, number: Number(index) },
        options,
      )
      if (outcome !== 'merged') context.values.set(restStatusKey, 201)
      return { scheduled: outcome === 'scheduled', queued: outcome === 'queued' }
    },

    async cancelAutoMerge({ owner, repo, index }, context) {
      await cancelScheduledMerge(app, signedIn(callerOf(context)), {
        owner,
        repo,
        number: Number(index),
      })
      return {}
    },

    async updatePullRequestHead({ owner, repo, index, style }, context) {
      const updated = await updatePullHead(
        app,
        signedIn(callerOf(context)),
        { owner, repo, number: Number(index) },
        style,
      )
      return { updated }
    },
  }
}

export const pullMerges = defineService(PullMergeService, pullMergeService)
