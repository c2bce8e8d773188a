import type { ServiceImpl } from '@connectrpc/connect'
import { IssuePinService } from '#gen/branchline/v1/issue_pin_service_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { pullRequestMessages } from '../pulls/lists/pull-request.message.ts'
import { issueMessage } from './issue.message.ts'
import {
  listPinnedIssues,
  listPinnedPulls,
  movePin,
  newPinAllowed,
  pinConversation,
  unpinConversation,
} from './issue-pins.ts'

/** Implements IssuePinService. */
function issuePinService(app: App): ServiceImpl<typeof IssuePinService> {
  return {
    async pinIssue({ owner, repo, index }, context) {
      const caller = signedIn(callerOf(context))
      await pinConversation(app, caller, { owner, repo, number: Number(index) })
      return {}
    },

    async unpinIssue({ owner, repo, index }, context) {
      const caller = signedIn(callerOf(context))
      await unpinConversation(app, caller, { owner, repo, number: Number(index) })
      return {}
    },

    async moveIssuePin({ owner, repo, index, position }, context) {
      const caller = signedIn(callerOf(context))
      await movePin(app, caller, { owner, repo, number: Number(index) }, Number(position))
      return {}
    },

    async listPinnedIssues({ owner, repo }, context) {
      const caller = callerOf(context)
      const views = await listPinnedIssues(app, caller, { owner, repo })
      return { issues: views.map((view) => issueMessage(app, caller, view)) }
    },

    async listPinnedPullRequests({ owner, repo }, context) {
      const caller = callerOf(context)
      const views = await listPinnedPulls(app, caller, { owner, repo })
      return { pullRequests: pullRequestMessages(app, caller, views) }
    },

    async getNewPinAllowed({ owner, repo }, context) {
      const { issues, pulls } = await newPinAllowed(app, callerOf(context), { owner, repo })
      return { issues, pullRequests: pulls }
    },
  }
}

export const issuePins = defineService(IssuePinService, issuePinService)
