import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { type IssueView, IssueViewSchema } from '#gen/branchline/v1/issue_view_pb.ts'
import { IssueViewService } from '#gen/branchline/v1/issue_view_service_pb.ts'
import { accountMessage } from '../accounts/users/accounts.message.ts'
import type { App } from '../app.ts'
import { type Caller, signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { atSecond } from '../core/wire/times.ts'
import {
  createSavedView,
  deleteSavedView,
  editSavedView,
  getSavedView,
  listSavedViews,
  openSharedViews,
  ownViews,
  type SavedView,
} from './saved-views.ts'

/** Implements IssueViewService. */
function issueViewService(app: App): ServiceImpl<typeof IssueViewService> {
  return { ...sharedMethods(app), ...ownMethods(app) }
}

type SharedMethods = Pick<
  ServiceImpl<typeof IssueViewService>,
  'listIssueViews' | 'createIssueView' | 'getIssueView' | 'editIssueView' | 'deleteIssueView'
>

function sharedMethods(app: App): SharedMethods {
  const viewsOf = (
    { owner, repo }: { owner: string; repo: string },
    context: HandlerContext,
    needed: 'read' | 'write',
  ) => openSharedViews(app, callerOf(context), { owner, repo }, needed)
  return {
    async listIssueViews(request, context) {
      const views = await listSavedViews(app, await viewsOf(request, context, 'read'))
      return { views: views.map((view) => viewMessage(app, callerOf(context), view)) }
    },

    async createIssueView(request, context) {
      const caller = signedIn(callerOf(context))
      const owner = await viewsOf(request, context, 'write')
      return viewMessage(app, caller, await createSavedView(app, caller, owner, request))
    },

    async getIssueView(request, context) {
      const owner = await viewsOf(request, context, 'read')
      const view = await getSavedView(app, owner, Number(request.id))
      return viewMessage(app, callerOf(context), view)
    },

    async editIssueView(request, context) {
      const owner = await viewsOf(request, context, 'write')
      const view = await editSavedView(app, owner, Number(request.id), request)
      return viewMessage(app, callerOf(context), view)
    },

    async deleteIssueView(request, context) {
      await deleteSavedView(app, await viewsOf(request, context, 'write'), Number(request.id))
      return {}
    },
  }
}

function ownMethods(app: App): Omit<ServiceImpl<typeof IssueViewService>, keyof SharedMethods> {
  const callerIn = (context: HandlerContext) => signedIn(callerOf(context))
  return {
    async listUserIssueViews(_request, context) {
      const caller = callerIn(context)
      const views = await listSavedViews(app, ownViews(caller))
      return { views: views.map((view) => viewMessage(app, caller, view)) }
    },

    async createUserIssueView(request, context) {
      const caller = callerIn(context)
      return viewMessage(app, caller, await createSavedView(app, caller, ownViews(caller), request))
    },

    async getUserIssueView({ id }, context) {
      const caller = callerIn(context)
      return viewMessage(app, caller, await getSavedView(app, ownViews(caller), Number(id)))
    },

    async editUserIssueView({ id, ...edit }, context) {
      const caller = callerIn(context)
      const view = await editSavedView(app, ownViews(caller), Number(id), edit)
      return viewMessage(app, caller, view)
    },

    async deleteUserIssueView({ id }, context) {
      await deleteSavedView(app, ownViews(callerIn(context)), Number(id))
      return {}
    },
  }
}

function viewMessage(app: App, viewer: Caller, { view, creator }: SavedView): IssueView {
  return create(IssueViewSchema, {
    id: BigInt(view.id),
    name: view.name,
    query: view.query,
    position: view.position,
    isShared: view.repository_id !== null,
    creator: accountMessage(app, viewer, creator),
    createdAt: atSecond(view.create_time),
    updatedAt: atSecond(view.update_time),
  })
}

export const issueViews = defineService(IssueViewService, issueViewService)
