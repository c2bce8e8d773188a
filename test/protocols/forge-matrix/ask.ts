import {
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  getOption,
  type Message,
  toJson,
} from '@bufbuild/protobuf'
import { Code, ConnectError, createConnectRouter, type Transport } from '@connectrpc/connect'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { http } from '#gen/google/api/annotations_pb.ts'
import type { HttpRule } from '#gen/google/api/http_pb.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { method as restOption } from '#gen/rest/v1/rest_pb.ts'
import { registerServices } from '../../../src/forge/service-registry.ts'
import { dialectOf } from '../../../src/platform/rpc/index.ts'
import { testApp } from '../../support/app.ts'
import { type RpcProtocol, transportTo } from '../../support/server.ts'

/**
 * Asks by RPC, in one way for methods that answer once and for those that stream.
 *
 * @returns what came of it: `ok`, the reason of the refusal, or the code of an error without one.
 */
export type Ask = (
  method: DescMethod,
  request: Message,
  authorization: string | undefined,
  protocol?: RpcProtocol,
) => Promise<string>

/** Asks a server. Who asks again does so over the same connection. */
export function askerAt(url: string): Ask {
  const transports = new Map<string, Transport>()
  const transportOf = (protocol: RpcProtocol, authorization: string | undefined) => {
    const key = `${protocol} ${authorization}`
    const transport = transports.get(key) ?? transportTo(url, protocol, authorization)
    transports.set(key, transport)
    return transport
  }
  return async (method, request, authorization, protocol = 'Connect JSON') => {
    try {
      await send(transportOf(protocol, authorization), method, request)
      return 'ok'
    } catch (thrown) {
      const error = ConnectError.from(thrown)
      const [info] = error.findDetails(ErrorInfoSchema)
      return info?.reason ?? `${Code[error.code]}: ${error.message}`
    }
  }
}

async function send(transport: Transport, method: DescMethod, request: Message): Promise<void> {
  if (isUnary(method)) {
    await transport.unary(method, undefined, undefined, undefined, request)
    return
  }
  const { message } = await transport.stream(
    method as DescMethodStreaming,
    undefined,
    undefined,
    undefined,
    once(request),
  )
  for await (const _ of message);
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === 'unary'
}

async function* once<T>(item: T): AsyncGenerator<T> {
  yield item
}

/** A request over HTTP. */
export interface RestRequest {
  readonly verb: string
  readonly path: string
  /** JSON text. */
  readonly body?: string
}

/** The same call as a request over REST, by every route that the method has. */
export function restRequestsOf(method: DescMethod, request: Message): RestRequest[] {
  return routesOf(method).map(({ verb, template, body }) => {
    const fields = toJson(method.input, request, { useProtoFieldName: true }) as Record<
      string,
      unknown
    >
    const path = template.replace(
      /\{(\w+)(?:=([^}]*))?\}/g,
      (_, name: string, pattern?: string) => {
        const value = String(fields[name] ?? literalOf(pattern))
        delete fields[name]
        return pattern === '**'
          ? value.split('/').map(encodeURIComponent).join('/')
          : encodeURIComponent(value)
      },
    )
    if (body === '*') return { verb, path, body: JSON.stringify(fields) }
    const named = body === undefined ? undefined : fields[body]
    // Other fields of bodies are files, which the calls of the matrix do not need.
    const isMessage = typeof named === 'object'
    if (isMessage) delete fields[body ?? '']
    const query = new URLSearchParams(
      Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]),
    )
    return {
      verb,
      path: query.size === 0 ? path : `${path}?${query}`,
      ...(isMessage && { body: JSON.stringify(named) }),
    }
  })
}

/** Returns the first value of a variable that has few, such as `branch` of `branch|tag`; or none. */
function literalOf(pattern = ''): string {
  return pattern.includes('*') ? '' : (pattern.split('|')[0] ?? '')
}

/** Sends one, and follows no redirects. */
export function sendRest(
  url: string,
  request: RestRequest,
  authorization: string | undefined,
): Promise<Response> {
  const { verb, path, body } = request
  return fetch(url + path, {
    method: verb,
    redirect: 'manual',
    headers: {
      'content-type': 'application/json',
      ...(authorization !== undefined && { authorization }),
    },
    ...(body !== undefined && { body }),
  })
}

/** Headers that differ from answer to answer, by the time and the state of the connection. */
const FLEETING: readonly string[] = ['date', 'x-request-id', 'connection', 'keep-alive']

/** Everything that comes back. */
export async function wholeAnswer(answering: Promise<Response>) {
  const response = await answering
  const headers = [...response.headers].filter(([name]) => !FLEETING.includes(name))
  return { status: response.status, headers, body: await response.text() }
}

interface Route {
  readonly verb: string
  readonly template: string
  /** `*` for all that is not in the path. */
  readonly body: string
}

/** Every route of a method over REST, by its annotations. */
export function routesOf(method: DescMethod): Route[] {
  const rule = getOption(method, http)
  return [rule, ...rule.additionalBindings, ...getOption(method, restOption).bindings].flatMap(
    routeOf,
  )
}

function routeOf({ pattern, body }: HttpRule): Route[] {
  if (pattern.case === undefined || pattern.case === 'custom') return []
  return [{ verb: pattern.case.toUpperCase(), template: pattern.value, body }]
}

/** Whether a method belongs to the forge, whose clients know the errors of other forges. */
export function isOfForge({ parent }: DescMethod): boolean {
  return dialectOf(parent, [RepositoryService]).errors === 'messageUrl'
}

/** Every method of the server. */
export async function servedMethods(): Promise<DescMethod[]> {
  const router = createConnectRouter()
  registerServices(router, await testApp())
  return router.handlers.map(({ method }) => method)
}
