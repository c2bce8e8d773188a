import { t } from '../language/texts.tsx'
import { Code, ConnectError, type Transport } from './calls.ts'

/**
 * Returns an error in words for people. Browsers report a connection that fails as a `TypeError`,
 * each in words of its own (https://fetch.spec.whatwg.org/#concept-network-error), and a proxy
 * answers without the words of the server.
 */
export function inWords(thrown: unknown): unknown {
  const error = ConnectError.from(thrown)
  if (error.cause instanceof TypeError)
    return new ConnectError(NO_ANSWER, Code.Unavailable, { cause: error.cause })
  const [, status] = /^HTTP (\d+)$/.exec(error.rawMessage) ?? []
  if (status === undefined) return thrown
  return new ConnectError(
    t('the server has answered with status {status}', { status }),
    error.code,
    { metadata: error.metadata },
  )
}

const NO_ANSWER = t('the server does not answer')

/** Gives failures of the connection words for people, also those in the middle of a stream. */
export function failingInWords({ unary, stream }: Transport): Transport {
  return {
    unary: (call) => unary(call).catch(throwInWords),
    async stream(call) {
      const answer = await stream(call).catch(throwInWords)
      return { ...answer, message: streamInWords(answer.message) }
    },
  }
}

function throwInWords(error: unknown): never {
  throw inWords(error)
}

async function* streamInWords<Message>(messages: AsyncIterable<Message>): AsyncGenerator<Message> {
  try {
    yield* messages
  } catch (error) {
    throw inWords(error)
  }
}
