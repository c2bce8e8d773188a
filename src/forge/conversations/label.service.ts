import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { type Label as LabelMessage, LabelSchema } from '#gen/branchline/v1/label_pb.ts'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import type { App } from '../app.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import {
  createLabel,
  deleteLabel,
  editLabel,
  getLabel,
  type Label,
  type LabelHome,
  listLabels,
  openOrganizationLabels,
  openRepositoryLabels,
} from './labels.ts'

/** Implements LabelService. */
function labelService(app: App): ServiceImpl<typeof LabelService> {
  type InRepository = { owner: string; repo: string }
  type InOrganization = { org: string }
  const ofRepository = (
    { owner, repo }: InRepository,
    context: HandlerContext,
    needed: 'read' | 'write',
  ) => openRepositoryLabels(app, callerOf(context), { owner, repo }, needed)
  const ofOrganization = (
    { org }: InOrganization,
    context: HandlerContext,
    needed: 'visible' | 'owner',
  ) => openOrganizationLabels(app, callerOf(context), org, needed)

  return {
    async listRepositoryLabels(request, context) {
      return list(app, await ofRepository(request, context, 'read'), request)
    },

    async createRepositoryLabel(request, context) {
      const home = await ofRepository(request, context, 'write')
      return labelMessage(app, home, await createLabel(app, home, request))
    },

    async getRepositoryLabel(request, context) {
      const home = await ofRepository(request, context, 'read')
      return labelMessage(app, home, await getLabel(app, home, Number(request.id)))
    },

    async editRepositoryLabel(request, context) {
      const home = await ofRepository(request, context, 'write')
      return labelMessage(app, home, await editLabel(app, home, Number(request.id), request))
    },

    async deleteRepositoryLabel(request, context) {
      await deleteLabel(app, await ofRepository(request, context, 'write'), Number(request.id))
      return {}
    },

    async listOrganizationLabels(request, context) {
      return list(app, await ofOrganization(request, context, 'visible'), request)
    },

    async createOrganizationLabel(request, context) {
      const home = await ofOrganization(request, context, 'owner')
      return labelMessage(app, home, await createLabel(app, home, request))
    },

    async getOrganizationLabel(request, context) {
      const home = await ofOrganization(request, context, 'visible')
      return labelMessage(app, home, await getLabel(app, home, Number(request.id)))
    },

    async editOrganizationLabel(request, context) {
      const home = await ofOrganization(request, context, 'owner')
      return labelMessage(app, home, await editLabel(app, home, Number(request.id), request))
    },

    async deleteOrganizationLabel(request, context) {
      await deleteLabel(app, await ofOrganization(request, context, 'owner'), Number(request.id))
      return {}
    },
  }
}

async function list(app: App, home: LabelHome, request: { page: number; limit: number }) {
  const page = readNumberedPage(app.settings, request)
  const { labels, total } = await listLabels(app, home, page)
  return {
    labels: labels.map((label) => labelMessage(app, home, label)),
    total: BigInt(total),
    limit: page.limit,
  }
}

/**
 * Returns the messages of labels on something in a repository: labels of the repository and of the
 * organisation that owns it.
 */
export function labelMessagesIn(
  app: App,
  { owner, repository }: Pick<OpenRepository, 'owner' | 'repository'>,
  labels: readonly Label[],
): LabelMessage[] {
  const paths = { own: `repos/${owner.name}/${repository.name}`, shared: `orgs/${owner.name}` }
  return labels.map((label) =>
    labelMessage(app, { path: label.repository_id === null ? paths.shared : paths.own }, label),
  )
}

/** Returns the message of a label. */
function labelMessage(app: App, { path }: Pick<LabelHome, 'path'>, label: Label): LabelMessage {
  return create(LabelSchema, {
    id: BigInt(label.id),
    name: label.name,
    exclusive: label.exclusive === 1,
    isArchived: label.archived === 1,
    color: label.color,
    description: label.description,
    url: `${app.publicUrl()}/api/v1/${path}/labels/${label.id}`,
  })
}

export const labels = defineService(LabelService, labelService)
