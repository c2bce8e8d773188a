import type { ServiceImpl } from '@connectrpc/connect'
import { PullMergeService } from '#gen/branchline/v1/pull_merge_service_pb.ts'
import type { App } from '../../domain/app.ts'
import { cancelScheduledMerge } from '../../domain/pulls/merging/auto-merges.ts'
import { checkMerged, mergePull } from '../../domain/pulls/merging/merge-pull.ts'
import { proposeMessages } from '../../domain/pulls/merging/proposed-messages.ts'
import { updatePullHead } from '../../domain/pulls/merging/update-pull.ts'
import { signedIn } from '../../forge/core/access.ts'
import { callerOf, restStatusKey } from '../../forge/core/wire/call.ts'
import { defineService } from '../../forge/core/wire/define-service.ts'

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
      if (outcome === 'scheduled') context.values.set(restStatusKey, 201)
      return { scheduled: outcome === 'scheduled' }
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
