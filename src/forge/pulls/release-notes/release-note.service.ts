import type { ServiceImpl } from '@connectrpc/connect'
import { ReleaseNoteService } from '#gen/branchline/v1/release_note_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { generateReleaseNotes } from './release-notes.ts'

/** Implements ReleaseNoteService. */
function releaseNoteService(app: App): ServiceImpl<typeof ReleaseNoteService> {
  return {
    async generateReleaseNotes(request, context) {
      const { owner, repo, tagName, targetCommitish: target, previousTagName } = request
      const { title: name, body } = await generateReleaseNotes(
        app,
        signedIn(callerOf(context)),
        { owner, repo },
        { tagName, target, previousTagName },
      )
      return { name, body }
    },
  }
}

export const releaseNotes = defineService(ReleaseNoteService, releaseNoteService)
