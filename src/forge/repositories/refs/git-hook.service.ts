import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type GitHook as GitHookMessage, GitHookSchema } from '#gen/branchline/v1/git_hook_pb.ts'
import { GitHookService } from '#gen/branchline/v1/git_hook_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { deleteGitHook, editGitHook, type GitHook, getGitHook, listGitHooks } from './git-hooks.ts'

/** Implements GitHookService. */
function gitHookService(app: App): ServiceImpl<typeof GitHookService> {
  return {
    async listGitHooks({ owner, repo }, context) {
      const hooks = await listGitHooks(app, callerOf(context), { owner, repo })
      return { gitHooks: hooks.map(gitHookMessage) }
    },

    async getGitHook({ owner, repo, id }, context) {
      return gitHookMessage(await getGitHook(app, callerOf(context), { owner, repo }, id))
    },

    async editGitHook({ owner, repo, id, content }, context) {
      return gitHookMessage(await editGitHook(app, callerOf(context), { owner, repo }, id, content))
    },

    async deleteGitHook({ owner, repo, id }, context) {
      await deleteGitHook(app, callerOf(context), { owner, repo }, id)
      return {}
    },
  }
}

function gitHookMessage({ name, script }: GitHook): GitHookMessage {
  return create(GitHookSchema, {
    name,
    isActive: script !== undefined,
    ...(script !== undefined && { content: script }),
  })
}

export const gitHooks = defineService(GitHookService, gitHookService)
