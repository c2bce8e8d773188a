import { grpcTimeout } from '../exchange/negotiate.ts'
import { type FramedProtocol, type FramedType, statusTrailers } from '../framed/protocol.ts'

/** gRPC (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). */
const grpc: FramedProtocol = {
  name: 'grpc',
  timeout: grpcTimeout,
  codingHeader: 'grpc-encoding',
  acceptCodingHeader: 'grpc-accept-encoding',
  checkVersion() {
    // The protocol has no version.
  },
  hasTrailers: true,
  end: (trailer, error) => ({ trailers: statusTrailers(trailer, error) }),
}

const CONTENT_TYPE = /^application\/grpc(?:\+(?:(json)(?:; ?charset=utf-?8)?|proto))?$/i

const proto: FramedType = {
  protocol: grpc,
  format: 'proto',
  isText: false,
  contentType: 'application/grpc+proto',
}
const json: FramedType = { ...proto, format: 'json', contentType: 'application/grpc+json' }

/** Returns the type of gRPC content by its Content-Type; undefined for any other content. */
export function grpcType(contentType: string): FramedType | undefined {
  if (contentType === 'application/grpc' || contentType === proto.contentType) return proto
  const match = CONTENT_TYPE.exec(contentType)
  return match ? (match[1] === undefined ? proto : json) : undefined
}
