import type { ConnectError } from '@connectrpc/connect'
import { isGone } from '../exchange/cancellation.ts'
import type { Compression } from '../exchange/connect-internals.ts'
import type { CallContext } from '../exchange/context.ts'
import type { HeaderList } from '../exchange/header-list.ts'
import { metadataOf } from '../exchange/metadata.ts'
import {
  addDefaults,
  addTrailers,
  drained,
  type HttpExchange,
  writeHead,
} from '../exchange/node.ts'
import type { CallEnd, FramedType } from './protocol.ts'

/** The response to a call in a protocol with envelopes. */
export class FramedResponse {
  readonly #exchange: HttpExchange
  readonly #type: FramedType
  /** Headers of the response unless the call sets them. */
  defaults: HeaderList = []
  /** The coding of compressed messages. */
  coding: Compression | undefined

  constructor(exchange: HttpExchange, type: FramedType) {
    this.#exchange = exchange
    this.#type = type
  }

  /** Sends a message. Returns whether the response buffer has room for another one. */
  write(context: CallContext, frame: Buffer): boolean {
    const { response } = this.#exchange
    if (isGone(response)) return true
    if (!response.headersSent) {
      // A disconnect during a write also emits an error. `close` cancels the call.
      response.on('error', () => {})
      this.#begin(context)
    }
    return response.write(this.#encode(frame))
  }

  /** Resolves when the response buffer has room or the client is gone. */
  drained(): Promise<void> {
    return drained(this.#exchange.response)
  }

  /** Ends the response to a call that succeeded, after its last message. */
  succeed(context: CallContext, frame?: Buffer): void {
    const { response } = this.#exchange
    if (isGone(response)) return
    const end = this.#type.protocol.end(context.responseTrailer, undefined)
    if (end.trailers === undefined) {
      this.#endWith(context, frame === undefined ? end.last : Buffer.concat([frame, end.last]))
      return
    }
    if (!response.headersSent) this.#begin(context)
    addTrailers(response, end.trailers)
    if (frame === undefined) response.end()
    else response.end(frame)
  }

  /**
   * Ends the response to a call that failed.
   *
   * @param context undefined if the call was not opened.
   */
  fail(context: CallContext | undefined, error: ConnectError): void {
    const { response } = this.#exchange
    if (isGone(response)) return
    const end: CallEnd = this.#type.protocol.end(context?.responseTrailer ?? new Headers(), error)
    if (end.trailers === undefined) {
      this.#endWith(context, end.last)
      return
    }
    // Clients of gRPC read all metadata of a Trailers-Only response as trailers, so that headers of
    // the call need a frame of their own.
    const hasHeaders = context !== undefined && metadataOf(context.responseHeader).length > 0
    if (hasHeaders && !response.headersSent) this.#begin(context)
    if (response.headersSent) {
      addTrailers(response, end.trailers)
      response.end()
    } else {
      // Trailers-Only: one HEADERS frame that ends the stream. Node sends the headers this way when
      // `end` is called first.
      setHeaders(response, [...this.#headers(context), ...end.trailers])
      response.end()
    }
  }

  /** Sends the headers of a response that has more than an end. */
  #begin(context: CallContext): void {
    const { response } = this.#exchange
    if (this.#type.protocol.hasTrailers) response.hasTrailers = true
    writeHead(response, 200, this.#headers(context))
  }

  #endWith(context: CallContext | undefined, content: Uint8Array): void {
    const { response } = this.#exchange
    const encoded = this.#encode(content)
    if (!response.headersSent) {
      const headers = this.#headers(context)
      headers.push('Content-Length', String(encoded.length))
      writeHead(response, 200, headers)
    }
    response.end(encoded)
  }

  #headers(context: CallContext | undefined): HeaderList {
    const { contentType, protocol } = this.#type
    const headers: HeaderList = ['Content-Type', contentType]
    if (this.coding !== undefined) headers.push(protocol.codingHeader, this.coding.name)
    if (context !== undefined) headers.push(...metadataOf(context.responseHeader))
    addDefaults(headers, this.defaults, undefined)
    return headers
  }

  #encode(content: Uint8Array): Uint8Array {
    if (!this.#type.isText) return content
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
    return Buffer.from(bytes.toString('base64'), 'latin1')
  }
}

function setHeaders(response: HttpExchange['response'], headers: HeaderList): void {
  const values = new Map<string, string[]>()
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i]?.toLowerCase(), headers[i + 1]]
    const others = values.get(name)
    if (others) others.push(value)
    else values.set(name, [value])
  }
  for (const [name, [first = '', ...others]] of values)
    response.setHeader(name, others.length === 0 ? first : [first, ...others])
}
