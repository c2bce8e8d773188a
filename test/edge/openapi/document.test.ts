import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, describe, expect, it } from 'vitest'
import { comments } from '#gen/comments.ts'
import { failures } from '#gen/failures.ts'
import { restStatusOf } from '../../../src/edge/errors.ts'
import type { Operation, Schema } from '../../../src/edge/openapi/document.ts'
import { createOpenApi, type OpenApiDocument } from '../../../src/edge/openapi/index.ts'
import { registerServices } from '../../../src/forge/service-registry.ts'
import { createRpc, type RouteEntry } from '../../../src/platform/rpc/index.ts'
import { testApp } from '../../support/app.ts'

let routes: RouteEntry[]
let document: OpenApiDocument

function documentOf(isPrivateInstance: boolean): OpenApiDocument {
  return createOpenApi(
    routes.map(({ binding }) => binding),
    {
      comments,
      failures,
      statusOf: restStatusOf,
      title: 'Branchline',
      version: '1.2.3',
      publicUrl: 'https://forge.example',
      isPrivateInstance,
    },
  )
}

beforeAll(async () => {
  const rpc = createRpc()
  registerServices(rpc.router, await testApp())
  routes = rpc.routes()
  document = documentOf(false)
})

function operations(): Operation[] {
  return Object.values(document.paths).flatMap((item) => Object.values(item))
}

function operation(id: string): Operation {
  const found = operations().find(({ operationId }) => operationId === id)
  if (found === undefined) throw new Error(`no operation ${id}`)
  return found
}

function schema(name: string): Schema {
  const found = document.components.schemas[name]
  if (found === undefined) throw new Error(`no schema ${name}`)
  return found
}

/** A JSON value without the texts for people. */
function withoutTexts(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, member) =>
      (key === 'description' || key === 'summary') && typeof member === 'string'
        ? undefined
        : member,
    ),
  )
}

/** Returns the routes that differ in more than the names of their parameters, which OpenAPI forbids. */
function firstsOfShape(served: readonly RouteEntry[]): RouteEntry[] {
  const seen = new Set<string>()
  return served.filter(({ rpc, method, template }) => {
    const shape = `${rpc} ${method} ${template.replaceAll(/\{[^}]*\}/g, '{}')}`
    return !seen.has(shape) && seen.add(shape)
  })
}

const user = { $ref: '#/components/schemas/branchline.v1.User' }
const json = (content: Schema) => ({ content: { 'application/json': { schema: content } } })
const failure = json({ $ref: '#/components/schemas/google.rpc.Status' })
const userInPath = { name: 'user', in: 'path', required: true, schema: { type: 'string' } }

/** Success, and failures by status; every operation may fail in other ways too. */
function responses(success: object, ...failed: number[]) {
  return {
    200: success,
    ...Object.fromEntries(failed.map((status) => [status, failure])),
    default: failure,
  }
}

describe('the document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    const { valid, errors } = await validator.validate(JSON.parse(JSON.stringify(document)))
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
    expect(validator.version).toBe('3.1')
  })

  it('describes every route once, and nothing else', () => {
    const described = operations().map(({ operationId }) => operationId)
    const served = firstsOfShape(routes).map(({ rpc }) =>
      rpc.replace('branchline.v1.', '').replace('/', '_'),
    )
    // The second way to reach a method is `_2`.
    expect(described.map((id) => id.replace(/_\d+$/, '')).toSorted()).toEqual(served.toSorted())
    expect(new Set(described).size).toBe(described.length)
  })

  it('has exactly the schemas that it refers to', () => {
    const text = JSON.stringify(document)
    const referred = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name,
    )
    expect([...new Set(referred)].toSorted()).toEqual(Object.keys(document.components.schemas))
  })

  it('is deterministic', () => {
    expect(JSON.stringify(documentOf(false))).toBe(JSON.stringify(document))
  })

  it('has the URL of the server and describes its services', () => {
    expect(document.info).toMatchObject({ title: 'Branchline', version: '1.2.3' })
    expect(document.servers).toEqual([{ url: 'https://forge.example' }])
    expect(document.tags.map(({ name }) => name)).toEqual([
      'AccessTokenService',
      'AccountService',
      'AdminService',
      'AuthService',
      'BranchProtectionService',
      'BranchService',
      'CodeSearchService',
      'CollaboratorService',
      'CommitService',
      'CommitStatusService',
      'ContentService',
      'ConversationService',
      'DeployKeyService',
      'EventService',
      'FeedService',
      'FollowService',
      'ForkService',
      'GitHookService',
      'GitObjectService',
      'GpgKeyService',
      'HookService',
      'IdentityProviderService',
      'ImportService',
      'InstanceService',
      'IssueAttachmentService',
      'IssueCommentService',
      'IssueEventService',
      'IssueExchangeService',
      'IssuePinService',
      'IssueQueryService',
      'IssueService',
      'IssueTemplateService',
      'IssueTransferService',
      'IssueViewService',
      'LabelService',
      'LanguageService',
      'LfsService',
      'MaintenanceService',
      'MarkupService',
      'MemoService',
      'MergeQueueService',
      'MilestoneService',
      'MirrorService',
      'NotificationService',
      'OAuth2ApplicationService',
      'OrganizationHookService',
      'OrganizationService',
      'PublicKeyService',
      'PullFileService',
      'PullMergeService',
      'PullRequestService',
      'PullStackService',
      'QuotaGroupService',
      'QuotaService',
      'ReactionService',
      'ReleaseNoteService',
      'ReleaseService',
      'RepositoryEventService',
      'RepositoryService',
      'ReviewService',
      'ServerService',
      'SshService',
      'StarService',
      'StopwatchService',
      'SubIssueService',
      'SubscriptionService',
      'SuggestionService',
      'SystemHookService',
      'TagProtectionService',
      'TagService',
      'TeamService',
      'TemplateService',
      'TopicService',
      'TrackedTimeService',
      'TwoFactorService',
      'UserEmailService',
      'UserHookService',
      'UserService',
      'ViewedFileService',
    ])
    const auth = document.tags.find(({ name }) => name === 'AuthService')
    expect(auth?.description).toMatch(/^Sessions of users\./)
  })
})

describe('operations', () => {
  it('GetUser', () => {
    expect(withoutTexts(document.paths['/api/v1/users/{user}']?.get)).toEqual({
      operationId: 'UserService_GetUser',
      tags: ['UserService'],
      parameters: [userInPath, { name: 'readMask', in: 'query', schema: { type: 'string' } }],
      responses: responses(json(user), 400, 404),
      security: [{ bearer: ['read:user'] }, { basic: ['read:user'] }, {}],
    })
  })

  it('a response that is an object or a list', () => {
    const reference = { $ref: '#/components/schemas/branchline.v1.Reference' }
    const [answer] = Object.values(operation('GitObjectService_ListGitRefs').responses)
    expect(withoutTexts(answer?.content)).toEqual({
      'application/json;charset=utf-8': {
        schema: { anyOf: [reference, { type: 'array', items: reference }] },
      },
    })
  })

  it('ListUsers', () => {
    expect(withoutTexts(document.paths['/api/v1/users']?.get)).toEqual({
      operationId: 'UserService_ListUsers',
      tags: ['UserService'],
      parameters: [
        { name: 'pageSize', in: 'query', schema: { type: 'integer', format: 'int32' } },
        { name: 'pageToken', in: 'query', schema: { type: 'string' } },
        { name: 'filter', in: 'query', schema: { type: 'string' } },
        { name: 'showDeleted', in: 'query', schema: { type: 'boolean' } },
      ],
      responses: responses(
        json({ $ref: '#/components/schemas/branchline.v1.ListUsersResponse' }),
        400,
        403,
      ),
      security: [{ bearer: ['read:admin'] }, { basic: ['read:admin'] }],
    })
  })

  it('CreateUser', () => {
    expect(withoutTexts(document.paths['/api/v1/users']?.post)).toEqual({
      operationId: 'UserService_CreateUser',
      tags: ['UserService'],
      parameters: [
        { name: 'userId', in: 'query', schema: { type: 'string' } },
        { name: 'validateOnly', in: 'query', schema: { type: 'boolean' } },
        { name: 'requestId', in: 'query', schema: { type: 'string' } },
      ],
      requestBody: { required: true, ...json(user) },
      responses: responses(json(user), 400, 403, 409),
      security: [{ bearer: [] }, { basic: [] }, {}],
    })
  })

  it('UpdateUser, whose mask comes from the body', () => {
    expect(withoutTexts(document.paths['/api/v1/users/{user}']?.patch)).toEqual({
      operationId: 'UserService_UpdateUser',
      tags: ['UserService'],
      parameters: [
        userInPath,
        { name: 'updateMask', in: 'query', schema: { type: 'string' } },
        { name: 'allowMissing', in: 'query', schema: { type: 'boolean' } },
      ],
      requestBody: { required: true, ...json(user) },
      responses: responses(json(user), 400, 401, 403, 404, 409),
      security: [{ bearer: ['write:user'] }, { basic: ['write:user'] }],
    })
  })

  it('ListAccessTokens, which accepts only a password', () => {
    const { security, description } = operation('AccessTokenService_ListAccessTokens')
    expect(security).toEqual([{ basic: [] }])
    expect(description).toContain(
      'Only the password of the account is accepted, by Basic authentication.',
    )
  })

  it('SignIn, which ignores credentials', () => {
    const body = json({ $ref: '#/components/schemas/branchline.v1.SignInRequest' })
    const answer = json({ $ref: '#/components/schemas/branchline.v1.SignInResponse' })
    expect(withoutTexts(document.paths['/api/v1/auth/signin']?.post)).toEqual({
      operationId: 'AuthService_SignIn',
      tags: ['AuthService'],
      requestBody: body,
      responses: expect.objectContaining(responses(answer, 400, 401, 403, 404, 429)),
      security: [],
    })
  })

  it('GetUserAvatar, whose response is a file', () => {
    expect(document.paths['/file/users/{user}/avatar']?.get?.responses['200']?.content).toEqual({
      '*/*': {},
    })
  })

  it('CreatePersonalAccessToken, whose body lacks the fields of the path', () => {
    const content = operation('UserService_CreatePersonalAccessToken').requestBody?.content[
      'application/json'
    ]
    expect(Object.keys(content?.schema?.properties ?? {})).toEqual([
      'description',
      'expiresInDays',
      'scopes',
      'currentPassword',
    ])
  })

  it('require credentials for public data on a private instance', () => {
    const { get } = documentOf(true).paths['/api/v1/users/{user}'] ?? {}
    expect(get?.security).toEqual([{ bearer: ['read:user'] }, { basic: ['read:user'] }])
  })
})

describe('texts', () => {
  it('come from the comments of the schema', () => {
    const { summary, description } = operation('UserService_UpdateUser')
    expect(summary).toBe(
      'Changes the fields of an account that update_mask names, all of them or none.',
    )
    expect(description).toMatch(/^The paths are `username`/)
    expect(description).toMatch(/Personal access tokens need the scope `write:user`\.$/)
    expect(schema('branchline.v1.User').properties?.email?.description).toMatch(/^E-mail address\./)
    expect(schema('branchline.v1.State').description).toContain('- `NORMAL`: Active.')
  })

  it('relate path parameters to resource names', () => {
    expect(operation('UserService_UpdateUser').parameters?.[0]?.description).toBe(
      'The last segment of the resource name `users/{user}`, which is the request field `user.name`.',
    )
  })

  it('list the failures of an operation by status', () => {
    expect(operation('UserService_DeleteUser').responses['400']?.description).toBe(
      '- `LAST_ADMIN`: The change would leave the instance without an administrator who can sign in.\n' +
        '- `HAS_ASSOCIATED_DATA`: The account owns content and `force` is not set.',
    )
  })
})

describe('schemas', () => {
  it('mark read-only and write-only fields', () => {
    const { password, createTime, username } = schema('branchline.v1.User').properties ?? {}
    expect(password).toMatchObject({ type: 'string', writeOnly: true })
    expect(createTime).toMatchObject({ type: 'string', format: 'date-time', readOnly: true })
    expect(Object.keys(username ?? {})).toEqual(['type', 'description'])
  })

  it.each([
    [
      'of answers, what is always in them',
      'branchline.v1.ListUsersResponse',
      ['users', 'totalSize'],
    ],
    ['of requests, what the server needs', 'branchline.v1.BatchGetUsersRequest', ['usernames']],
    ['of both, nothing', 'branchline.v1.User', undefined],
  ])('require %s', (_, name, required) => {
    expect(schema(name).required).toEqual(required)
  })

  it('name the members of a oneof', () => {
    expect(schema('branchline.v1.SignInRequest').description).toContain(
      'At most one of `passwordCredentials`, `ssoCredentials`.',
    )
  })
})
