import type { Message } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { Interceptor } from '@connectrpc/connect'
import { Code, ConnectError } from '@connectrpc/connect'
import type { Compression, MethodImplSpec } from '../exchange/connect-internals.ts'
import type { ErrorStyle } from './errors.ts'
import type { ReplyContent, ReplyWriter } from './reply.ts'
import { compileContent, compileReply } from './reply.ts'
import type { HttpBodySetter } from './request/http-body.ts'
import { httpBodyGetter, httpBodySetter } from './request/http-body.ts'
import type { QueryReader } from './request/query.ts'
import { compileQuery } from './request/query.ts'
import type { Setter } from './request/setters.ts'
import { compilePathSetter } from './request/setters.ts'
import type { MaskDeriver } from './request/update-mask.ts'
import { compileMaskDeriver } from './request/update-mask.ts'
import type { Binding } from './schema/rules.ts'
import { FieldError } from './text/field-error.ts'
import type { BodyReader } from './text/json-read.ts'
import { compileBodyReader } from './text/json-read.ts'

/** The settings of the calls of one service, complete. */
export interface CallSettings {
  readonly interceptors: readonly Interceptor[]
  readonly readMaxBytes: number
  readonly writeMaxBytes: number
  readonly compressMinBytes: number
  /** In the order of preference. */
  readonly compressions: readonly Compression[]
  readonly maxTimeoutMs: number
}

/** Everything about a binding that can be known before the first request. */
export interface Endpoint {
  readonly binding: Binding
  readonly spec: MethodImplSpec
  readonly settings: CallSettings
  readonly errorStyle: ErrorStyle
  readonly pathSetters: readonly Setter[]
  readonly readQuery: QueryReader
  /** Reads JSON content; undefined without a body rule and for raw content. */
  readonly readBody: BodyReader | undefined
  /** Takes raw content; undefined unless the body is a google.api.HttpBody. */
  readonly setHttpBody: HttpBodySetter | undefined
  /**
   * Fills an update mask that the request leaves out; undefined where the schema does not ask for
   * that.
   */
  readonly deriveMask: MaskDeriver | undefined
  /** Answers a unary call. */
  readonly reply: ReplyWriter
  /** Turns one message of a stream into content. */
  readonly contentOf: (response: Message) => ReplyContent
  /** Whether the response is raw content. */
  readonly isRaw: boolean
}

/** Compiles a binding and the implementation of its RPC. */
export function compileEndpoint(
  binding: Binding,
  spec: MethodImplSpec,
  settings: CallSettings,
  style: Omit<ErrorStyle, 'dialect'>,
): Endpoint {
  const { input, output } = spec.method
  const { dialect, body, responseBody } = binding
  const { registry } = style
  const pathFields = binding.template.variables.map((variable) => variable.fieldPath)
  const setHttpBody = httpBodySetter(input, body)
  return {
    binding,
    spec,
    settings,
    errorStyle: { ...style, dialect },
    pathSetters: pathFields.map((path) =>
      compilePathSetter(input, path, dialect.query === 'lenient'),
    ),
    readQuery: compileQuery(input, { pathFields, body }, dialect),
    readBody:
      body === '' || setHttpBody !== undefined
        ? undefined
        : compileBodyReader(input, body, registry),
    setHttpBody,
    deriveMask: compileMaskDeriver(spec.method, body),
    reply: compileReply(binding, registry, settings.writeMaxBytes),
    contentOf: compileContent(binding, registry),
    isRaw: httpBodyGetter(output, responseBody) !== undefined,
  }
}

/** What a request gives to its message. */
export interface RequestParts {
  /** Values of the path variables, decoded. */
  readonly values: readonly string[]
  readonly target: string
  /** ReplyContent without its coding; empty if there is none. */
  readonly content: Uint8Array
  readonly contentType: string
}

/**
 * Makes the request message: body, then path variables, which win, then query parameters. Throws
 * InvalidArgument for anything that does not fit.
 */
export function buildRequest(
  endpoint: Endpoint,
  { values, target, content, contentType }: RequestParts,
): Message {
  const message = create(endpoint.spec.method.input)
  try {
    endpoint.setHttpBody?.(message, contentType, content)
    if (content.length > 0) endpoint.readBody?.(content, message)
    for (let i = 0; i < endpoint.pathSetters.length; i++)
      endpoint.pathSetters[i]?.(message, values[i] ?? '')
    const question = target.indexOf('?')
    if (question >= 0) endpoint.readQuery(message, target.slice(question + 1))
    endpoint.deriveMask?.(message, content)
  } catch (error) {
    if (error instanceof FieldError) throw new ConnectError(error.message, Code.InvalidArgument)
    throw error
  }
  return message
}
