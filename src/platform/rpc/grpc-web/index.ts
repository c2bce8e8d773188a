import { grpcTimeout } from '../exchange/negotiate.ts'
import { envelope } from '../framed/envelopes.ts'
import { type FramedProtocol, type FramedType, statusTrailers } from '../framed/protocol.ts'

/** Flag of the envelope with the trailers. */
const TRAILERS = 0x80

/** gRPC-Web (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md). */
const grpcWeb: FramedProtocol = {
  name: 'grpc-web',
  timeout: grpcTimeout,
  hasTrailers: false,
  codingHeader: 'grpc-encoding',
  acceptCodingHeader: 'grpc-accept-encoding',
  checkVersion() {
    // The protocol has no version.
  },
  end(trailer, error) {
    const trailers = statusTrailers(trailer, error)
    let text = ''
    for (let i = 0; i < trailers.length; i += 2) text += `${trailers[i]}: ${trailers[i + 1]}\r\n`
    return { last: envelope(TRAILERS, text) }
  },
}

const CONTENT_TYPE = /^application\/grpc-web(-text)?(?:\+(?:(json)(?:; ?charset=utf-?8)?|proto))?$/i

/** Returns the type of gRPC-Web content by its Content-Type; undefined for any other content. */
export function grpcWebType(contentType: string): FramedType | undefined {
  const match = CONTENT_TYPE.exec(contentType)
  return match
    ? types[match[1] === undefined ? 'binary' : 'text'][match[2] === undefined ? 'proto' : 'json']
    : undefined
}

function typesOf(base: string, isText: boolean): Record<FramedType['format'], FramedType> {
  return {
    proto: { protocol: grpcWeb, format: 'proto', isText, contentType: `${base}+proto` },
    json: { protocol: grpcWeb, format: 'json', isText, contentType: `${base}+json` },
  }
}

const types = {
  binary: typesOf('application/grpc-web', false),
  text: typesOf('application/grpc-web-text', true),
}
