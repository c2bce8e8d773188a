import type { ServiceImpl } from '@connectrpc/connect'
import { SuggestionService } from '#gen/branchline/v1/suggestion_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { applySuggestions } from './apply-suggestions.ts'

/** Implements SuggestionService. */
function suggestionService(app: App): ServiceImpl<typeof SuggestionService> {
  return {
    async applySuggestions({ owner, repo, index, comments, message, headCommitId }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      const order = { comments: comments.map(Number), message, headCommit: headCommitId }
      return { commitId: await applySuggestions(app, caller, name, order) }
    },
  }
}

export const suggestions = defineService(SuggestionService, suggestionService)
