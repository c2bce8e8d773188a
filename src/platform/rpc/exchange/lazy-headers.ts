import type { IncomingHttpHeaders } from 'node:http'

/** Headers of one connection (RFC 9110 7.6.1), which are not metadata of a call. */
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
