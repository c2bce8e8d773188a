import { STATUS_CODES } from 'node:http'
import { hasNoContent } from '../rpc/exchange/node.ts'
import type { Binding, Dialect } from '../rpc/rest/index.ts'
import { httpBodyGetter } from '../rpc/rest/request/http-body.ts'
import type { Content, Response, Schema } from './document.ts'
import type { Failure } from './failures.ts'
import type { Comments, Schemas } from './schemas.ts'

/** What the answers of an operation are made of. */
export interface ResponseSources {
  readonly comments: Comments
  /** HTTP status by name of a reason; undefined for reasons that the server never answers. */
  readonly statusOf: (reason: string) => number | undefined
}

/**
 * All answers of a binding by status: success, the failures of its RPC, and `default` for what
 * every RPC fails with.
 */
export function responsesOf(
  binding: Binding,
  failures: readonly Failure[],
  schemas: Schemas,
  { comments, statusOf }: ResponseSources,
): Record<string, Response> {
  const { dialect, successStatus } = binding
  const content: Content = { [dialect.contentType]: { schema: errorReference(dialect) } }
  const failed = [...conditionsByStatus(failures, statusOf)].map(
    ([status, conditions]): [string, Response] => [
      String(status),
      { description: conditions.join('\n'), content },
    ],
  )
  return {
    [successStatus]: successOf(binding, schemas, comments),
    ...Object.fromEntries(failed),
    default: {
      description: 'A failure that every operation of the service may have, or an internal error.',
      content,
    },
  }
}

function successOf(binding: Binding, schemas: Schemas, comments: Comments): Response {
  const { rpc, successStatus, isBodiless } = binding
  const [comment] = (comments.get(rpc.output.typeName) ?? '').split('\n\n')
  const headers = headersOf(binding, schemas)
  return {
    description: comment?.replaceAll('\n', ' ') || (STATUS_CODES[successStatus] ?? 'Done'),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(!isBodiless && !hasNoContent(successStatus) && { content: contentOf(binding, schemas) }),
  }
}

function contentOf(binding: Binding, schemas: Schemas): Content {
  const { rpc, dialect, responseBody, singleBody } = binding
  if (httpBodyGetter(rpc.output, responseBody)) return { '*/*': {} }
  const field = rpc.output.fields.find(({ name }) => name === responseBody)
  const body = field
    ? schemas.ofField(field, dialect, 'response')
    : schemas.ofMessage(rpc.output, dialect, 'response')
  const schema = singleBody
    ? { anyOf: [schemas.ofField(singleBody, dialect, 'response'), body] }
    : body
  const isStream = rpc.methodKind === 'server_streaming'
  // The schema is that of one line, or of the data of one event; OpenAPI 3.1 has no words for
  // sequences.
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
      description: 'Number of all results, on whatever page.',
      schema: { type: 'integer' },
    },
    Link: { description: 'Other pages, by relation (RFC 8288).', schema: { type: 'string' } },
  }
  return { ...Object.fromEntries(fromFields), ...paging }
}

/** Lines of text by status, in the order of statuses. */
function conditionsByStatus(
  failures: readonly Failure[],
  statusOf: ResponseSources['statusOf'],
): [status: number, lines: string[]][] {
  const lines = new Map<number, string[]>()
  for (const { reasons, condition } of failures) {
    for (const status of new Set(reasons.map(statusOf))) {
      if (status === undefined) continue
      const names = reasons.filter((reason) => statusOf(reason) === status)
      const line = `- ${names.map((name) => `\`${name}\``).join(', ')}: ${condition}.`
      lines.set(status, [...(lines.get(status) ?? []), line])
    }
  }
  return [...lines].sort(([a], [b]) => a - b)
}

function errorReference({ errors }: Dialect): Schema {
  return { $ref: `#/components/schemas/${errors === 'status' ? STATUS_NAME : MESSAGE_URL_NAME}` }
}

const STATUS_NAME = 'google.rpc.Status'
const MESSAGE_URL_NAME = 'MessageUrl'

/**
 * The schemas of error answers. Their members are always there, unlike those of the messages they
 * are made from.
 */
export function errorSchemas(dialects: readonly Dialect[]): Record<string, Schema> {
  const shapes = new Set(dialects.map(({ errors }) => errors))
  return {
    ...(shapes.has('messageUrl') && { [MESSAGE_URL_NAME]: messageUrlSchema }),
    ...(shapes.has('status') && { [STATUS_NAME]: statusSchema }),
  }
}

const statusSchema: Schema = {
  description: 'Why a call failed.',
  type: 'object',
  properties: {
    code: {
      type: 'integer',
      format: 'int32',
      description: 'A google.rpc.Code, the same as over RPC.',
    },
    message: {
      type: 'string',
      description: 'For people. It may change; programs read the details.',
    },
    details: {
      type: 'array',
      description:
        'Messages for programs. One of them is a google.rpc.ErrorInfo, unless the failure is an internal error or one ' +
        'of HTTP itself; its `reason` is one of those that the operation lists.',
      items: {
        type: 'object',
        properties: {
          '@type': {
            type: 'string',
            description: 'For example `type.googleapis.com/google.rpc.ErrorInfo`.',
          },
          reason: {
            type: 'string',
            description: 'Of an ErrorInfo: the reason, for example `USER_NOT_FOUND`.',
          },
          domain: { type: 'string', description: 'Of an ErrorInfo: whose reason it is.' },
          metadata: {
            type: 'object',
            description: 'Of an ErrorInfo: facts, by the keys that the reason documents.',
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
  description: 'Why a call failed.',
  type: 'object',
  properties: {
    message: { type: 'string', description: 'For people.' },
    url: { type: 'string', description: 'Where the API is documented.' },
  },
  required: ['message', 'url'],
}
