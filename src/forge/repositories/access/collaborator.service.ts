import type { ServiceImpl } from '@connectrpc/connect'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import { userAccountMessage } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import {
  addCollaborator,
  checkAssignee,
  checkCollaborator,
  getPermission,
  listAssignees,
  listCollaborators,
  listReviewers,
  removeCollaborator,
} from './collaborators.ts'

/** Implements CollaboratorService. */
function collaboratorService(app: App): ServiceImpl<typeof CollaboratorService> {
  return {
    async listCollaborators({ owner, repo, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const { users, total } = await listCollaborators(app, caller, { owner, repo }, page)
      return {
        collaborators: users.map((user) => userAccountMessage(app, caller, user)),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async checkCollaborator({ owner, repo, collaborator }, context) {
      await checkCollaborator(app, callerOf(context), { owner, repo }, collaborator)
      return {}
    },

    async addCollaborator({ owner, repo, collaborator, permission }, context) {
      await addCollaborator(app, callerOf(context), { owner, repo }, collaborator, permission)
      return {}
    },

    async deleteCollaborator({ owner, repo, collaborator }, context) {
      await removeCollaborator(app, callerOf(context), { owner, repo }, collaborator)
      return {}
    },

    async listAssignees({ owner, repo }, context) {
      const caller = callerOf(context)
      const users = await listAssignees(app, caller, { owner, repo })
      return { assignees: users.map((user) => userAccountMessage(app, caller, user)) }
    },

    async checkAssignee({ owner, repo, assignee }, context) {
      await checkAssignee(app, callerOf(context), { owner, repo }, assignee)
      return {}
    },

    async listReviewers({ owner, repo }, context) {
      const caller = callerOf(context)
      const users = await listReviewers(app, caller, { owner, repo })
      return { reviewers: users.map((user) => userAccountMessage(app, caller, user)) }
    },

    async getRepositoryPermission({ owner, repo, collaborator }, context) {
      const caller = signedIn(callerOf(context))
      const { user, access } = await getPermission(app, caller, { owner, repo }, collaborator)
      return { permission: access, roleName: access, user: userAccountMessage(app, caller, user) }
    },
  }
}

export const collaborators = defineService(CollaboratorService, collaboratorService)
