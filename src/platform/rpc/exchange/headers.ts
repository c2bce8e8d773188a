import type { IncomingHttpHeaders } from 'node:http'

/** Headers of one connection (RFC 9110 7.6.1), which are not metadata of a call. */
const hopByHopHeaders: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const none: IncomingHttpHeaders = Object.freeze({})

/**
 * Headers that create a real `Headers` object only for operations other than reading single fields.
 *
 * A call has three such objects: request, response and trailers. Creating them would take a tenth
 * of the time of a small call, mostly in garbage collection. Most calls read two fields and set
 * none. Hop-by-hop headers and the pseudo-headers of HTTP/2 are left out.
 */
export class LazyHeaders implements Headers {
  /** The headers of a Node request, with names in lower case and repeated fields joined. */
  readonly #source: IncomingHttpHeaders
  #real: Headers | undefined

  constructor(source: IncomingHttpHeaders = none) {
    this.#source = source
  }

  /** Whether no header has been set. */
  get untouched(): boolean {
    return this.#real === undefined
  }

  get(name: string): string | null {
    if (this.#real !== undefined) return this.#real.get(name)
    const key = name.toLowerCase()
    const value = this.#source[key]
    if (value === undefined || isHopByHop(key, this.#source)) return null
    if (typeof value === 'string') return value
    // Node's record is a plain object. Inherited members such as `constructor` are not headers.
    return Array.isArray(value) ? value.join(', ') : null
  }

  has(name: string): boolean {
    return this.get(name) !== null
  }

  append(name: string, value: string): void {
    this.#headers().append(name, value)
  }

  set(name: string, value: string): void {
    this.#headers().set(name, value)
  }

  delete(name: string): void {
    this.#headers().delete(name)
  }

  getSetCookie(): string[] {
    return this.#headers().getSetCookie()
  }

  forEach(callback: (value: string, key: string, self: Headers) => void, thisArg?: unknown): void {
    for (const [key, value] of this.#headers()) callback.call(thisArg, value, key, this)
  }

  keys(): ReturnType<Headers['keys']> {
    return this.#headers().keys()
  }

  values(): ReturnType<Headers['values']> {
    return this.#headers().values()
  }

  entries(): ReturnType<Headers['entries']> {
    return this.#headers().entries()
  }

  [Symbol.iterator](): ReturnType<Headers['entries']> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'Headers'
  }

  /** Replaces the method of `Headers`, which reads private fields that this class lacks. */
  [Symbol.for('nodejs.util.inspect.custom')](): Headers {
    return this.#headers()
  }

  #headers(): Headers {
    if (this.#real !== undefined) return this.#real
    const real = new Headers()
    for (const [name, value] of Object.entries(this.#source)) {
      if (value === undefined || name.startsWith(':') || isHopByHop(name, this.#source)) continue
      for (const single of Array.isArray(value) ? value : [value]) real.append(name, single)
    }
    this.#real = real
    return real
  }
}

// Makes `instanceof Headers` true without running the constructor of Headers.
Object.setPrototypeOf(LazyHeaders.prototype, Headers.prototype)

function isHopByHop(name: string, { connection }: IncomingHttpHeaders): boolean {
  if (hopByHopHeaders.has(name)) return true
  if (connection === undefined || connection === 'keep-alive' || connection === 'close')
    return false
  return connection.split(',').some((option) => option.trim().toLowerCase() === name)
}

/** Response headers in the form that Node writes fastest: name, value, name, value. */
export type HeaderList = string[]

/** The form of header names (RFC 9110 5.6.2). */
export const token = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/

/** Returns whether a text is the name of a header that a call may set. */
export function isHeaderName(name: string): boolean {
  return token.test(name) && !isProtocolHeader(name.toLowerCase())
}

/** Returns whether only the protocol sets a header, whose name is in lower case. */
export function isProtocolHeader(name: string): boolean {
  return hopByHopHeaders.has(name) || contentHeaders.has(name)
}

const contentHeaders = new Set(['content-encoding', 'content-length', 'content-type'])

/**
 * Characters other than tab and printable ASCII. A line break would end the header, and the others
 * have no standard encoding.
 */
const unfitForHeader = /[^\t\x20-\x7e]+/gu

/** Returns text as a header value, with unfit characters percent-encoded in UTF-8. */
export function headerValue(text: string): string {
  return text.replace(unfitForHeader, percentEncode)
}

/**
 * Returns text as the value of `Grpc-Message`, which encodes the percent sign too
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Status-Message).
 */
export function grpcMessage(text: string): string {
  return text.replace(/[^\x20-\x24\x26-\x7e]+/gu, percentEncode)
}

/** Encodes every byte. Unpaired surrogates become U+FFFD; encodeURIComponent would throw. */
function percentEncode(text: string): string {
  return Array.from(
    Buffer.from(text),
    (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('')
}

/** Returns the value of a header, whose name is in lower case; undefined if it is missing. */
export function findHeader(list: HeaderList, name: string): string | undefined {
  for (let i = 0; i < list.length; i += 2) {
    if (list[i]?.toLowerCase() === name) return list[i + 1]
  }
  return undefined
}
