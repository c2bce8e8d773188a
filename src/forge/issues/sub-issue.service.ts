import type { ServiceImpl } from '@connectrpc/connect'
import type { IssueReference } from '#gen/branchline/v1/issue_service_pb.ts'
import { SubIssueService } from '#gen/branchline/v1/sub_issue_service_pb.ts'
import type { App } from '../app.ts'
import type { DependencyReference } from '../conversations/dependencies.ts'
import { signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { conversationMessage } from './issue.message.ts'
import { viewAgain } from './issue-views.ts'
import {
  addSubIssue,
  getParent,
  listSubIssues,
  moveSubIssue,
  removeSubIssue,
} from './sub-issues.ts'

/** Implements SubIssueService. */
function subIssueService(app: App): ServiceImpl<typeof SubIssueService> {
  return {
    async listSubIssues({ owner, repo, index }, context) {
      const caller = callerOf(context)
      const views = await listSubIssues(app, caller, { owner, repo, number: Number(index) })
      return { issues: views.map((view) => conversationMessage(app, caller, view)) }
    },

    async addSubIssue({ owner, repo, index, subIssue }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      await addSubIssue(app, caller, name, referenceOf(subIssue))
      return conversationMessage(app, caller, await viewAgain(app, caller, name))
    },

    async removeSubIssue({ owner, repo, index, subIssue }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      await removeSubIssue(app, caller, name, referenceOf(subIssue))
      return conversationMessage(app, caller, await viewAgain(app, caller, name))
    },

    async moveSubIssue({ owner, repo, index, position, subIssue }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      await moveSubIssue(app, caller, name, referenceOf(subIssue), Number(position))
      return {}
    },

    async getParentIssue({ owner, repo, index }, context) {
      const caller = callerOf(context)
      const name = { owner, repo, number: Number(index) }
      return conversationMessage(app, caller, await getParent(app, caller, name))
    },
  }
}

/** No issue has the number 0. */
function referenceOf(reference: IssueReference | undefined): DependencyReference {
  const { owner = '', repo = '', index = 0n } = reference ?? {}
  return { owner, repo, number: Number(index) }
}

export const subIssues = defineService(SubIssueService, subIssueService)
