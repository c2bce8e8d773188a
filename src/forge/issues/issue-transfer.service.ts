import type { ServiceImpl } from '@connectrpc/connect'
import { IssueTransferService } from '#gen/branchline/v1/issue_transfer_service_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { issueMessage } from './issue.message.ts'
import { transferIssue } from './issue-transfers.ts'

const NO_TARGET = { owner: '', repo: '', confirmPublic: false }

/** Implements IssueTransferService. */
function issueTransferService(app: App): ServiceImpl<typeof IssueTransferService> {
  return {
    async transferIssue({ owner, repo, index, target }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      const view = await transferIssue(app, caller, name, target ?? NO_TARGET)
      return issueMessage(app, caller, view)
    },
  }
}

export const issueTransfers = defineService(IssueTransferService, issueTransferService)
