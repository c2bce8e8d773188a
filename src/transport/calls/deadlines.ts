import { setTimeout } from 'node:timers/promises'
import {
  Code,
  ConnectError,
  type ContextKey,
  createContextKey,
  type Interceptor,
} from '@connectrpc/connect'
import { CallDeadline, withDeadline } from '../../concurrency/call-deadlines.ts'
import { refusal } from '../errors/index.ts'

/**
 * When the client of a call stops waiting, by `performance.now()`; undefined if it does not say.
 */
export const expiresAtKey: ContextKey<number | undefined> = createContextKey<number | undefined>(
  undefined,
  {
    description: 'deadline',
  },
)

/** Longest delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Answers calls with one response by their deadline: before they changed anything, with
 * DEADLINE_EXCEEDED at once, and nothing is changed by them later. Where they had begun to, they
 * are finished, and the answer says whether they did.
 */
export const deadlineInterceptor: Interceptor = (next) => async (request) => {
  const expiresAtMs = request.contextValues.get(expiresAtKey)
  const { methodKind } = request.method
  if (expiresAtMs === undefined || (methodKind !== 'unary' && methodKind !== 'client_streaming'))
    return next(request)
  const call = new CallDeadline(expiresAtMs)
  if (call.changesNothing) throw deadlineExceeded(call)
  const timer = new AbortController()
  const late = expiry(call, timer.signal).catch(() => undefined)
  const answer = withDeadline(call, () => next(request))
  try {
    await Promise.race([answer, late])
    if (call.changesNothing) {
      // Nobody waits for it any more.
      answer.catch(() => undefined)
      throw deadlineExceeded(call)
    }
    const response = await answer
    if (call.remainingMs() === 0) throw deadlineExceeded(call)
    return response
  } catch (error) {
    throw call.changesNothing || isBareTimeout(error) ? deadlineExceeded(call) : error
  } finally {
    timer.abort()
    if (!call.changesNothing) call.end()
  }
}

/** Timers may fire a little early, and know no longer delays. */
async function expiry(call: CallDeadline, signal: AbortSignal): Promise<void> {
  while (call.remainingMs() > 0) {
    await setTimeout(Math.min(Math.ceil(call.remainingMs()), MAX_TIMER_MS), undefined, { signal })
  }
}

/** The reason of the signals that abort at the deadline. */
function isBareTimeout(error: unknown): boolean {
  return (
    error instanceof ConnectError &&
    error.code === Code.DeadlineExceeded &&
    error.details.length === 0
  )
}

function deadlineExceeded(call: CallDeadline): ConnectError {
  return refusal('DEADLINE_EXCEEDED', call.committed ? { committed: 'true' } : {})
}
