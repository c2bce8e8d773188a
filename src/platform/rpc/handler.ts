import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  connectStreamType,
  failUnary,
  queryFormat,
  serveUnary,
  type UnaryMethod,
  unaryFormat,
} from './connect/index.ts'
import type { CallServer } from './exchange/call.ts'
import type { RpcMethod } from './exchange/method.ts'
import {
  type HttpExchange,
  type NodeServerRequest,
  type NodeServerResponse,
  send,
} from './exchange/node.ts'
import type { FramedType } from './framed/protocol.ts'
import { refuseFramed, serveFramed } from './framed/serve.ts'
import { grpcType } from './grpc/index.ts'
import { grpcWebType } from './grpc-web/index.ts'

/**
 * Answers a call. Refuses a call of an unknown method with UNIMPLEMENTED in its own protocol.
 * Returns false for a request that is no call, without an answer.
 */
export type RpcHandler<Request extends NodeServerRequest = NodeServerRequest> = (
  path: string,
  request: Request,
  response: NodeServerResponse,
) => boolean

/** Creates the handler of gRPC, gRPC-Web and Connect. The handler never throws. */
export function createRpcHandler(server: CallServer, methods: Iterable<RpcMethod>): RpcHandler {
  const byPath = new Map<string, RpcMethod>()
  for (const rpc of methods) byPath.set(rpcPath(rpc), rpc)
  const streamType = connectStreamType(server.registry)
  const framedType = (contentType: string) =>
    grpcType(contentType) ?? grpcWebType(contentType) ?? streamType(contentType)
  return (path, request, response) => {
    const rpc = byPath.get(path)
    const exchange = { request, response }
    if (rpc === undefined) return refuseUnknown(server, framedType, exchange, path)
    if (request.method === 'POST') answerPost(server, rpc, framedType, exchange)
    else answerGet(server, rpc, exchange)
    return true
  }
}

/** Returns the path of a method in all three protocols. */
export function rpcPath({ method }: Pick<RpcMethod, 'method'>): string {
  return `/${method.parent.typeName}/${method.name}`
}

function answerPost(
  server: CallServer,
  rpc: RpcMethod,
  framedType: (contentType: string) => FramedType | undefined,
  exchange: HttpExchange,
): void {
  const { request } = exchange
  const contentType = request.headers['content-type'] ?? ''
  const format = isUnary(rpc) ? unaryFormat(contentType) : undefined
  if (format !== undefined && isUnary(rpc)) {
    void serveUnary(server, rpc, format, exchange)
    return
  }
  const type = framedType(contentType)
  // Connect has no envelopes in unary calls.
  if (type === undefined || (type.protocol.name === 'connect' && isUnary(rpc)))
    refuse(server, exchange, 415, ['Accept-Post', acceptPost(rpc)])
  // A client of HTTP/1.1 sends its whole request first, so that a dialogue would never begin.
  else if (rpc.spec.kind === 'bidi_streaming' && request.httpVersionMajor === 1)
    refuse(server, exchange, 505, ['Connection', 'close'])
  else void serveFramed(server, rpc, type, exchange)
}

function answerGet(server: CallServer, rpc: RpcMethod, exchange: HttpExchange): void {
  const { method, url = '' } = exchange.request
  if (method !== 'GET' || !isSafe(rpc) || !isUnary(rpc)) {
    refuse(server, exchange, 405, ['Allow', isSafe(rpc) && isUnary(rpc) ? 'POST, GET' : 'POST'])
    return
  }
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1))
  const format = url.includes('?') ? queryFormat(query) : undefined
  if (format === undefined) refuse(server, exchange, 415, [])
  else void serveUnary(server, rpc, format, exchange, query)
}

/** The form of the path of a method: `/package.Service/Method`. */
const METHOD_PATH = /^\/[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\/[A-Za-z_]\w*$/

/** Refuses a call of an unknown method. Returns false for a request that is no call. */
function refuseUnknown(
  server: CallServer,
  framedType: (contentType: string) => FramedType | undefined,
  exchange: HttpExchange,
  path: string,
): boolean {
  const { method, headers, url = '' } = exchange.request
  const contentType = headers['content-type'] ?? ''
  const type = method === 'POST' ? framedType(contentType) : undefined
  const hasPath = METHOD_PATH.test(path)
  const isPost =
    method === 'POST' &&
    (hasPath || headers['connect-protocol-version'] !== undefined) &&
    unaryFormat(contentType) !== undefined
  const isGet = method === 'GET' && hasPath && CONNECT_QUERY.test(url)
  if (type === undefined && !isPost && !isGet) return false
  const error = new ConnectError('this method is not served', Code.Unimplemented)
  if (type !== undefined) refuseFramed(server, type, exchange, error)
  else {
    const defaults = server.headers?.(exchange.request) ?? []
    // The conformance suite of Connect requires the status of an unknown resource.
    failUnary(server, exchange, { error, defaults, status: 404 })
  }
  return true
}

/** In the query of a call by GET (https://connectrpc.com/docs/protocol#unary-get-request). */
const CONNECT_QUERY = /[?&]connect=v1(?:&|$)/

function isUnary(rpc: RpcMethod): rpc is UnaryMethod {
  return rpc.spec.kind === 'unary'
}

/** Returns whether a method may be called by GET. */
function isSafe({ method }: RpcMethod): boolean {
  return method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS
}

const FRAMED_TYPES = ['grpc', 'grpc-web', 'grpc-web-text'].flatMap((name) => [
  `application/${name}`,
  `application/${name}+proto`,
  `application/${name}+json`,
])

/** https://www.w3.org/TR/ldp/#header-accept-post */
function acceptPost(rpc: RpcMethod): string {
  const ofConnect = isUnary(rpc)
    ? ['application/json', 'application/proto']
    : ['application/connect+json', 'application/connect+proto']
  return [...FRAMED_TYPES, ...ofConnect].join(', ')
}

/** Answers a request that belongs to no protocol. */
function refuse(
  server: CallServer,
  exchange: HttpExchange,
  status: number,
  headers: string[],
): void {
  const defaults = server.headers?.(exchange.request) ?? []
  send(exchange, { status, headers, body: undefined, contentType: '' }, defaults)
}
