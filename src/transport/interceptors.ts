import { Code, type ConnectError, type Interceptor } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { callerKey } from '../services/call.ts'
import { begunKey, originKey } from './connection.ts'
import { toConnectError } from './errors.ts'
import type { Metrics } from './metrics.ts'

/**
 * Watches every call from outside: writes a log line and counts when it ends, and turns what was thrown into an RPC
 * error.
 */
export function observeInterceptor(log: Logger, metrics: Metrics): Interceptor {
  // Looking for credentials in a line that has none of them costs more than writing it.
  const callLog = log.child({}, { redact: [] })
  return (next) => async (request) => {
    const startedMs = performance.now()
    const { contextValues, method } = request
    const { requestId, peer } = contextValues.get(originKey)
    contextValues.set(begunKey, true)
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
      else callLog.info(line)
    }
    const fail = (thrown: unknown) => {
      const error = toConnectError(thrown)
      finish(error)
      return error
    }
    try {
      const response = await next(request)
      if (response.stream) return { ...response, message: untilEnd(response.message, finish, fail) }
      finish(undefined)
      return response
    } catch (thrown) {
      throw fail(thrown)
    }
  }
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
