import { setTimeout } from 'node:timers/promises'
import type { DescMethod } from '@bufbuild/protobuf'
import {
  Code,
  ConnectError,
  type ContextKey,
  createContextKey,
  type Interceptor,
} from '@connectrpc/connect'
import { type Caller, holderOf } from '../../forge/core/access.ts'
import { callerKey } from '../../forge/core/wire/call.ts'
import { readFor } from '../../forge/repositories/content/git-reading.ts'
import { CallDeadline, withDeadline } from '../../platform/concurrency/call-deadlines.ts'
import { answerTo } from '../../platform/http/listener/answers.ts'
import { RETRY_AFTER_SECONDS } from '../../platform/http/listener/limits.ts'
import type { Answer, AnswerLimit } from '../../platform/http/listener/outgoing.ts'
import type { HttpRequest } from '../../platform/http/requests.ts'
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

/** The accounting of the response to a call. Set on every call that came through the listener. */
export const answerKey: ContextKey<Answer | undefined> = createContextKey<Answer | undefined>(
  undefined,
  {
    description: 'answer',
  },
)

/** Creates the refusal of a call whose response would exceed a limit of unread bytes. */
function tooMuchUnread({ scope, maxBytes }: AnswerLimit): ConnectError {
  const retry_after_seconds = String(RETRY_AFTER_SECONDS)
  return refusal('TOO_MUCH_UNREAD', { scope, limit: String(maxBytes), retry_after_seconds })
}

/** Returns the refusal of a response of `bytes` that would exceed a limit, or undefined. */
export function roomFor(request: HttpRequest, bytes: number): ConnectError | undefined {
  const lacking = answerTo(request)?.lacks(bytes)
  return lacking && tooMuchUnread(lacking)
}

/**
 * Refuses calls before they start while too many bytes of earlier responses are unread.
 *
 * @param isProbe returns whether a method is always answered because its response is small. Health
 *   checks must work on a busy server.
 */
export function answerRoomInterceptor(isProbe: (method: DescMethod) => boolean): Interceptor {
  return (next) => (request) => {
    const answer = request.contextValues.get(answerKey)
    const { methodKind } = request.method
    if (!answer || (methodKind === 'unary' && isProbe(request.method))) return next(request)
    const full = answer.fullBound()
    if (full) throw tooMuchUnread(full)
    return next(request)
  }
}

/** Refuses streams beyond the limits of open streams, which accounts and peers share. */
export const streamRoomInterceptor: Interceptor = (next) => (request) => {
  const answer = request.contextValues.get(answerKey)
  if (!answer || request.method.methodKind === 'unary') return next(request)
  const caller = request.contextValues.get(callerKey)
  const crowded = answer.enterStream(caller && holderOf(caller))
  if (crowded)
    throw refusal('TOO_MANY_STREAMS', { scope: crowded.scope, limit: String(crowded.maxStreams) })
  return next(request)
}

/**
 * Counts the Git processes of a call about a repository for its caller, and reserves unread bytes
 * for an object before Git reads it.
 */
export function readingInterceptor(): Interceptor {
  const known = new Map<DescMethod, boolean>()
  const isAboutRepository = (method: DescMethod) => {
    const isAbout = known.get(method) ?? method.input.fields.some(({ name }) => name === 'repo')
    known.set(method, isAbout)
    return isAbout
  }
  return (next) => (request) => {
    const caller = request.contextValues.get(callerKey)
    return caller && isAboutRepository(request.method)
      ? readWithin(next, request, caller)
      : next(request)
  }
}

async function readWithin(next: Next, request: CallRequest, caller: Caller): ReturnType<Next> {
  const answer = request.contextValues.get(answerKey)
  const admit = (bytes: number) => {
    const lacking = answer?.reserve(bytes)
    if (lacking) throw tooMuchUnread(lacking)
  }
  const within: Within = (work) => readFor(caller, admit, work)
  const response = await within(() => next(request))
  return response.stream
    ? { ...response, message: pulledWithin(response.message, within) }
    : response
}

type Next = Parameters<Interceptor>[0]
type CallRequest = Parameters<Next>[0]
type Within = <T>(work: () => T) => T

/** Pulls messages within a context. The handler of a stream runs when a message is pulled. */
async function* pulledWithin<T>(messages: AsyncIterable<T>, within: Within): AsyncGenerator<T> {
  const iterator = messages[Symbol.asyncIterator]()
  try {
    for (;;) {
      const item = await within(() => iterator.next())
      if (item.done) return
      yield item.value
    }
  } finally {
    await within(() => iterator.return?.())
  }
}
