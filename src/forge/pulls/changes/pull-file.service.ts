import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type ChangedFile,
  ChangedFileSchema,
  PullFileService,
} from '#gen/branchline/v1/pull_file_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { plainText } from '../../core/wire/http-bodies.ts'
import { readNumberedPage, setPageHeaders } from '../../core/wire/pages.ts'
import { commitMessages, diffFormatOf } from '../../repositories/commits/commit.service.ts'
import { encodePath, gitUrls } from '../../repositories/lifecycle/repository.message.ts'
import { pullRequestMessage } from '../lists/pull-request.message.ts'
import { getPullOfCommit, listPullCommits } from './pull-commits.ts'
import {
  getPullDiff,
  listPullFiles,
  type PullFile,
  type PullFilePage,
  type PullFileQuery,
} from './pull-files.ts'

/** Implements PullFileService. */
function pullFileService(app: App): ServiceImpl<typeof PullFileService> {
  return {
    async *getPullRequestDiff({ owner, repo, index, format, binary }, context) {
      const wanted = diffFormatOf(format)
      const chunks = await getPullDiff(
        app,
        callerOf(context),
        { owner, repo, number: Number(index) },
        wanted,
        binary,
      )
      yield* plainText(context, chunks)
    },

    async listPullRequestCommits(request, context) {
      const { owner, repo, index, verification = true, files = true } = request
      const { offset, limit } = readNumberedPage(app.settings, request)
      const caller = callerOf(context)
      const parts = { stat: true, verification, files }
      const page = await listPullCommits(
        app,
        caller,
        { owner, repo, number: Number(index) },
        parts,
        { offset, limit },
      )
      setPageHeaders(context, page.total, { offset, limit })
      return { commits: commitMessages(app, caller, page), total: BigInt(page.total), limit }
    },

    async listPullRequestFiles(request, context) {
      const { owner, repo, index, skipTo, whitespace } = request
      const { offset, limit } = readNumberedPage(app.settings, request)
      const query = { skipTo, ignoredWhitespace: IGNORED_WHITESPACE.get(whitespace) }
      const page = await listPullFiles(
        app,
        callerOf(context),
        { owner, repo, number: Number(index) },
        query,
        { offset, limit },
      )
      setPageHeaders(context, page.total, { offset, limit })
      return {
        files: page.files.map((file) => fileMessage(app, page, file)),
        total: BigInt(page.total),
        limit,
      }
    },

    async getCommitPullRequest({ owner, repo, sha }, context) {
      const caller = callerOf(context)
      return pullRequestMessage(
        app,
        caller,
        await getPullOfCommit(app, caller, { owner, repo }, sha),
      )
    },
  }
}

const IGNORED_WHITESPACE: ReadonlyMap<string, PullFileQuery['ignoredWhitespace']> = new Map([
  ['ignore-all', 'all'],
  ['ignore-change', 'change'],
  ['ignore-eol', 'eol'],
])

function fileMessage(app: App, { open, head }: PullFilePage, file: PullFile): ChangedFile {
  const { path, oldPath = '', status, additions, deletions } = file
  const urls = gitUrls(app, open)
  const encoded = encodePath(path)
  return create(ChangedFileSchema, {
    filename: path,
    previousFilename: oldPath,
    status,
    additions: BigInt(additions),
    deletions: BigInt(deletions),
    changes: BigInt(additions + deletions),
    htmlUrl: urls.html(`/src/commit/${head}/${encoded}`),
    contentsUrl: urls.api(`/contents/${encoded}?ref=${head}`),
    rawUrl: urls.html(`/raw/commit/${head}/${encoded}`),
  })
}

export const pullFiles = defineService(PullFileService, pullFileService)
