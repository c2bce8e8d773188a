import type { Registry } from '@bufbuild/protobuf'
import { metadataOf } from '../exchange/metadata.ts'
import { connectTimeout } from '../exchange/negotiate.ts'
import { envelope } from '../framed/envelopes.ts'
import type { FramedProtocol, FramedType } from '../framed/protocol.ts'
import { errorJson } from './errors.ts'
import { checkVersionHeader } from './version.ts'

/** Flag of the envelope that ends a stream. */
const END_STREAM = 2

const CONTENT_TYPE = /^application\/connect\+(?:(json)(?:; ?charset=utf-?8)?|proto)$/i

/**
 * Creates the function that returns the type of the content of a Connect stream by its
 * Content-Type; undefined for any other content
 * (https://connectrpc.com/docs/protocol#streaming-rpcs).
 *
 * @param registry types of messages in google.protobuf.Any in details of errors.
 */
export function connectStreamType(
  registry: Registry,
): (contentType: string) => FramedType | undefined {
  const protocol: FramedProtocol = {
    name: 'connect',
    timeout: connectTimeout,
    hasTrailers: false,
    codingHeader: 'connect-content-encoding',
    acceptCodingHeader: 'connect-accept-encoding',
    checkVersion: checkVersionHeader,
    end(trailer, error) {
      const metadata: Record<string, string[]> = {}
      const add = (value: string, name: string) => {
        metadata[name] = [...(metadata[name] ?? []), value]
      }
      const trailers = metadataOf(trailer)
      for (let i = 0; i < trailers.length; i += 2) add(trailers[i + 1] ?? '', trailers[i] ?? '')
      error?.metadata.forEach(add)
      const end = {
        ...(error && { error: errorJson(error, registry) }),
        ...(Object.keys(metadata).length > 0 && { metadata }),
      }
      return { last: envelope(END_STREAM, JSON.stringify(end)) }
    },
  }
  const proto: FramedType = {
    protocol,
    format: 'proto',
    isText: false,
    contentType: 'application/connect+proto',
  }
  const json: FramedType = { ...proto, format: 'json', contentType: 'application/connect+json' }
  return (contentType) => {
    const match = CONTENT_TYPE.exec(contentType)
    return match ? (match[1] === undefined ? proto : json) : undefined
  }
}
