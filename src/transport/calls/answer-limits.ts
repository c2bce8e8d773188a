import type { DescMethod } from '@bufbuild/protobuf'
import {
  type ConnectError,
  type ContextKey,
  createContextKey,
  type Interceptor,
} from '@connectrpc/connect'
import type { Caller } from '../../domain/core/access.ts'
import { callerKey, readFor } from '../../services/wire/call.ts'
import { refusal } from '../errors/index.ts'
import type { HttpRequest } from '../http/requests.ts'
import { answerTo } from '../listener/answers.ts'
import { RETRY_AFTER_SECONDS } from '../listener/limits.ts'
import type { Answer, AnswerLimit } from '../listener/outgoing.ts'

/** The account of the answer to a call. Set on every call that came by the listener. */
export const answerKey: ContextKey<Answer | undefined> = createContextKey<Answer | undefined>(
  undefined,
  {
    description: 'answer',
  },
)

/** The refusal of a call whose answer there is no room for. */
function tooMuchUnread({ scope, maxBytes }: AnswerLimit): ConnectError {
  const retry_after_seconds = String(RETRY_AFTER_SECONDS)
  return refusal('TOO_MUCH_UNREAD', { scope, limit: String(maxBytes), retry_after_seconds })
}

/** The refusal of an answer of so many bytes that there is no room for. */
export function roomFor(request: HttpRequest, bytes: number): ConnectError | undefined {
  const lacking = answerTo(request)?.lacks(bytes)
  return lacking && tooMuchUnread(lacking)
}

/**
 * Refuses calls, before anything is done for them, while too much of earlier answers waits for
 * readers, and streams beyond those that may be open.
 *
 * @param isProbe methods that are answered in any case, in a few bytes: whether the server lives
 *   has to be found out when it is full.
 */
export function answerRoomInterceptor(isProbe: (method: DescMethod) => boolean): Interceptor {
  return (next) => (request) => {
    const answer = request.contextValues.get(answerKey)
    const { methodKind } = request.method
    if (!answer || (methodKind === 'unary' && isProbe(request.method))) return next(request)
    const full = answer.fullBound()
    if (full) throw tooMuchUnread(full)
    const crowded = methodKind === 'unary' ? undefined : answer.enterStream()
    if (crowded)
      throw refusal('TOO_MANY_STREAMS', { scope: crowded.scope, limit: String(crowded.maxStreams) })
    return next(request)
  }
}

/**
 * Has Git read for the caller of methods that are about a repository, and room taken for what is
 * read before it is.
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

/** Handlers of streams run when their messages are asked for, not when they are called. */
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
