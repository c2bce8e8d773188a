import { type DescMethod, type DescService, getOption } from '@bufbuild/protobuf'
import { Audience, access } from '#gen/branchline/access/v1/access_pb.ts'
import { generalFailures } from '#gen/failures.ts'
import { FieldBehavior, field_behavior } from '#gen/google/api/field_behavior_pb.ts'
import type { Binding } from '../../platform/rpc/index.ts'
import { httpBodySetter } from '../../platform/rpc/rest/request/http-body.ts'
import { compareText } from '../../platform/rpc/rest/schema/table.ts'
import { fieldNamed } from '../../platform/rpc/text/message-fields.ts'
import {
  OPERATION_METHODS,
  type OpenApiDocument,
  type Operation,
  type PathItem,
  type RequestBody,
  type SecurityScheme,
} from './document.ts'
import { pathParameters, queryParameters } from './parameters.ts'
import { documentPath, type PathParameter, pathsByShape } from './path.ts'
import { errorSchemas, lineOf, type ResponseSources, responsesOf } from './responses.ts'
import { Schemas, type Use } from './schemas.ts'

export type { OpenApiDocument } from './document.ts'

/** Failures that each operation would repeat otherwise. */
const DESCRIPTION = ['Every operation may fail with:', ...generalFailures.map(lineOf)].join('\n')

/** The sources of the document. */
interface OpenApiSources extends ResponseSources {
  readonly title: string
  readonly version: string
  /** Base of all paths, without a trailing slash. */
  readonly publicUrl: string
  /** Whether PUBLIC methods require credentials. */
  readonly isPrivateInstance: boolean
}

/**
 * Describes REST routes in OpenAPI 3.1. Names, types, behaviour and failures come from the schema, texts
 * from its comments. HEAD and OPTIONS, which every route answers, and HTTP methods unknown to OpenAPI
 * are left out. The document depends only on the routes and their order.
 */
export function createOpenApi(
  bindings: readonly Binding[],
  sources: OpenApiSources,
): OpenApiDocument {
  const schemas = new Schemas(sources.comments)
  const operationId = operationIds()
  const shared = pathsByShape()
  const paths: Record<string, Record<string, Operation>> = {}
  for (const binding of bindings) {
    const method = OPERATION_METHODS.find((known) => known.toUpperCase() === binding.httpMethod)
    if (method === undefined) continue
    const path = shared(documentPath(binding.template))
    // A second way whose parameter has another name only, such as a name in the place of a number.
    if (paths[path.text]?.[method] !== undefined) continue
    const operation = operationOf(
      binding,
      operationId(binding.rpc),
      path.parameters,
      schemas,
      sources,
    )
    paths[path.text] = { ...paths[path.text], [method]: operation }
  }
  const services = [...new Set(bindings.map(({ rpc }) => rpc.parent))].sort((a, b) =>
    compareText(a.name, b.name),
  )
  return {
    openapi: '3.1.1',
    info: { title: sources.title, description: DESCRIPTION, version: sources.version },
    servers: [{ url: sources.publicUrl }],
    tags: services.map((service) => tagOf(service, sources)),
    paths: inOrder(paths satisfies Record<string, PathItem>),
    components: {
      schemas: inOrder({
        ...schemas.components(),
        ...errorSchemas(bindings.map(({ dialect }) => dialect)),
      }),
      securitySchemes,
    },
  }
}

function operationOf(
  binding: Binding,
  operationId: string,
  path: readonly PathParameter[],
  schemas: Schemas,
  sources: OpenApiSources,
): Operation {
  const { rpc } = binding
  const comment = sources.comments.get(`${rpc.parent.typeName}.${rpc.name}`) ?? ''
  const [first = '', ...others] = comment.split('\n\n')
  const summary = first.replaceAll('\n', ' ')
  const access = documentAccess(rpc, sources.isPrivateInstance)
  const description = [...others, access.note].filter(Boolean).join('\n\n')
  const parameters = [
    ...pathParameters(binding, path, schemas),
    ...queryParameters(binding, schemas),
  ]
  const requestBody = requestBodyOf(binding, schemas)
  return {
    operationId,
    tags: [rpc.parent.name],
    ...(summary && { summary }),
    ...(description && { description }),
    ...(rpc.deprecated && { deprecated: true as const }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: responsesOf(binding, schemas, sources),
    security: access.security,
  }
}

function requestBodyOf(binding: Binding, schemas: Schemas): RequestBody | undefined {
  const { rpc, dialect, body, httpMethod, template } = binding
  if (body === '') return undefined
  if (httpBodySetter(rpc.input, body)) return { content: { '*/*': {} } }
  const use: Use = httpMethod === 'PATCH' ? 'partialRequest' : 'request'
  const field = fieldNamed(rpc.input, body)
  if (field) {
    const { description, ...schema } = schemas.ofField(field, dialect, use)
    return {
      ...(description && { description }),
      ...(getOption(field, field_behavior).includes(FieldBehavior.REQUIRED) && {
        required: true as const,
      }),
      content: { 'application/json': { schema } },
    }
  }
  const inPath = new Set(template.variables.map(({ fieldPath }) => fieldPath))
  const schema = rpc.input.fields.some(({ name }) => inPath.has(name))
    ? schemas.ofMessageWithout(rpc.input, inPath, dialect, use)
    : schemas.ofMessage(rpc.input, dialect, use)
  const needsContent = rpc.input.fields.some(
    (candidate) =>
      !inPath.has(candidate.name) &&
      getOption(candidate, field_behavior).includes(FieldBehavior.REQUIRED),
  )
  return {
    ...(needsContent && { required: true as const }),
    content: { 'application/json': { schema } },
  }
}

/** Returns the ids `Service_Method`, with a number from the second binding of a method. */
function operationIds(): (rpc: DescMethod) => string {
  const counts = new Map<string, number>()
  return ({ parent, name }) => {
    const id = `${parent.name}_${name}`
    const count = (counts.get(id) ?? 0) + 1
    counts.set(id, count)
    return count === 1 ? id : `${id}_${count}`
  }
}

function tagOf(
  { name, typeName }: DescService,
  { comments }: OpenApiSources,
): { name: string; description?: string } {
  const description = comments.get(typeName)
  return description === undefined ? { name } : { name, description }
}

function inOrder<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => compareText(a, b)))
}

/** The ways to send credentials. */
const securitySchemes: Readonly<Record<string, SecurityScheme>> = {
  basic: {
    type: 'http',
    scheme: 'basic',
    description: 'Username, and a password or a personal access token.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'Access token of a session, or a personal access token.',
  },
}

/** The access option of a method as described to clients. */
interface DocumentedAccess {
  readonly security: Operation['security']
  /** A sentence about tokens. Empty if there is none. */
  readonly note: string
}

/**
 * Reads the access option of a method. On a private instance, PUBLIC methods require credentials.
 */
function documentAccess(method: DescMethod, isPrivateInstance: boolean): DocumentedAccess {
  const { audience, scope, sessionOnly, ignoresCredentials, passwordOnly } = getOption(
    method,
    access,
  )
  if (ignoresCredentials) return { security: [], note: '' }
  if (passwordOnly)
    return {
      security: [{ basic: [] }],
      note: 'Only the password of the account is accepted, by Basic authentication.',
    }
  const isAnonymous =
    audience === Audience.ALWAYS_PUBLIC || (audience === Audience.PUBLIC && !isPrivateInstance)
  const scopes = scope === '' ? [] : scope.split(' ')
  const security = [{ bearer: scopes }, { basic: scopes }, ...(isAnonymous ? [{}] : [])]
  if (sessionOnly) return { security, note: 'Personal access tokens are not accepted.' }
  const named = scopes.map((name) => `\`${name}\``).join(' and ')
  const noun = scopes.length > 1 ? 'scopes' : 'scope'
  return { security, note: scope === '' ? '' : `Personal access tokens need the ${noun} ${named}.` }
}
