import { STATUS_CODES } from 'node:http'
import { getOption } from '@bufbuild/protobuf'
import type { Failure } from '#gen/failures.ts'
import { method as methodOption } from '#gen/rest/v1/rest_pb.ts'
import { hasNoContent } from '../../platform/rpc/exchange/node.ts'
import type { Binding, Dialect } from '../../platform/rpc/index.ts'
import { httpBodyGetter } from '../../platform/rpc/rest/request/http-body.ts'
import { fieldNamed } from '../../platform/rpc/text/message-fields.ts'
import type { Content, Response, Schema } from './document.ts'
import type { Comments, Schemas } from './schemas.ts'

/** The sources of the responses. */
export interface ResponseSources {
  readonly comments: Comments
  /** By the full name of the method. */
  readonly failures: ReadonlyMap<string, readonly Failure[]>
  /** Returns the HTTP status of a reason; undefined for a reason that the server never returns. */
  readonly statusOf: (reason: string) => number | undefined
}

/**
 * Returns the responses of a binding by status: success, the failures of its RPC, and `default` for
 * failures that every RPC may have.
 */
export function responsesOf(
  binding: Binding,
  schemas: Schemas,
  { comments, failures, statusOf }: ResponseSources,
): Record<string, Response> {
  const { dialect, rpc, successStatus } = binding
  const content: Content = { [dialect.contentType]: { schema: errorReference(dialect) } }
  const ofMethod = failures.get(`${rpc.parent.typeName}.${rpc.name}`) ?? []
  const failed = [...conditionsByStatus(ofMethod, statusOf)].map(
    ([status, conditions]): [string, Response] => [
      String(status),
      { description: conditions.join('\n'), content },
    ],
  )
  const successes = [successStatus, ...getOption(rpc, methodOption).otherSuccessStatuses]
  return {
    ...Object.fromEntries(
      successes.map((status) => [status, successOf(binding, status, schemas, comments)]),
    ),
    ...Object.fromEntries(failed),
    default: {
      description:
        'An error that every operation may return, as the description of the API says, or an internal error.',
      content,
    },
  }
}

/** Returns a failure as an item of a list in Markdown. */
export function lineOf({ reason, condition }: Failure): string {
  return `- \`${reason}\`: ${condition}`
}

/** Returns whether a response has content. That of a declared 205 has, as in compatible systems. */
function hasContent({ isBodiless, successStatus }: Binding, status: number): boolean {
  if (isBodiless) return false
  return !hasNoContent(status) || (status === 205 && successStatus === 205)
}

function successOf(
  binding: Binding,
  status: number,
  schemas: Schemas,
  comments: Comments,
): Response {
  const { rpc } = binding
  const [comment] = (comments.get(rpc.output.typeName) ?? '').split('\n\n')
  const headers = headersOf(binding, schemas)
  return {
    description: comment?.replaceAll('\n', ' ') || (STATUS_CODES[status] ?? 'Done'),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(hasContent(binding, status) && { content: contentOf(binding, schemas) }),
  }
}

function contentOf(binding: Binding, schemas: Schemas): Content {
  const { rpc, dialect, responseBody, singleBody } = binding
  if (httpBodyGetter(rpc.output, responseBody)) return { '*/*': {} }
  const field = fieldNamed(rpc.output, responseBody)
  const body = field
    ? schemas.ofField(field, dialect, 'response')
    : schemas.ofMessage(rpc.output, dialect, 'response')
  const schema = singleBody
    ? { anyOf: [schemas.ofField(singleBody, dialect, 'response'), body] }
    : body
  const isStream = rpc.methodKind === 'server_streaming'
  // The schema describes one line, or the data of one event. OpenAPI 3.1 cannot describe sequences.
  return isStream
    ? { 'application/x-ndjson': { schema }, 'text/event-stream': { schema } }
    : { [dialect.contentType]: { schema } }
}

function headersOf(
  { dialect, headers, page }: Binding,
  schemas: Schemas,
): NonNullable<Response['headers']> {
  const fromFields = headers.map(({ name, field }) => {
    const description = schemas.descriptionOf(field)
    return [
      name,
      { ...(description && { description }), schema: schemas.valueOf(field, dialect, 'response') },
    ]
  })
  const paging = page && {
    'X-Total-Count': {
      description: 'Number of results on all pages.',
      schema: { type: 'integer' },
    },
    Link: {
      description: 'Links to other pages by relation (RFC 8288).',
      schema: { type: 'string' },
    },
  }
  return { ...Object.fromEntries(fromFields), ...paging }
}

/** Returns lines of text by status, sorted by status. */
function conditionsByStatus(
  failures: readonly Failure[],
  statusOf: ResponseSources['statusOf'],
): [status: number, lines: string[]][] {
  const lines = new Map<number, string[]>()
  for (const failure of failures) {
    const status = statusOf(failure.reason)
    if (status !== undefined) lines.set(status, [...(lines.get(status) ?? []), lineOf(failure)])
  }
  return [...lines].sort(([a], [b]) => a - b)
}

function errorReference({ errors }: Dialect): Schema {
  return { $ref: `#/components/schemas/${errors === 'status' ? STATUS_NAME : MESSAGE_URL_NAME}` }
}

const STATUS_NAME = 'google.rpc.Status'
const MESSAGE_URL_NAME = 'MessageUrl'

/** Returns the schemas of error responses. Their members are always present. */
export function errorSchemas(dialects: readonly Dialect[]): Record<string, Schema> {
  const shapes = new Set(dialects.map(({ errors }) => errors))
  return {
    ...(shapes.has('messageUrl') && { [MESSAGE_URL_NAME]: messageUrlSchema }),
    ...(shapes.has('status') && { [STATUS_NAME]: statusSchema }),
  }
}

const statusSchema: Schema = {
  description: 'The error of a failed call.',
  type: 'object',
  properties: {
    code: {
      type: 'integer',
      format: 'int32',
      description: 'A google.rpc.Code, the same as over RPC.',
    },
    message: {
      type: 'string',
      description: 'Message for people, which may change. Programs read the details.',
    },
    details: {
      type: 'array',
      description:
        'Messages for programs. One is a google.rpc.ErrorInfo, except for internal errors and errors of HTTP. ' +
        'Its `reason` is one of those that the operation lists.',
      items: {
        type: 'object',
        properties: {
          '@type': {
            type: 'string',
            description: 'For example `type.googleapis.com/google.rpc.ErrorInfo`.',
          },
          reason: {
            type: 'string',
            description: 'The reason in an ErrorInfo, for example `USER_NOT_FOUND`.',
          },
          domain: { type: 'string', description: 'The domain of the reason in an ErrorInfo.' },
          metadata: {
            type: 'object',
            description: 'The metadata of an ErrorInfo, with the keys that the reason documents.',
            additionalProperties: { type: 'string' },
          },
        },
        required: ['@type'],
      },
    },
  },
  required: ['code', 'message'],
}

const messageUrlSchema: Schema = {
  description: 'The error of a failed call.',
  type: 'object',
  properties: {
    message: { type: 'string', description: 'Message for people.' },
    url: { type: 'string', description: 'URL of the API documentation.' },
  },
  required: ['message', 'url'],
}
