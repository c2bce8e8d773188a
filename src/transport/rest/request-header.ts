import type { IncomingHttpHeaders } from 'node:http'

/** Headers that concern one connection only (RFC 9110 7.6.1): no part of the metadata of a call, in or out. */
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

/** The methods of `Headers`, which its type declares as properties that a subclass could not override. */
interface HeaderMethods {
  append(name: string, value: string): void
  delete(name: string): void
  get(name: string): string | null
  has(name: string): boolean
  set(name: string, value: string): void
  getSetCookie(): string[]
  forEach(callback: (value: string, key: string, self: Headers) => void, thisArg?: unknown): void
  keys(): ReturnType<Headers['keys']>
  values(): ReturnType<Headers['values']>
  entries(): ReturnType<Headers['entries']>
}

const WebHeaders: new () => HeaderMethods = Headers

/**
 * Request headers as implementations and interceptors see them: without hop-by-hop headers and HTTP/2 pseudo-headers.
 *
 * Filling a `Headers` costs a tenth of a small request, and most calls look at one or two headers. So `get` and `has`
 * read Node's record, and everything else fills the real object first.
 */
export class RequestHeader extends WebHeaders {
  /** Undefined once the values are in the object itself. */
  #source: IncomingHttpHeaders | undefined

  /** Takes `headers` of a Node request: lower-case names, repeated headers joined. */
  constructor(source: IncomingHttpHeaders) {
    super()
    this.#source = source
  }

  override get(name: string): string | null {
    const source = this.#source
    if (source === undefined) return super.get(name)
    const key = name.toLowerCase()
    const value = source[key]
    if (isHopByHop(key, source)) return null
    if (typeof value === 'string') return value
    return Array.isArray(value) ? value.join(', ') : null
  }

  override has(name: string): boolean {
    return this.get(name) !== null
  }

  override append(name: string, value: string): void {
    this.#fill()
    super.append(name, value)
  }

  override set(name: string, value: string): void {
    this.#fill()
    super.set(name, value)
  }

  override delete(name: string): void {
    this.#fill()
    super.delete(name)
  }

  override getSetCookie(): string[] {
    this.#fill()
    return super.getSetCookie()
  }

  override forEach(callback: (value: string, key: string, self: Headers) => void, thisArg?: unknown): void {
    this.#fill()
    super.forEach(callback, thisArg)
  }

  override keys() {
    this.#fill()
    return super.keys()
  }

  override values() {
    this.#fill()
    return super.values()
  }

  override entries() {
    this.#fill()
    return super.entries()
  }

  [Symbol.iterator]() {
    return this.entries()
  }

  #fill(): void {
    const source = this.#source
    if (source === undefined) return
    this.#source = undefined
    for (const [name, value] of Object.entries(source)) {
      if (value === undefined || name.startsWith(':') || isHopByHop(name, source)) continue
      for (const single of Array.isArray(value) ? value : [value]) super.append(name, single)
    }
  }
}

function isHopByHop(name: string, { connection }: IncomingHttpHeaders): boolean {
  if (hopByHopHeaders.has(name)) return true
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return false
  return connection.split(',').some((option) => option.trim().toLowerCase() === name)
}
