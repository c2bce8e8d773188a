import { Code, type ConnectError, type Interceptor } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { callerKey } from '../services/call.ts'
import { originKey } from './connection.ts'
import { REQUEST_ID_HEADER, toConnectError } from './errors.ts'
import type { Metrics } from './metrics.ts'

/**
 * Watches every call from outside: writes a log line and counts when it ends, turns what was thrown into an RPC error,
 * and sets the headers that every answer has.
 */
export function observeInterceptor(log: Logger, metrics: Metrics): Interceptor {
  return (next) => async (request) => {
    const startedMs = performance.now()
    const { contextValues, method } = request
    const { requestId, peer } = contextValues.get(originKey)
    const finish = (error: ConnectError | undefined) => {
      const durationMs = performance.now() - startedMs
      metrics.countCall(method, error?.code, durationMs)
      const caller = contextValues.get(callerKey)
      const line = {
        request_id: requestId,
        method: `${method.parent.typeName}/${method.name}`,
        code: error ? Code[error.code] : 'OK',
        duration_ms: Math.round(durationMs * 1000) / 1000,
        peer: peer.address,
        user: caller?.kind === 'user' ? caller.user.id : undefined,
      }
      if (error?.code === Code.Internal || error?.code === Code.Unknown)
        log.error({ ...line, err: error.cause ?? error })
      else log.info(line)
    }
    const fail = (thrown: unknown) => {
      const error = toConnectError(thrown)
      setAnswerHeaders(error.metadata, requestId)
      finish(error)
      return error
    }
    try {
      const response = await next(request)
      setAnswerHeaders(response.header, requestId)
      if (response.stream) return { ...response, message: untilEnd(response.message, finish, fail) }
      finish(undefined)
      return response
    } catch (thrown) {
      throw fail(thrown)
    }
  }
}

/**
 * Answers are about one caller and one moment unless the method says otherwise. Which origin may read them depends on
 * the origin that asks.
 */
function setAnswerHeaders(header: Headers, requestId: string): void {
  header.set(REQUEST_ID_HEADER, requestId)
  header.append('vary', 'Origin')
  if (!header.has('cache-control')) header.set('cache-control', 'no-store')
  if (!header.has('x-content-type-options')) header.set('x-content-type-options', 'nosniff')
}

async function* untilEnd<T>(
  messages: AsyncIterable<T>,
  finish: (error: undefined) => void,
  fail: (thrown: unknown) => ConnectError,
): AsyncGenerator<T> {
  let failed = false
  try {
    yield* messages
  } catch (thrown) {
    failed = true
    throw fail(thrown)
  } finally {
    if (!failed) finish(undefined)
  }
}
