import type { ServiceImpl } from '@connectrpc/connect'
import { ViewedFileService } from '#gen/branchline/v1/viewed_file_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { listViewedFiles, markFilesViewed, unmarkFilesViewed } from './viewed-files.ts'

/** Implements ViewedFileService. */
function viewedFileService(app: App): ServiceImpl<typeof ViewedFileService> {
  return {
    async listViewedFiles({ owner, repo, index }, context) {
      const caller = signedIn(callerOf(context))
      const files = await listViewedFiles(app, caller, { owner, repo, number: Number(index) })
      return {
        files: files.map(({ path, isChanged }) => ({
          path,
          state: isChanged ? 'CHANGED' : 'VIEWED',
        })),
      }
    },

    async markFilesViewed({ owner, repo, index, paths, commitId }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      await markFilesViewed(app, caller, name, paths, commitId)
      return {}
    },

    async unmarkFilesViewed({ owner, repo, index, paths }, context) {
      const caller = signedIn(callerOf(context))
      await unmarkFilesViewed(app, caller, { owner, repo, number: Number(index) }, paths)
      return {}
    },
  }
}

export const viewedFiles = defineService(ViewedFileService, viewedFileService)
