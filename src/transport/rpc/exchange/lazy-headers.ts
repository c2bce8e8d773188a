import type { IncomingHttpHeaders } from 'node:http'

/**
 * Headers that concern one connection only (RFC 9110 7.6.1): no part of the metadata of a call, in
 * or out.
 */
export const hopByHopHeaders: ReadonlySet<string> = new Set([
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
 * Headers that become a real `Headers` object when more is done to them than reading single fields.
 *
 * Three such objects for each call, for request, response and trailers, would cost a tenth of a
 * small REST call, most of it in garbage; most calls read two fields and set none. As everywhere,
 * hop-by-hop headers and the pseudo-headers of HTTP/2 are no part of the metadata.
 */
export class LazyHeaders implements Headers {
  /**
   * What the real object starts with: `headers` of a Node request, with lower-case names and
   * repeated fields joined.
   */
  readonly #source: IncomingHttpHeaders
  #real: Headers | undefined

  constructor(source: IncomingHttpHeaders = none) {
    this.#source = source
  }

  /** Whether nobody can have set anything. */
  get untouched(): boolean {
    return this.#real === undefined
  }

  get(name: string): string | null {
    if (this.#real !== undefined) return this.#real.get(name)
    const key = name.toLowerCase()
    const value = this.#source[key]
    if (value === undefined || isHopByHop(key, this.#source)) return null
    if (typeof value === 'string') return value
    // Node's record is a plain object: `constructor` and its like are no headers.
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

  keys() {
    return this.#headers().keys()
  }

  values() {
    return this.#headers().values()
  }

  entries() {
    return this.#headers().entries()
  }

  [Symbol.iterator]() {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'Headers'
  }

  /**
   * `Headers` has one that reads private fields, which this class inherits without having the
   * fields.
   */
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

// `instanceof Headers` holds, without the fields that the constructor of Headers would make.
Object.setPrototypeOf(LazyHeaders.prototype, Headers.prototype)

function isHopByHop(name: string, { connection }: IncomingHttpHeaders): boolean {
  if (hopByHopHeaders.has(name)) return true
  if (connection === undefined || connection === 'keep-alive' || connection === 'close')
    return false
  return connection.split(',').some((option) => option.trim().toLowerCase() === name)
}
