import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import { t } from '../language/texts.tsx'

/**
 * Returns an error in words for people. Browsers report a connection that fails as a `TypeError`,
 * each in words of its own (https://fetch.spec.whatwg.org/#concept-network-error), and a proxy
 * answers without the words of the server.
 */
export function inWords(thrown: unknown): unknown {
  const error = ConnectError.from(thrown)
  if (error.cause instanceof TypeError)
    return new ConnectError(NO_ANSWER, Code.Unavailable, undefined, undefined, error.cause)
  const [, status] = /^HTTP (\d+)$/.exec(error.rawMessage) ?? []
  if (status === undefined) return thrown
  return new ConnectError(
    t('the server has answered with status {status}', { status }),
    error.code,
    error.metadata,
  )
}

const NO_ANSWER = t('the server does not answer')

/** Gives failures of the connection words for people, also those in the middle of a stream. */
export const failingInWords: Interceptor = (next) => async (request) => {
  try {
    const response = await next(request)
    return response.stream ? { ...response, message: streamInWords(response.message) } : response
  } catch (error) {
    throw inWords(error)
  }
}

async function* streamInWords<Message>(messages: AsyncIterable<Message>): AsyncGenerator<Message> {
  try {
    yield* messages
  } catch (error) {
    throw inWords(error)
  }
}
