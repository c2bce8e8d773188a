import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type {
  CommitDates,
  ContentService,
  DeleteFileRequest,
  Identity,
} from '#gen/branchline/v1/content_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf, restStatusKey } from '../../core/wire/call.ts'
import { verificationMessage } from '../commits/commit.service.ts'
import { type ChangedFiles, type CommitDraft, changeFiles, type Person } from './content-changes.ts'
import { contentsMessage, fileCommitMessage } from './contents.service.ts'
import type { FileChange } from './file-changes.ts'

/** The methods of ContentService that write. */
export type ContentChangeMethods = Pick<
  ServiceImpl<typeof ContentService>,
  'createFile' | 'updateFile' | 'deleteFile' | 'changeFiles'
>

type CommonRequest = Pick<
  DeleteFileRequest,
  'owner' | 'repo' | 'message' | 'branch' | 'newBranch' | 'signoff' | 'forcePush'
> & {
  readonly author?: Identity | undefined
  readonly committer?: Identity | undefined
  readonly dates?: CommitDates | undefined
}

/** Implements the methods of ContentService that write. */
export function contentChangeMethods(app: App): ContentChangeMethods {
  const change = (
    request: CommonRequest,
    context: HandlerContext,
    changes: readonly FileChange[],
  ) => changeFiles(app, signedIn(callerOf(context)), request, changes, draftOf(request))
  const commitMessages = ({ open, commit, verification }: ChangedFiles) => ({
    commit: fileCommitMessage(app, open, commit),
    verification: verificationMessage(verification),
  })
  const fileResponse = (changed: ChangedFiles) => {
    const [file] = changed.files
    return { ...(file && { content: contentsMessage(app, file) }), ...commitMessages(changed) }
  }
  return {
    async createFile(request, context) {
      const { path, content } = request
      return fileResponse(
        await change(request, context, [
          { operation: 'create', path, content, sha: '', fromPath: '' },
        ]),
      )
    },

    async updateFile(request, context) {
      const { path, content, sha, fromPath } = request
      const isMove = fromPath !== '' && fromPath !== path
      const operation = isMove ? 'rename' : sha === '' ? 'create' : 'update'
      const changed = await change(request, context, [{ operation, path, content, sha, fromPath }])
      if (operation === 'create') context.values.set(restStatusKey, 201)
      return fileResponse(changed)
    },

    async deleteFile(request, context) {
      const { path, sha } = request
      return fileResponse(
        await change(request, context, [
          { operation: 'delete', path, content: '', sha, fromPath: '' },
        ]),
      )
    },

    async changeFiles(request, context) {
      const changed = await change(request, context, request.files)
      const files = changed.files.flatMap((file) => (file ? contentsMessage(app, file) : []))
      return { files, ...commitMessages(changed) }
    },
  }
}

function draftOf({ author, committer, dates, ...request }: CommonRequest): CommitDraft {
  const { message, branch, newBranch, signoff, forcePush } = request
  return {
    message,
    branch,
    newBranch,
    signoff,
    forcePush,
    author: personOf(author, dates?.author),
    committer: personOf(committer, dates?.committer),
  }
}

function personOf(identity: Identity | undefined, date: CommitDates['author']): Person {
  const time = date && Math.floor(timestampMs(date) / 1000)
  return { name: identity?.name ?? '', email: identity?.email ?? '', time }
}
