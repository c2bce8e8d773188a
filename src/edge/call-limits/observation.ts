import type { DescMethod } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { databaseError, deletionError } from '../../forge/core/errors.ts'
import { callerKey, restStatusKey } from '../../forge/core/wire/call.ts'
import { successStatus } from '../../platform/rpc/index.ts'
import { originKey } from '../authentication/peers.ts'
import { toConnectError } from '../errors.ts'
import type { Metrics } from '../operator-pages/metrics.ts'

/** Counts and logs each call when it ends, and converts thrown errors to RPC errors. */
export function observeInterceptor(log: Logger, metrics: Metrics): Interceptor {
  // These lines have no credentials. Searching for some would cost more than writing the line.
  const callLog = log.child({}, { redact: [] })
  return (next) => async (request) => {
    const startedMs = performance.now()
    const { contextValues, method } = request
    const { requestId, peer, protocol } = contextValues.get(originKey)
    const finish = (error: ConnectError | undefined) => {
      const durationMs = performance.now() - startedMs
      metrics.countCall(method, protocol, error?.code, durationMs)
      const caller = contextValues.get(callerKey)
      const signedIn = caller?.kind === 'user' ? caller : undefined
      const usual = levelOf(method, error)
      // Reads of an administrator as another user are logged too.
      const level = signedIn?.administrator && usual === 'debug' ? 'info' : usual
      if (!log.isLevelEnabled(level)) return
      const line = {
        request_id: requestId,
        method: `${method.parent.typeName}/${method.name}`,
        code: error ? Code[error.code] : 'OK',
        duration_ms: Math.round(durationMs * 1000) / 1000,
        peer: peer.address,
        user: signedIn?.user.id,
        sudo_by: signedIn?.administrator?.id,
      }
      if (error && level === 'error') log.error({ ...line, err: error.cause ?? error })
      else callLog[level](line)
    }
    const fail = (thrown: unknown) => {
      const error = toConnectError(thrown, request.url)
      // Unless something was deleted concurrently, data is missing.
      if (deletionError(thrown))
        log.warn({ request_id: requestId, err: thrown }, 'what a call needs is not there any more')
      if (databaseError(thrown))
        log.warn({ request_id: requestId, err: thrown }, 'the database is unavailable')
      finish(error)
      return error
    }
    try {
      const response = await next(request)
      const passStatusOn = () => {
        const status = contextValues.get(restStatusKey)
        if (status !== undefined) contextValues.set(successStatus, status)
      }
      if (response.stream) {
        return {
          ...response,
          message: untilEnd(response.message, () => request.signal, passStatusOn, fail, finish),
        }
      }
      passStatusOn()
      finish(undefined)
      return response
    } catch (thrown) {
      throw fail(thrown)
    }
  }
}

/**
 * Returns `error` for faults of the server, `info` for changes and refusals, and `debug` for
 * successful or cancelled reads, which the metrics count.
 */
function levelOf(
  { idempotency }: DescMethod,
  error: ConnectError | undefined,
): 'error' | 'info' | 'debug' {
  if (error?.code === Code.Internal || error?.code === Code.Unknown) return 'error'
  if (error && error.code !== Code.Canceled) return 'info'
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS ? 'debug' : 'info'
}

/**
 * Passes messages on and reports the end: success, an error, or a reader that left.
 *
 * @param signal a signal costs more than a short stream, so that only a fault asks for one.
 * @param begin called before each message.
 */
async function* untilEnd<T>(
  messages: AsyncIterable<T>,
  signal: () => AbortSignal,
  begin: () => void,
  fail: (thrown: unknown) => ConnectError,
  finish: (error: undefined) => void,
): AsyncGenerator<T> {
  let running = true
  try {
    for await (const message of messages) {
      begin()
      yield message
    }
    running = false
    finish(undefined)
  } catch (thrown) {
    running = false
    // Connect's adapter throws an error of the socket into the generator.
    const isFault = toConnectError(thrown).code === Code.Internal
    throw fail(isFault && signal().aborted ? readerLeft() : thrown)
  } finally {
    // Only a consumer that returns early gets here while running.
    if (running) fail(readerLeft())
  }
}

function readerLeft(): ConnectError {
  return new ConnectError('the reader left', Code.Canceled)
}
