import {
  type DescMethodUnary,
  fromJson,
  type JsonValue,
  type MessageInitShape,
  toJson,
} from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { expectDeclared } from '../support/declared-failures.ts'
import { type RpcProtocol, transportTo } from '../support/server.ts'

/** Every way to make a call. */
export const PROTOCOLS = ['REST', 'gRPC', 'gRPC-Web', 'Connect JSON', 'Connect binary'] as const
export type Protocol = (typeof PROTOCOLS)[number]

/** One call, as an RPC and as the REST request that stands for it. */
export interface Call<M extends DescMethodUnary = DescMethodUnary> {
  readonly method: M
  readonly input: MessageInitShape<M['input']>
  /** For example `PATCH /api/v1/users/bob?updateMask=email`. */
  readonly rest: string
  readonly body?: JsonValue
}

/** What came of it, in a form that does not depend on the protocol. */
export type Outcome =
  | { readonly message: JsonValue }
  | {
      readonly code: string
      readonly reason: string | undefined
      readonly metadata: Record<string, string>
    }

/** Types a call by its method. */
export function call<M extends DescMethodUnary>(
  method: M,
  input: MessageInitShape<M['input']>,
  rest: string,
  body?: JsonValue,
): Call {
  // The table holds calls of many methods, and each is checked here, where it is written.
  const typed: Call<M> =
    body === undefined ? { method, input, rest } : { method, input, rest, body }
  return typed as unknown as Call
}

/** Makes a call by a protocol. */
export async function invoke(
  url: string,
  protocol: Protocol,
  made: Call,
  authorization?: string,
): Promise<Outcome> {
  return protocol === 'REST'
    ? invokeRest(url, made, authorization)
    : invokeRpc(url, protocol, made, authorization)
}

async function invokeRpc(
  url: string,
  protocol: RpcProtocol,
  made: Call,
  authorization?: string,
): Promise<Outcome> {
  const { method, input } = made
  const client = createClient(method.parent, transportTo(url, protocol, authorization))
  const send = client[method.localName]
  if (!send) throw new Error(`no client method ${method.localName}`)
  try {
    // A unary method of a client takes a message and answers a promise.
    const output = await (send as (input: unknown) => Promise<never>)(input)
    return { message: toJson(method.output, output) }
  } catch (thrown) {
    const error = ConnectError.from(thrown)
    const [info] = error.findDetails(ErrorInfoSchema)
    return { code: Code[error.code] ?? '', reason: info?.reason, metadata: info?.metadata ?? {} }
  }
}

async function invokeRest(url: string, made: Call, authorization?: string): Promise<Outcome> {
  const [verb = '', path = ''] = made.rest.split(' ')
  const response = await fetch(url + path, {
    method: verb,
    headers: {
      ...(authorization !== undefined && { authorization }),
      ...(made.body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(made.body !== undefined && { body: JSON.stringify(made.body) }),
  })
  const json = (await response.json()) as JsonValue
  if (response.ok)
    return { message: toJson(made.method.output, fromJson(made.method.output, json)) }
  const { code, details } = json as { code: Code; details: Record<string, never>[] }
  const info = details.find(
    (detail) => detail['@type'] === 'type.googleapis.com/google.rpc.ErrorInfo',
  )
  expectDeclared(made.method, info?.reason)
  return { code: Code[code] ?? '', reason: info?.reason, metadata: info?.metadata ?? {} }
}
