import { Code, ConnectError } from '@connectrpc/connect'
import { Call, type CallOpening } from '../exchange/call.ts'
import type { Compression } from '../exchange/connect-internals.ts'
import type { MessageFormat } from '../exchange/formats.ts'
import type { RpcMethod } from '../exchange/method.ts'
import type { FramedType } from './protocol.ts'

/** A call in a protocol with envelopes. */
export class FramedCall extends Call {
  readonly type: FramedType
  readonly rpc: RpcMethod
  readonly format: MessageFormat
  readonly requestCoding: Compression | undefined
  readonly responseCoding: Compression | undefined

  constructor(opening: CallOpening, rpc: RpcMethod, type: FramedType, codings: MessageCodings) {
    super(opening)
    this.type = type
    this.rpc = rpc
    this.format = rpc.formats[type.format]
    this.requestCoding = codings.requestCoding
    this.responseCoding = codings.responseCoding
  }
}

/** The codings of the messages of a call; undefined for messages that are not compressed. */
export interface MessageCodings {
  /** The coding of compressed messages of the request. */
  readonly requestCoding: Compression | undefined
  /** The coding of messages of the response that are large enough. */
  readonly responseCoding: Compression | undefined
}

/**
 * Returns the coding that a client names for its messages, undefined for none. Throws Unimplemented
 * for an unknown one (https://github.com/grpc/grpc/blob/master/doc/compression.md).
 *
 * @param acceptHeader the response header that lists the known codings.
 */
export function namedCoding(
  name: string | undefined,
  available: readonly Compression[],
  acceptHeader: string,
): Compression | undefined {
  if (name === undefined || name === '' || name === 'identity') return undefined
  const coding = available.find((known) => known.name === name)
  if (coding) return coding
  const names = available.map((known) => known.name).join(',')
  throw new ConnectError(
    `unknown compression "${name}": supported encodings are ${names}`,
    Code.Unimplemented,
    { [acceptHeader]: names },
  )
}

/**
 * Returns the first known coding that a client accepts. Without a list, the response has the coding
 * of the request.
 */
export function acceptedCoding(
  accepted: string | undefined,
  available: readonly Compression[],
  ofRequest: Compression | undefined,
): Compression | undefined {
  if (accepted === undefined || accepted === '') return ofRequest
  for (const name of accepted.split(',')) {
    const coding = available.find((known) => known.name === name.trim())
    if (coding) return coding
  }
  return undefined
}
