import type { IncomingHttpHeaders } from 'node:http'
import { create, toBinary } from '@bufbuild/protobuf'
import { base64Encode } from '@bufbuild/protobuf/wire'
import { anyPack } from '@bufbuild/protobuf/wkt'
import type { ConnectError } from '@connectrpc/connect'
import { StatusSchema } from '#gen/google/rpc/status_pb.ts'
import { grpcMessage, type HeaderList, isProtocolHeader } from '../exchange/headers.ts'
import { metadataOf } from '../exchange/metadata.ts'
import type { TimeoutHeader } from '../exchange/negotiate.ts'

/** A protocol whose messages have envelopes: gRPC, gRPC-Web, or Connect for streams. */
export interface FramedProtocol {
  /** The name of the protocol in the context of a call. */
  readonly name: string
  readonly timeout: TimeoutHeader
  /** Headers of the coding of messages, in lower case. */
  readonly codingHeader: string
  readonly acceptCodingHeader: string
  /** Throws InvalidArgument for a version of the protocol that is unknown. */
  readonly checkVersion: (headers: IncomingHttpHeaders) => void
  /** Whether a response ends with HTTP trailers. */
  readonly hasTrailers: boolean
  /** Returns the end of the response to a call. */
  readonly end: (trailer: Headers, error: ConnectError | undefined) => CallEnd
}

/** The end of a response: HTTP trailers or the last envelope. */
export type CallEnd =
  | { readonly trailers: HeaderList; readonly last?: undefined }
  | { readonly trailers?: undefined; readonly last: Uint8Array }

/** The Content-Type of a request in a protocol with envelopes. */
export interface FramedType {
  readonly protocol: FramedProtocol
  readonly format: 'proto' | 'json'
  /** Whether content is base64, as in `application/grpc-web-text`. */
  readonly isText: boolean
  /** The Content-Type of the response. */
  readonly contentType: string
}

const reserved = new Set(['grpc-status', 'grpc-message', 'grpc-status-details-bin'])

/**
 * Returns the trailers of a call over gRPC or gRPC-Web: its metadata and its status
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Responses).
 */
export function statusTrailers(trailer: Headers, error: ConnectError | undefined): HeaderList {
  if (error === undefined) return [...metadataOf(trailer), 'grpc-status', '0']
  const trailers = metadataOf(trailer)
  error.metadata.forEach((value, name) => {
    if (!isProtocolHeader(name) && !reserved.has(name)) trailers.push(name, value)
  })
  trailers.push('grpc-status', String(error.code), 'grpc-message', grpcMessage(error.rawMessage))
  if (error.details.length > 0) trailers.push('grpc-status-details-bin', encodedStatus(error))
  return trailers
}

/** Returns the google.rpc.Status of an error in base64, without padding as in other binary metadata. */
function encodedStatus({ code, rawMessage, details }: ConnectError): string {
  const status = create(StatusSchema, {
    code,
    message: rawMessage,
    details: details.map((detail) =>
      'desc' in detail
        ? anyPack(detail.desc, create(detail.desc, detail.value))
        : { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value },
    ),
  })
  return base64Encode(toBinary(StatusSchema, status), 'std_raw')
}
