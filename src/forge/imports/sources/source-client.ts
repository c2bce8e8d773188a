import type { Readable } from 'node:stream'
import { openByRedirects } from '../../../platform/outbound/downloads.ts'
import { OutboundError } from '../../../platform/outbound/errors.ts'
import type { Outbound, OutboundResponse } from '../../../platform/outbound/outbound.ts'
import { SourceObject, type SourceValue } from './source-values.ts'

/** The other server refuses a request, or its response cannot be used. The message is for users. */
export class SourceError extends Error {
  /** The status of the response; 0 if there was none. */
  readonly status: number

  constructor(message: string, status = 0) {
    super(message)
    this.name = 'SourceError'
    this.status = status
  }
}

/** The other server wants a pause, or fails for the moment. */
export class SourcePause extends Error {
  /** How long to wait in milliseconds; undefined if the server does not say. */
  readonly waitMs: number | undefined

  constructor(message: string, waitMs: number | undefined) {
    super(message)
    this.name = 'SourcePause'
    this.waitMs = waitMs
  }
}

/** Limit of a request for JSON. */
const TIMEOUT_MS = 60_000

/** Fifty issues with descriptions of 64 KiB, and some space. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024

/** Longest time without a byte of an asset. */
const IDLE_TIMEOUT_MS = 60_000

/** An API answers with few redirects, of renamed projects. */
const MAX_REDIRECTS = 5

/** A server that asks for a longer pause is asked again after this time. */
const MAX_WAIT_MS = 24 * 60 * 60 * 1000

const REDIRECTS = [301, 302, 303, 307, 308]

/** A page of a list. */
export interface SourcePage {
  readonly items: readonly SourceObject[]
  readonly next: string | undefined
  readonly total: number | undefined
}

/** How a kind of server is asked. */
export interface SourceDialect {
  /** Prefix of all paths, such as `https://git.example/api/v1`. */
  readonly base: URL
  /** Headers of each request to the origin of `base`, the token among them. */
  readonly headers: Readonly<Record<string, string>>
  /** Query parameter for the length of a page, and the length. */
  readonly limit: readonly [name: string, count: number]
}

/**
 * Requests to the API of another server. The outbound policy checks each address. The token goes to the
 * origin of the API only.
 */
export class SourceClient {
  readonly #outbound: Outbound
  readonly #dialect: SourceDialect
  readonly #signal: AbortSignal
  readonly #now: () => number

  constructor(
    app: { readonly outbound: Outbound; readonly clock: { now(): number } },
    dialect: SourceDialect,
    signal: AbortSignal,
  ) {
    this.#outbound = app.outbound
    this.#dialect = dialect
    this.#signal = signal
    this.#now = () => app.clock.now()
  }

  /** Returns an object. */
  async object(path: string): Promise<SourceObject> {
    const { value } = await this.#json(this.#urlOf(path))
    return SourceObject.of(value)
  }

  /** Returns a list that the server answers as a whole. */
  async all(path: string): Promise<readonly SourceObject[]> {
    return SourceObject.listOf((await this.#json(this.#urlOf(path))).value)
  }

  /**
   * Returns a page of a list.
   *
   * @param cursor `next` of the page before, the path and query of the request; empty for the first.
   */
  async page(path: string, cursor: string): Promise<SourcePage> {
    const url = cursor === '' ? this.#firstPage(path) : new URL(cursor, this.#dialect.base.origin)
    const { value, headers } = await this.#json(url)
    const items = SourceObject.listOf(value)
    const total = numberIn(headers, 'x-total-count') ?? numberIn(headers, 'x-total')
    return { items, total, next: this.#nextOf(url, headers, items.length, total) }
  }

  /** Returns all pages of a short list. */
  async every(path: string): Promise<readonly SourceObject[]> {
    const all: SourceObject[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const { items, next }: SourcePage = await this.page(path, cursor)
      all.push(...items)
      if (all.length > MAX_ITEMS) throw new SourceError(`${path} has too many entries`)
      cursor = next
    }
    return all
  }

  /** Opens a file, by way of redirects, of which each is checked. */
  async open(address: string): Promise<Readable> {
    const start = parse(address, this.#dialect.base)
    const headersFor = (url: URL) => ({
      ...this.#headersFor(url),
      accept: 'application/octet-stream',
    })
    const response = await this.#attempt(() =>
      openByRedirects(this.#outbound, start, headersFor, {
        idleTimeoutMs: IDLE_TIMEOUT_MS,
        signal: this.#signal,
      }),
    )
    if (response?.status === 200) return response.body
    response?.body.destroy()
    if (!response) throw new SourceError('the file has too many redirects')
    this.#check(response)
    throw new SourceError(`the file answers ${response.status}`, response.status)
  }

  async #json(start: URL): Promise<{ value: SourceValue; headers: ReadonlyMap<string, string> }> {
    let url = start
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      const response = await this.#get(url)
      if (REDIRECTS.includes(response.status)) {
        const target = parse(response.headers.get('location') ?? '', url)
        // A renamed project. Another origin would get what only this one may answer.
        if (target.origin !== url.origin) throw new SourceError('the API redirects elsewhere')
        url = target
        continue
      }
      this.#check(response)
      if (response.isTruncated) throw new SourceError('a response of the API is too large')
      return { value: parseJson(response.body), headers: response.headers }
    }
    throw new SourceError('the API has too many redirects')
  }

  #get(url: URL): Promise<OutboundResponse> {
    const headers = { ...this.#headersFor(url), accept: 'application/json' }
    return this.#attempt(() =>
      this.#outbound.send(
        { method: 'GET', url, headers },
        { timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES, signal: this.#signal },
      ),
    )
  }

  async #attempt<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request()
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      if (error.failure === 'BLOCKED_ADDRESS')
        throw new SourceError('the host has a private or reserved address')
      throw new SourcePause(TEXTS[error.failure], undefined)
    }
  }

  /** @throws SourceError, SourcePause unless the request succeeded. */
  #check({ status, headers }: Pick<OutboundResponse, 'status' | 'headers'>): void {
    if (status >= 200 && status < 300) return
    const isLimited = status === 429 || (status === 403 && isUsedUp(headers))
    if (isLimited || status >= 500)
      throw new SourcePause(
        isLimited ? 'the other server limits requests' : `the other server answers ${status}`,
        this.#waitOf(headers, isLimited),
      )
    if (status === 401) throw new SourceError('the other server refuses the token', status)
    if (status === 403) throw new SourceError('the other server denies access', status)
    if (status === 404) throw new SourceError('the other server does not have it', status)
    throw new SourceError(`the other server answers ${status}`, status)
  }

  /** Returns the pause that a response asks for (RFC 9110, section 10.2.3; `X-RateLimit-Reset`). */
  #waitOf(headers: ReadonlyMap<string, string>, isLimited: boolean): number | undefined {
    const after = headers.get('retry-after') ?? ''
    const reset = numberIn(headers, 'x-ratelimit-reset') ?? numberIn(headers, 'ratelimit-reset')
    const wait = /^\d{1,9}$/.test(after)
      ? Number(after) * 1000
      : after !== ''
        ? Date.parse(after) - this.#now()
        : isLimited && reset !== undefined
          ? reset * 1000 - this.#now()
          : Number.NaN
    return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 1000), MAX_WAIT_MS)
  }

  #headersFor({ origin }: URL): Readonly<Record<string, string>> {
    return {
      'user-agent': 'branchline',
      ...(origin === this.#dialect.base.origin && this.#dialect.headers),
    }
  }

  #urlOf(path: string): URL {
    return new URL(`${this.#dialect.base.href.replace(/\/$/, '')}${path}`)
  }

  #firstPage(path: string): URL {
    const url = this.#urlOf(path)
    const [name, count] = this.#dialect.limit
    url.searchParams.set(name, String(count))
    url.searchParams.set('page', '1')
    return url
  }

  /**
   * Returns the next page: the one that `Link` names, if the link is one of this API. Some lists have no
   * such header. Then the next page is tried until the total is reached or a page is empty.
   */
  #nextOf(
    url: URL,
    headers: ReadonlyMap<string, string>,
    length: number,
    total: number | undefined,
  ): string | undefined {
    const link = headers.get('link')
    if (link !== undefined) {
      const named = /<([^>]+)>\s*;\s*rel="?next"?/.exec(link)?.[1]
      if (named === undefined) return undefined
      const target = parse(named, url)
      if (target.origin === url.origin) return target.pathname + target.search
    }
    const page = Number(url.searchParams.get('page'))
    if (length === 0 || (page === 1 && total !== undefined && total <= length)) return undefined
    const following = new URL(url)
    following.searchParams.set('page', String(page + 1))
    return following.pathname + following.search
  }
}

/** More than this many entries of one issue or pull request are refused. */
const MAX_ITEMS = 20_000

const TEXTS: Readonly<Record<OutboundError['failure'], string>> = {
  UNRESOLVABLE_HOST: 'the host cannot be resolved',
  BLOCKED_ADDRESS: 'the host has a private or reserved address',
  CONNECTION_FAILED: 'the connection failed',
  TIMEOUT: 'the other server took too long',
  CANCELLED: 'the request was cancelled',
}

function isUsedUp(headers: ReadonlyMap<string, string>): boolean {
  return headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0'
}

function numberIn(headers: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = headers.get(name) ?? ''
  return /^\d{1,12}$/.test(text) ? Number(text) : undefined
}

function parse(address: string, base: URL): URL {
  const url = URL.canParse(address, base.href) ? new URL(address, base.href) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new SourceError('the other server names an address that is none')
  return url
}

function parseJson(body: Buffer): SourceValue {
  try {
    return JSON.parse(body.toString('utf8')) as SourceValue
  } catch {
    throw new SourceError('the address does not serve the API of such a server')
  }
}
