import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import {
  createServicePool,
  type ServicePool,
  type ServiceRequest,
  type ServiceResponse,
} from '../../outbound/service-pool.ts'
import { StoreUnavailableError } from '../object-store.ts'
import { Availability } from './availability.ts'
import type { KeySource } from './key-file.ts'
import { type S3Address, urlOf } from './s3-address.ts'
import { errorCodeOf } from './s3-answers.ts'
import {
  canonicalQuery,
  EMPTY_SHA256,
  type SignedRequest,
  signedHeaders,
  signedUrl,
} from './signature.ts'

const DEADLINES = { connectMs: 5_000, answerMs: 30_000, idleMs: 60_000 }

/** The pauses before the further tries of a request, each longer by up to a fifth. */
const RETRY_PAUSES_MS = [200, 1_000, 5_000]
const JITTER = 0.2

/** Answers that say nothing about the request. `SlowDown` has 503, and with some servers 429. */
const TRANSIENT = new Set([429, 500, 502, 503, 504])

/** The longest answer that is read as text, such as a list of 1,000 keys. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024

/** The content of a request, which can be read again for a further try. */
export interface RequestBody {
  readonly bytes: number
  /** In hexadecimal. */
  readonly sha256: string
  open(): Readable | Buffer
}

/** Returns the body with a text. */
export function bodyOf(content: string): RequestBody {
  const buffer = Buffer.from(content)
  const sha256 = createHash('sha256').update(buffer).digest('hex')
  return { bytes: buffer.length, sha256, open: () => buffer }
}

/** A request about a key, or about the bucket. */
export interface S3Request {
  readonly method: ServiceRequest['method']
  /** Without the prefix of the address; undefined for the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: RequestBody
  /** Statuses besides those of a success that the caller handles. */
  readonly accepts?: readonly number[]
}

/** An answer whose body was read. */
export interface TextAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
}

type Outcome = 'ok' | 'failed' | 'refused'

/** What counts the requests. */
export type CountRequest = (method: string, outcome: Outcome) => void

/** The numbers of requests by method and outcome. */
export class RequestFigures {
  readonly #numbers = new Map<string, number>()

  readonly count: CountRequest = (method, outcome) => {
    const key = `${method} ${outcome}`
    this.#numbers.set(key, (this.#numbers.get(key) ?? 0) + 1)
  }

  get all() {
    return [...this.#numbers].map(([key, number]) => {
      const [method = '', outcome = ''] = key.split(' ')
      return { method, outcome, number }
    })
  }
}

/** Parts that the caller provides. */
interface ClientParts {
  readonly address: S3Address
  readonly keys: KeySource
  readonly log: Logger
  readonly now: () => number
  readonly count: CountRequest
}

/** The answer of a server that refuses a request for good. */
export class S3RefusalError extends StoreUnavailableError {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string) {
    super(`the object storage answered ${status} ${code}`)
    this.status = status
    this.code = code
  }
}

/** Sends requests to an S3 server, with retries. Never logs keys, signatures or queries. */
export class S3Client {
  readonly #parts: ClientParts
  readonly #pool: ServicePool
  readonly #availability: Availability
  readonly #closing = new AbortController()

  constructor(parts: ClientParts) {
    this.#parts = parts
    this.#pool = createServicePool(urlOf(parts.address, '').origin, DEADLINES)
    this.#availability = new Availability(() => this.#attempt({ method: 'HEAD' }), {
      onAway: (err) => parts.log.warn({ err }, 'the object storage is unavailable'),
      onBack: () => parts.log.warn('the object storage is available again'),
    })
  }

  get address(): S3Address {
    return this.#parts.address
  }

  get isAway(): boolean {
    return this.#availability.isAway
  }

  /** @throws StoreUnavailableError while the storage is away. */
  checkAvailable(): void {
    this.#availability.check()
  }

  /** Cancels all requests. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#availability.stop()
    await this.#pool.close()
  }

  /**
   * Sends a request and returns the beginning of the answer.
   *
   * @throws StoreUnavailableError when no try succeeds; S3RefusalError for a status that the request does
   *   not accept.
   */
  async open(request: S3Request): Promise<ServiceResponse> {
    this.#availability.check()
    for (let tries = 0; ; tries += 1) {
      try {
        return await this.#attempt(request)
      } catch (error) {
        const pauseMs = RETRY_PAUSES_MS[tries]
        const isFinal = error instanceof S3RefusalError && error.code !== 'RequestTimeout'
        if (isFinal || pauseMs === undefined) throw error
        const delayMs = pauseMs * (1 + Math.random() * JITTER)
        await pause(delayMs, undefined, { signal: this.#closing.signal }).catch(() => {
          throw error
        })
        this.#availability.check()
      }
    }
  }

  /**
   * Sends a request and reads the answer. An answer with status 200 can have an error, which fails the
   * request too.
   *
   * @throws as `open`
   */
  async send(request: S3Request): Promise<TextAnswer> {
    const { status, headers, body } = await this.open(request)
    const answer = await readText(body)
    const code = errorCodeOf(answer)
    if (code !== undefined && status < 300) throw new S3RefusalError(status, code)
    return { status, headers, text: answer }
  }

  /** Returns a URL for a request that a client sends itself. */
  async signedUrl(request: S3Request, expirySeconds: number): Promise<URL> {
    return signedUrl(this.#toSign(request), await this.#parts.keys.read(), expirySeconds)
  }

  /** Tries a request once, or twice where the keys have changed meanwhile. */
  async #attempt(request: S3Request): Promise<ServiceResponse> {
    const { count, keys } = this.#parts
    try {
      const response = await this.#exchange(request)
      this.#availability.noteAnswer()
      count(request.method, 'ok')
      return response
    } catch (error) {
      if (!(error instanceof S3RefusalError)) {
        count(request.method, 'failed')
        this.#availability.noteFailure(error)
        throw new StoreUnavailableError('the object storage does not answer', { cause: error })
      }
      this.#availability.noteAnswer()
      if (isAboutKeys(error) && (await keys.refresh().catch(() => false)))
        return this.#exchange(request)
      count(request.method, 'refused')
      this.#parts.log.warn({ err: error }, 'the object storage refused a request')
      throw error
    }
  }

  async #exchange(request: S3Request): Promise<ServiceResponse> {
    const { body, accepts = [] } = request
    const toSign = this.#toSign(request)
    const keys = await this.#parts.keys.read()
    const headers = signedHeaders(toSign, keys, body?.sha256 ?? EMPTY_SHA256)
    const length = body ? { 'content-length': String(body.bytes) } : {}
    const response = await this.#pool.request({
      method: request.method,
      path: toSign.url.pathname + toSign.url.search,
      headers: { ...headers, ...length },
      body: body?.open(),
      signal: this.#closing.signal,
    })
    const { status } = response
    if (status < 300 || accepts.includes(status)) return response
    const code = errorCodeOf(await readText(response.body)) ?? 'Unknown'
    if (TRANSIENT.has(status)) throw new Error(`the object storage answered ${status} ${code}`)
    if (code === 'RequestTimeTooSkewed') this.#logClocks(response)
    throw new S3RefusalError(status, code)
  }

  #toSign({ method, key, query = {}, headers = {} }: S3Request): SignedRequest {
    const { address, now } = this.#parts
    const url = urlOf(address, key)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    url.search = canonicalQuery(url)
    return { method, url, headers, region: address.region, timeMs: now() }
  }

  #logClocks({ headers }: ServiceResponse): void {
    const { log, now } = this.#parts
    const aheadMs = now() - Date.parse(headers.get('date') ?? '')
    log.warn({ aheadMs }, 'the clocks of this server and of the object storage differ')
  }
}

/** An answer to HEAD has no code, so that any 403 can be about the keys. */
function isAboutKeys({ status, code }: S3RefusalError): boolean {
  return status === 403 && ['SignatureDoesNotMatch', 'InvalidAccessKeyId', 'Unknown'].includes(code)
}

async function readText(body: Readable): Promise<string> {
  let bytes = 0
  const limited = body.map((chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_TEXT_BYTES) throw new Error('the answer of the object storage is too long')
    return chunk
  })
  return text(limited)
}
