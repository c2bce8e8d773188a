import { Code, ConnectError } from '@connectrpc/connect'
import { HttpStatusSchema } from '#gen/rest/v1/rest_pb.ts'

/**
 * Creates an error whose HTTP status is not that of its code. A detail of the type HttpStatus has
 * the status, as for errors that implementations throw.
 */
export function httpError(
  status: number,
  code: Code,
  message: string,
  headers: Record<string, string> = {},
): ConnectError {
  return new ConnectError(message, code, undefined, [
    { desc: HttpStatusSchema, value: { status, headers } },
  ])
}

/** Returns the error for a method that the resource does not support (RFC 9110 15.5.6). */
export function methodNotAllowed(httpMethod: string, allow: readonly string[]): ConnectError {
  return httpError(405, Code.Unimplemented, `${httpMethod} is not served here`, {
    Allow: allow.join(', '),
  })
}

/** Returns the error for content that is larger than the limit, before or after decompression. */
export function contentTooLarge(maxBytes: number): ConnectError {
  return httpError(
    413,
    Code.ResourceExhausted,
    `the request content is larger than ${maxBytes} bytes`,
  )
}

/** Returns the error for a message of an RPC protocol that is larger than the limit. */
export function messageTooLarge(maxBytes: number): ConnectError {
  return new ConnectError(
    `the request message is larger than ${maxBytes} bytes`,
    Code.ResourceExhausted,
  )
}

/** Returns the error for a request target that is longer than the limit. */
export function targetTooLong(maxBytes: number): ConnectError {
  return httpError(414, Code.InvalidArgument, `the request target is longer than ${maxBytes} bytes`)
}

/** Returns the error for an unsupported content coding (RFC 9110 15.5.16). */
export function unsupportedCoding(name: string, available: readonly string[]): ConnectError {
  return httpError(415, Code.InvalidArgument, `unsupported content coding: ${name}`, {
    'Accept-Encoding': [...available, 'identity'].join(', '),
  })
}

/**
 * Returns a thrown value as the error that clients receive. Any value that is not a ConnectError
 * becomes the `cause` of an internal error.
 */
export function asConnectError(thrown: unknown): ConnectError {
  if (thrown instanceof ConnectError) return thrown
  return new ConnectError('internal error', Code.Internal, undefined, undefined, thrown)
}

/** Returns the error of calls whose client closed the connection or reset the stream. */
export function clientGone(): ConnectError {
  return new ConnectError('the client is gone', Code.Canceled)
}
