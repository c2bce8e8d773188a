import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type CommitStatus as CommitStatusMessage,
  CommitStatusSchema,
} from '#gen/branchline/v1/commit_status_pb.ts'
import { CommitStatusService } from '#gen/branchline/v1/commit_status_service_pb.ts'
import { accountMessage } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import { repositoryMessage } from '../lifecycle/repository.message.ts'
import { viewRepository } from '../lifecycle/repository-views.ts'
import {
  type CommitStatusView,
  createCommitStatus,
  getCombinedStatus,
  listCommitStatuses,
} from './commit-statuses.ts'

/** Implements CommitStatusService. */
function commitStatusService(app: App): ServiceImpl<typeof CommitStatusService> {
  const open = (
    { owner, repo }: { owner: string; repo: string },
    context: HandlerContext,
    needed: 'read' | 'write',
  ) => openRepository(app, callerOf(context), { owner, repo }, needed)

  return {
    async createCommitStatus(request, context) {
      const caller = signedIn(callerOf(context))
      const { repository, owner } = await open(request, context, 'write')
      const status = await createCommitStatus(app, caller, repository, request.sha, request)
      return statusMessage(app, caller, { repository, owner }, status)
    },

    async listCommitStatuses(request, context) {
      const caller = callerOf(context)
      const opened = await open(request, context, 'read')
      const page = readNumberedPage(app.settings, request)
      const { statuses, total } = await listCommitStatuses(
        app,
        opened.repository,
        request.ref,
        request,
        page,
      )
      return {
        statuses: statuses.map((status) => statusMessage(app, caller, opened, status)),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async getCombinedStatus(request, context) {
      const caller = callerOf(context)
      const opened = await open(request, context, 'read')
      const { offset, limit } = readNumberedPage(app.settings, request)
      const combined = await getCombinedStatus(app, opened.repository, request.ref, offset, limit)
      const { commitId, state, total, statuses } = combined
      const base = apiUrl(app, opened)
      return {
        state,
        sha: commitId,
        totalCount: BigInt(total),
        statuses: statuses.map((status) => statusMessage(app, caller, opened, status)),
        repository: repositoryMessage(app, caller, await viewRepository(app, caller, opened)),
        commitUrl: `${base}/git/commits/${commitId}`,
        url: `${base}/commits/${commitId}/status`,
        limit,
      }
    },
  }
}

type Home = Pick<OpenRepository, 'repository' | 'owner'>

/** Returns the message of a commit status. */
export function statusMessage(
  app: App,
  viewer: Caller,
  home: Home,
  { creator, ...status }: CommitStatusView,
): CommitStatusMessage {
  const time = atSecond(status.create_time)
  return create(CommitStatusSchema, {
    id: BigInt(status.number),
    status: status.state,
    targetUrl: status.target_url,
    description: status.description,
    url: `${apiUrl(app, home)}/statuses/${status.commit_id}`,
    context: status.context,
    creator: accountMessage(app, viewer, creator),
    createdAt: time,
    updatedAt: time,
  })
}

function apiUrl(app: App, { repository, owner }: Home): string {
  return `${app.publicUrl()}/api/v1/repos/${owner.name}/${repository.name}`
}

export const commitStatuses = defineService(CommitStatusService, commitStatusService)
