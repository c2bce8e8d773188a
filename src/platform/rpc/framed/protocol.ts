import type { IncomingHttpHeaders } from 'node:http'
import type { ConnectError } from '@connectrpc/connect'
import type { HeaderList } from '../exchange/header-list.ts'
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
