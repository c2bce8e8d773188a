import type { DescMethod } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import { Code, type ConnectError, type Interceptor } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { callerKey } from '../services/call.ts'
import { begunKey, originKey } from './connection.ts'
import { toConnectError } from './errors.ts'
import type { Metrics } from './metrics.ts'

/**
 * Watches every call from outside: counts it and writes a log line when it ends, and turns what was thrown into an RPC
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
      const level = levelOf(method, error)
      if (!log.isLevelEnabled(level)) return
      const caller = contextValues.get(callerKey)
      const line = {
        request_id: requestId,
        method: `${method.parent.typeName}/${method.name}`,
        code: error ? Code[error.code] : 'OK',
        duration_ms: Math.round(durationMs * 1000) / 1000,
        peer: peer.address,
        user: caller?.kind === 'user' ? caller.user.id : undefined,
      }
      if (error && level === 'error') log.error({ ...line, err: error.cause ?? error })
      else callLog[level](line)
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

/** Faults of the server, what changed or was refused, and reads that succeeded, of which metrics say enough mostly. */
function levelOf({ idempotency }: DescMethod, error: ConnectError | undefined): 'error' | 'info' | 'debug' {
  if (error) return error.code === Code.Internal || error.code === Code.Unknown ? 'error' : 'info'
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS ? 'debug' : 'info'
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
