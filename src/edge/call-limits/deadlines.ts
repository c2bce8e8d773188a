import { setTimeout } from 'node:timers/promises'
import {
  Code,
  ConnectError,
  type ContextKey,
  createContextKey,
  type Interceptor,
} from '@connectrpc/connect'
import { CallDeadline, withDeadline } from '../../platform/concurrency/call-deadlines.ts'
import { refusal } from '../errors.ts'

/** The deadline of a call on the clock of `performance.now()`; undefined without one. */
export const expiresAtKey: ContextKey<number | undefined> = createContextKey<number | undefined>(
  undefined,
  {
    description: 'deadline',
  },
)

/** Longest delay of a timer of Node. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Enforces the deadlines of calls with one response. A call that has changed nothing by then fails
 * with DEADLINE_EXCEEDED at once, and changes nothing later. A call that has begun to change
 * something is finished, and its error says whether the change was committed.
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
      // The result is discarded.
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

/** Waits for the deadline. Timers may fire a little early, and have a longest delay. */
async function expiry(call: CallDeadline, signal: AbortSignal): Promise<void> {
  while (call.remainingMs() > 0) {
    await setTimeout(Math.min(Math.ceil(call.remainingMs()), MAX_TIMER_MS), undefined, { signal })
  }
}

/** Returns whether an error is the reason of a signal that aborted at the deadline. */
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
