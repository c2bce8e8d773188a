import type { IncomingHttpHeaders } from 'node:http'
import type { ContextValues } from '@connectrpc/connect'
import { secureKey } from '../../forge/core/wire/call.ts'
import { answerTo } from '../../platform/http/listener/answers.ts'
import { type HttpRequest, requestIdOf } from '../../platform/http/requests.ts'
import { CallValues, deadlineKept, timeoutOf } from '../../platform/rpc/index.ts'
import { sudoOfQuery, sudoQueryKey } from '../authentication/authenticate.ts'
import { originKey, type Peers } from '../authentication/peers.ts'
import { answerKey, expiresAtKey } from './limits.ts'

/**
 * Creates the context values of a call.
 *
 * @param publicSecure whether the public URL is https. Cookies are then marked as secure even where
 *   a proxy speaks plain HTTP to this server.
 */
export function contextValuesOf(
  request: HttpRequest,
  protocolName: string,
  peers: Peers,
  publicSecure: boolean,
): ContextValues {
  const values = new CallValues()
  values.set(originKey, {
    peer: peers.peerOf(request),
    connectedFrom: peers.connectedFrom(request),
    requestId: requestIdOf(request.headers),
    protocol: protocolName,
  })
  values.set(answerKey, answerTo(request))
  const timeoutMs = readableTimeoutOf(request.headers)
  if (timeoutMs !== undefined) {
    values.set(expiresAtKey, performance.now() + timeoutMs)
    values.set(deadlineKept, true)
  }
  if (protocolName === 'rest') values.set(sudoQueryKey, sudoOfQuery(request))
  if (publicSecure || peers.isSecure(request)) values.set(secureKey, true)
  return values
}

/** Returns undefined for a malformed timeout, which the protocol refuses later. */
function readableTimeoutOf(headers: IncomingHttpHeaders): number | undefined {
  try {
    return timeoutOf(headers, Number.MAX_SAFE_INTEGER)
  } catch {
    return undefined
  }
}
