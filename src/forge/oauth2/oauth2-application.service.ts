import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type OAuth2Application as ApplicationMessage,
  type OAuth2Grant as GrantMessage,
  OAuth2ApplicationSchema,
  OAuth2GrantSchema,
} from '#gen/branchline/v1/oauth2_application_pb.ts'
import { OAuth2ApplicationService } from '#gen/branchline/v1/oauth2_application_service_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { atSecond } from '../core/wire/times.ts'
import { openOrganization } from '../organizations/organization-access.ts'
import {
  type ApplicationOwner,
  type ApplicationValues,
  createApplication,
  deleteApplication,
  editApplication,
  getApplication,
  listApplications,
  type OAuth2Application,
} from './applications.ts'
import { type GrantOfApplication, listGrants, revokeGrant } from './grants.ts'
import { redirectUrisOf } from './redirect-uris.ts'

/** Implements OAuth2ApplicationService. */
function oauth2ApplicationService(app: App): ServiceImpl<typeof OAuth2ApplicationService> {
  const ofCaller = async (_: unknown, context: HandlerContext) =>
    signedIn(callerOf(context)).user.id
  const ofOrganization = async ({ org }: { org: string }, context: HandlerContext) =>
    (await openOrganization(app, callerOf(context), org, 'owner')).organization.id
  const ofInstance = async () => null

  const own = applicationMethods(app, ofCaller)
  const organization = applicationMethods(app, ofOrganization)
  const instance = applicationMethods(app, ofInstance)
  return {
    listOAuth2Applications: own.list,
    createOAuth2Application: own.create,
    getOAuth2Application: own.get,
    editOAuth2Application: own.edit,
    deleteOAuth2Application: own.delete,

    listOrganizationOAuth2Applications: organization.list,
    createOrganizationOAuth2Application: organization.create,
    getOrganizationOAuth2Application: organization.get,
    editOrganizationOAuth2Application: organization.edit,
    deleteOrganizationOAuth2Application: organization.delete,

    adminListOAuth2Applications: instance.list,
    adminCreateOAuth2Application: instance.create,
    adminGetOAuth2Application: instance.get,
    adminEditOAuth2Application: instance.edit,
    adminDeleteOAuth2Application: instance.delete,

    async listOAuth2Grants(request, context) {
      const page = readNumberedPage(app.settings, request)
      const { grants, total } = await listGrants(app, signedIn(callerOf(context)).user, page)
      return { grants: grants.map(grantMessage), total: BigInt(total), limit: page.limit }
    },

    async revokeOAuth2Grant({ id }, context) {
      await revokeGrant(app, signedIn(callerOf(context)).user, id)
      return {}
    },
  }
}

/** The properties of an application in a request that creates it. */
interface NewApplication {
  readonly name: string
  readonly confidentialClient: boolean
  readonly redirectUris: string[]
}

/** The properties of an application in a request that edits it. */
interface EditedApplication {
  readonly id: bigint
  readonly name?: string | undefined
  readonly confidentialClient?: boolean | undefined
  readonly redirectUris: string[]
}

/**
 * Returns the methods for the applications of one kind of owner.
 *
 * @param ownerOf returns the owner that a request names, if the caller may manage its applications.
 */
function applicationMethods<Named>(
  app: App,
  ownerOf: (request: Named, context: HandlerContext) => Promise<ApplicationOwner>,
) {
  return {
    async list(request: Named & { page: number; limit: number }, context: HandlerContext) {
      const owner = await ownerOf(request, context)
      const page = readNumberedPage(app.settings, request)
      const { applications, total } = await listApplications(app, owner, page)
      return {
        applications: applications.map((application) => applicationMessage(application)),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async create(request: Named & NewApplication, context: HandlerContext) {
      const owner = await ownerOf(request, context)
      const values = { ...request, confidential: request.confidentialClient }
      const { application, secret } = await createApplication(app, owner, values)
      return applicationMessage(application, secret)
    },

    async get(request: Named & { id: bigint }, context: HandlerContext) {
      const owner = await ownerOf(request, context)
      return applicationMessage(await getApplication(app, owner, request.id))
    },

    async edit(request: Named & EditedApplication, context: HandlerContext) {
      const owner = await ownerOf(request, context)
      const changes = changesOf(request)
      const { application, secret } = await editApplication(app, owner, request.id, changes)
      return applicationMessage(application, secret)
    },

    async delete(request: Named & { id: bigint }, context: HandlerContext) {
      await deleteApplication(app, await ownerOf(request, context), request.id)
      return {}
    },
  }
}

function changesOf({
  name,
  confidentialClient: confidential,
  redirectUris,
}: EditedApplication): Partial<ApplicationValues> {
  return {
    ...(name !== undefined && { name }),
    ...(confidential !== undefined && { confidential }),
    ...(redirectUris.length > 0 && { redirectUris }),
  }
}

/** @param secret of an application that has a new one. */
function applicationMessage(application: OAuth2Application, secret = ''): ApplicationMessage {
  return create(OAuth2ApplicationSchema, {
    id: BigInt(application.id),
    name: application.name,
    clientId: application.client_id,
    clientSecret: secret,
    confidentialClient: application.confidential === 1,
    redirectUris: redirectUrisOf(application),
    created: atSecond(application.create_time),
  })
}

function grantMessage({ grant, application }: GrantOfApplication): GrantMessage {
  return create(OAuth2GrantSchema, {
    id: BigInt(grant.id),
    applicationId: BigInt(application.id),
    clientId: application.client_id,
    applicationName: application.name,
    scopes: grant.scopes.split(' '),
    createdAt: atSecond(grant.create_time),
    updatedAt: atSecond(grant.update_time),
  })
}

export const oauth2Applications = defineService(OAuth2ApplicationService, oauth2ApplicationService)
