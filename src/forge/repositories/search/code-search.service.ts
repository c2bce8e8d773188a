import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  CodeSearchService,
  type FoundFileSchema,
} from '#gen/branchline/v1/code_search_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { encodePath, gitUrls } from '../lifecycle/repository.message.ts'
import { type CodeSearchView, searchCode } from './code-search.ts'
import { searchAllCode } from './wide-code-search.ts'

/** Implements CodeSearchService. */
function codeSearchService(app: App): ServiceImpl<typeof CodeSearchService> {
  return {
    async searchCode(request, context) {
      const { owner, repo, q, regexp, caseSensitive, path, ref } = request
      const page = readNumberedPage(app.settings, request)
      const view = await searchCode(
        app,
        callerOf(context),
        { owner, repo },
        { text: q, isExpression: regexp, isCaseSensitive: caseSensitive, globs: path, ref },
        page,
      )
      return {
        files: view.files.map((file) => fileMessage(app, view, file)),
        total: BigInt(view.total),
        limit: page.limit,
        incomplete: view.isIncomplete,
        sha: view.commitId ?? '',
      }
    },

    async searchAllCode(request, context) {
      const { q: text, caseSensitive: isCaseSensitive, path: globs, owner } = request
      const page = readNumberedPage(app.settings, request)
      const asked = { text, isCaseSensitive, globs, owner }
      const view = await searchAllCode(app, callerOf(context), asked, page)
      return {
        files: view.files.map(({ open, commitId, file }) => ({
          owner: open.owner.name,
          repo: open.repository.name,
          sha: commitId,
          file: fileMessage(app, { open, commitId }, file),
        })),
        total: BigInt(view.total),
        limit: page.limit,
        incomplete: view.isIncomplete,
      }
    },
  }
}

function fileMessage(
  app: App,
  { open, commitId = '' }: Pick<CodeSearchView, 'open' | 'commitId'>,
  { path, lines, hasMore }: CodeSearchView['files'][number],
): MessageInitShape<typeof FoundFileSchema> {
  return {
    path,
    htmlUrl: gitUrls(app, open).html(`/src/commit/${commitId}/${encodePath(path)}`),
    lines: lines.map(({ number, text, isMatch, ranges, isCutAtStart, isCutAtEnd }) => ({
      number,
      text,
      match: isMatch,
      ranges: [...ranges],
      cutAtStart: isCutAtStart,
      cutAtEnd: isCutAtEnd,
    })),
    moreMatches: hasMore,
  }
}

export const codeSearch = defineService(CodeSearchService, codeSearchService)
