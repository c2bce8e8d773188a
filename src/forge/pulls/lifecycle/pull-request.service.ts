import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type CreatePullRequestRequest,
  type EditPullRequestRequest,
  PullRequestService,
} from '#gen/branchline/v1/pull_request_service_pb.ts'
import type { App } from '../../app.ts'
import { dueTimeOf } from '../../conversations/milestone.service.ts'
import type { Look } from '../../conversations/seen.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { numbersOf, textsOf } from '../../core/wire/list-values.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { listPulls } from '../lists/pull-lists.ts'
import { pullRequestMessage, pullRequestMessages } from '../lists/pull-request.message.ts'
import { createPull, type PullDraft } from './create-pull.ts'
import { editPull, type PullEdit } from './edit-pull.ts'
import { getPull, getPullBetween } from './pull-requests.ts'

/** Implements PullRequestService. */
function pullRequestService(app: App): ServiceImpl<typeof PullRequestService> {
  return {
    async listPullRequests(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const { owner, repo } = request
      const query = { ...request, milestoneId: Number(request.milestone) }
      const { pulls, total } = await listPulls(app, caller, { owner, repo }, query, page)
      return {
        pullRequests: pullRequestMessages(app, caller, pulls),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async getPullRequest({ owner, repo, index }, context) {
      const caller = callerOf(context)
      return pullRequestMessage(
        app,
        caller,
        await getPull(app, caller, { owner, repo, number: Number(index) }, lookOf(context)),
      )
    },

    async getPullRequestByBranches({ owner, repo, base, head }, context) {
      const caller = callerOf(context)
      return pullRequestMessage(
        app,
        caller,
        await getPullBetween(app, caller, { owner, repo }, { base, head }, lookOf(context)),
      )
    },

    async createPullRequest(request, context) {
      const caller = signedIn(callerOf(context))
      const { owner, repo } = request
      return pullRequestMessage(
        app,
        caller,
        await createPull(app, caller, { owner, repo }, draftOf(request)),
      )
    },

    async editPullRequest(request, context) {
      const caller = signedIn(callerOf(context))
      const { owner, repo, index } = request
      return pullRequestMessage(
        app,
        caller,
        await editPull(app, caller, { owner, repo, number: Number(index) }, editOf(request)),
      )
    },
  }
}

/** A HEAD request shows nothing to the caller, so it does not mark the pull request as seen. */
export function lookOf({ requestMethod }: Pick<HandlerContext, 'requestMethod'>): Look {
  return requestMethod === 'HEAD' ? 'asks' : 'reads'
}

function draftOf(request: CreatePullRequestRequest): PullDraft {
  return {
    ...request,
    milestoneId: Number(request.milestone),
    labelIds: request.labels.map(Number),
    dueTime: dueTimeOf(request.dueDate ?? request.deadline) ?? null,
    allowMaintainerEdit: request.allowMaintainerEdit,
  }
}

function editOf(request: EditPullRequestRequest): PullEdit {
  const { contentVersion, assignees, labels } = request
  return {
    ...request,
    body: request.body,
    contentVersion: contentVersion === undefined ? undefined : Number(contentVersion),
    dueDate: request.dueDate || request.deadline,
    unsetDueDate: request.unsetDueDate ?? request.removeDeadline ?? false,
    assignees: assignees && textsOf('assignees', assignees),
    milestoneId: request.milestone > 0n ? Number(request.milestone) : undefined,
    labelIds: labels && numbersOf('labels', labels),
    state: request.state,
    allowMaintainerEdit: request.allowMaintainerEdit,
  }
}

export const pullRequests = defineService(PullRequestService, pullRequestService)
