import type { ServiceImpl } from '@connectrpc/connect'
import { IssueTransferService } from '#gen/branchline/v1/issue_transfer_service_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { issueMessage } from './issue.message.ts'
import { transferIssue } from './issue-transfers.ts'

/** Implements IssueTransferService. */
function issueTransferService(app: App): ServiceImpl<typeof IssueTransferService> {
  return {
    async transferIssue({ owner, repo, index, target }, context) {
      const caller = signedIn(callerOf(context))
      if (!target) throw new DomainError('INVALID_FIELD', { field: 'target' })
      const name = { owner, repo, number: Number(index) }
      const view = await transferIssue(app, caller, name, target)
      return issueMessage(app, caller, view)
    },
  }
}

export const issueTransfers = defineService(IssueTransferService, issueTransferService)
