import { Code } from '@connectrpc/connect'
import type { HttpRequest, HttpResponse } from '../http/requests.ts'
import { codeToHttpStatus } from '../rpc/exchange/connect-internals.ts'

/** `/package.Service/Method`, as all three protocols have it. */
const RPC_PATH = /^\/[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\/[A-Za-z_]\w*$/

const MESSAGE = 'this method is not served'
const ERROR = { code: 'unimplemented', message: MESSAGE }

/** Set on the last message of a stream (https://connectrpc.com/docs/protocol#streaming-rpcs). */
const END_STREAM_FLAG = 2
const PREFIX_BYTES = 5

/** Sends the answer to a call of a method that is not served. */
export type Refuse = (response: HttpResponse) => void

/**
 * Returns how to refuse a request that is a call of gRPC, gRPC-Web or Connect, in its own protocol
 * and with the code that each has for it, UNIMPLEMENTED; undefined for any other request.
 *
 * @param path of the request, without its query, which no service has.
 */
export function refusalOfUnknownRpc(
  { method, headers, url = '' }: HttpRequest,
  path: string,
): Refuse | undefined {
  const contentType = headers['content-type'] ?? ''
  if (method === 'POST' && contentType.startsWith('application/grpc'))
    return refuseGrpc(contentType)
  if (method === 'POST' && /^application\/connect\+(?:json|proto)\b/.test(contentType))
    return refuseStream(contentType)
  const isUnary = headers['connect-protocol-version'] !== undefined || RPC_PATH.test(path)
  if (method === 'POST' && isUnary && /^application\/(?:json|proto)\b/.test(contentType))
    return refuseUnary
  // A call without side effects (https://connectrpc.com/docs/protocol#unary-get-request).
  if (method === 'GET' && /[?&]connect=v1(?:&|$)/.test(url) && RPC_PATH.test(path))
    return refuseUnary
  return undefined
}

/**
 * A status without content (Trailers-Only): one HEADERS frame that ends the stream, which node
 * sends when `end` comes first.
 */
function refuseGrpc(contentType: string): Refuse {
  return (response) => {
    response.setHeader('content-type', contentType)
    response.setHeader('grpc-status', String(Code.Unimplemented))
    response.setHeader('grpc-message', MESSAGE)
    response.end()
  }
}

function refuseStream(contentType: string): Refuse {
  return (response) => {
    const json = Buffer.from(JSON.stringify({ error: ERROR }))
    const prefix = Buffer.alloc(PREFIX_BYTES)
    prefix[0] = END_STREAM_FLAG
    prefix.writeUInt32BE(json.length, 1)
    response.setHeader('content-type', contentType)
    response.end(Buffer.concat([prefix, json]))
  }
}

function refuseUnary(response: HttpResponse): void {
  response.statusCode = codeToHttpStatus(Code.Unimplemented)
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(ERROR))
}
