/**
 * Calls of the API over the Connect protocol (https://connectrpc.com/docs/protocol), with messages in
 * their binary form: what pages need of it, in less script than the package.
 */

import type { DescMessage, DescService, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { takeBegun } from '../first-calls/begun-calls.ts'
import { decode, encode, type MessageType, type ServiceType } from './messages.ts'

/** Why a call has failed, with the numbers of gRPC. */
export const Code = {
  Canceled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const
export type Code = (typeof Code)[keyof typeof Code]

/** A part of a failure for programs. */
export interface ErrorDetail {
  /** The full name of the type of the message. */
  readonly type: string
  readonly value: Uint8Array
}

/** What an error is besides its message and code. */
interface ErrorFacts {
  readonly metadata?: Headers
  readonly details?: readonly ErrorDetail[]
  readonly cause?: unknown
}

/** A call has failed. */
export class ConnectError extends Error {
  readonly code: Code
  /** The message without the code. */
  readonly rawMessage: string
  readonly metadata: Headers
  readonly details: readonly ErrorDetail[]

  constructor(message: string, code: Code = Code.Unknown, facts: ErrorFacts = {}) {
    super(`[${nameOfCode(code)}] ${message}`, { cause: facts.cause })
    this.name = 'ConnectError'
    this.code = code
    this.rawMessage = message
    this.metadata = facts.metadata ?? new Headers()
    this.details = facts.details ?? []
  }

  /** Returns whatever was thrown as a failure of a call. The end of a signal is `Canceled`. */
  static from(thrown: unknown): ConnectError {
    if (thrown instanceof ConnectError) return thrown
    if (!(thrown instanceof Error)) return new ConnectError(String(thrown))
    if (thrown.name === 'AbortError') return new ConnectError(thrown.message, Code.Canceled)
    return new ConnectError(thrown.message, Code.Unknown, { cause: thrown })
  }

  /** Returns the details of a type. */
  findDetails<Desc extends DescMessage>(schema: Desc): MessageShape<Desc>[] {
    const type = schema as unknown as MessageType
    return this.details.flatMap((detail) => {
      if (detail.type !== type.typeName) return []
      try {
        return decode(type, detail.value) as MessageShape<Desc>
      } catch {
        // The message of the failure says what a person needs.
        return []
      }
    })
  }
}

/** The codes by their names in the protocol, such as `not_found`. */
const CODE_NAMES: ReadonlyMap<unknown, Code> = new Map(
  Object.entries(Code).map(([name, code]) => [
    name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase(),
    code,
  ]),
)

/** Returns the name of a code in the protocol, such as `not_found`. */
export function nameOfCode(code: Code): string {
  return String([...CODE_NAMES].find(([, number]) => number === code)?.[0])
}

/** Options of one call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the call is not sent again with a new token. */
  readonly isSentOnce?: boolean
}

/** A call in its binary form. */
export interface Call extends CallOptions {
  /** Service and method, as in the address. */
  readonly path: string
  readonly request: Uint8Array<ArrayBuffer>
}

/** The answer to a call. */
export interface Answer<Message> {
  readonly header: Headers
  readonly message: Message
  /** What came after the messages; of a stream, when all of them are read. */
  readonly trailer: Headers
}

/** Sends calls. */
export interface Transport {
  unary(call: Call): Promise<Answer<Uint8Array>>
  stream(call: Call): Promise<Answer<AsyncIterable<Uint8Array>>>
}

/** The calls of a service. */
export type Client<Service extends DescService> = {
  readonly [Method in keyof Service['method']]: Service['method'][Method] extends {
    methodKind: infer MethodKind
    input: infer Input extends DescMessage
    output: infer Output extends DescMessage
  }
    ? (
        request: MessageInitShape<Input>,
        options?: CallOptions,
      ) => MethodKind extends 'unary'
        ? Promise<MessageShape<Output>>
        : AsyncIterable<MessageShape<Output>>
    : never
}

/** Returns the calls of a service. */
export function createClient<Service extends DescService>(
  service: Service,
  transport: Transport,
): Client<Service> {
  const { typeName, methods } = service as unknown as ServiceType
  const calls = Object.entries(methods).map(([name, [input, output, isStream]]) => {
    const path = `/${typeName}/${name.charAt(0).toUpperCase()}${name.slice(1)}`
    const callOf = (init: unknown, options?: CallOptions) => ({
      ...options,
      path,
      request: encode(input, init),
    })
    const unary = async (init: unknown, options?: CallOptions) =>
      decode(output, (await transport.unary(callOf(init, options))).message)
    const stream = async function* (init: unknown, options?: CallOptions) {
      const { message } = await transport.stream(callOf(init, options))
      for await (const bytes of message) yield decode(output, bytes)
    }
    return [name, isStream ? stream : unary]
  })
  return Object.fromEntries(calls) as Client<Service>
}

/** Returns what sends calls to the server of the page. */
export function createTransport(): Transport {
  return {
    async unary(call) {
      const response = await post(call, 'application/proto', call.request)
      if (!response.ok) throw await failureOf(response)
      const message = new Uint8Array(await response.arrayBuffer())
      return { header: response.headers, message, trailer: trailerOf(response.headers) }
    },
    async stream(call) {
      const response = await post(call, 'application/connect+proto', inEnvelope(call.request))
      if (!response.ok) throw await failureOf(response)
      const trailer = new Headers()
      return { header: response.headers, message: messagesOf(response, trailer), trailer }
    },
  }
}

function post(
  { path, headers, signal }: Call,
  contentType: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<Response> {
  const begun = takeBegun(path, body)
  if (begun) return begun
  return fetch(path, {
    method: 'POST',
    headers: { 'connect-protocol-version': '1', ...headers, 'content-type': contentType },
    body,
    redirect: 'error',
    ...(signal && { signal }),
  })
}

/** The trailers of a call with one answer are headers with a prefix. */
function trailerOf(headers: Headers): Headers {
  const prefix = 'trailer-'
  const entries = [...headers].filter(([name]) => name.startsWith(prefix))
  return new Headers(entries.map(([name, value]) => [name.slice(prefix.length), value]))
}

/** An error in JSON, which nothing has checked. */
interface JsonError {
  readonly code?: unknown
  readonly message?: unknown
  readonly details?: readonly { readonly type: string; readonly value: string }[]
}

/** A proxy answers without an error of the protocol, and then the status decides. */
const CODES: Readonly<Record<number, Code>> = {
  400: Code.Internal,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.Unimplemented,
  429: Code.Unavailable,
  502: Code.Unavailable,
  503: Code.Unavailable,
  504: Code.Unavailable,
}

async function failureOf(response: Response): Promise<ConnectError> {
  const { status, headers } = response
  const code = CODES[status] ?? Code.Unknown
  try {
    return errorOf((await response.json()) as JsonError, headers)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return new ConnectError(`HTTP ${status}`, code, { metadata: headers })
  }
}

function errorOf(
  { code: name, message, details = [] }: JsonError,
  metadata: Headers,
): ConnectError {
  const code = CODE_NAMES.get(name)
  if (code === undefined) throw new SyntaxError('the answer is no error of the protocol')
  return new ConnectError(typeof message === 'string' ? message : '', code, {
    metadata,
    details: details.map(({ type, value }) => ({ type, value: bytesOf(value) })),
  })
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

/** The length of what stands before each message of a stream: flags, and the length of the message. */
const PREFIX_BYTES = 5

/** The flag of the last message, which is JSON. */
const END = 2

function inEnvelope(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(PREFIX_BYTES + message.length)
  new DataView(bytes.buffer).setUint32(1, message.length)
  bytes.set(message, PREFIX_BYTES)
  return bytes
}

/** Reads the messages of a stream, and then what the server says about its end. */
async function* messagesOf(response: Response, trailer: Headers): AsyncGenerator<Uint8Array> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let rest = new Uint8Array(0)
  /** Reads until there are so many bytes. Returns whether they have come. */
  const fill = async (length: number) => {
    const parts = [rest]
    let count = rest.length
    while (count < length) {
      const { value, done } = await reader.read()
      if (done) break
      parts.push(value.slice())
      count += value.length
    }
    if (parts.length > 1) rest = joined(parts, count)
    return count >= length
  }
  const take = (length: number) => {
    const bytes = rest.slice(0, length)
    rest = rest.slice(length)
    return bytes
  }
  try {
    while (await fill(PREFIX_BYTES)) {
      const prefix = take(PREFIX_BYTES)
      const length = new DataView(prefix.buffer).getUint32(1)
      if (!(await fill(length))) break
      if (prefix[0] === END) return endStream(take(length), trailer)
      yield take(length)
    }
    throw new ConnectError('the stream has ended too early', Code.Unavailable)
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Takes over the last message of a stream, and throws the failure in it. */
function endStream(bytes: Uint8Array, trailer: Headers): void {
  const { error, metadata = {} } = JSON.parse(new TextDecoder().decode(bytes)) as {
    error?: JsonError
    metadata?: Readonly<Record<string, readonly string[]>>
  }
  for (const [name, values] of Object.entries(metadata))
    for (const value of values) trailer.append(name, value)
  if (error) throw errorOf(error, trailer)
}
