import type { LookupFunction } from 'node:net'
import { isIPv6 } from 'node:net'
import { Readable } from 'node:stream'
import { Client, type Dispatcher } from 'undici'
import { FairSlots } from '../concurrency/fair-slots.ts'
import type { Holder } from '../concurrency/holders.ts'
import type { AllowedHosts } from './allowed-hosts.ts'
import { createDestinations, type Resolve, resolveBySystem } from './destinations.ts'
import { OutboundError } from './errors.ts'

/** The maximum time of the check of a destination. A user waits for the result. */
const CHECK_TIMEOUT_MS = 5_000

/** The maximum number of concurrent checks. Each may hold a socket to a name server. */
const MAX_CHECKS = 64

/** The maximum number of checks that wait. Further ones would time out before they start. */
const MAX_WAITING_CHECKS = 256

/** A request to another server. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** An http or https URL. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface SendOptions {
  /** The maximum time for lookup, connection, request and response together. */
  readonly timeoutMs: number
  /** The maximum number of bytes of the response body that are read. */
  readonly maxResponseBytes: number
  /** An administrator set the URL, so its addresses are not checked. */
  readonly isTrusted?: boolean
  /** Cancels the request. */
  readonly signal?: AbortSignal
}

export interface OutboundResponse {
  readonly status: number
  /** Keys are lower case. A repeated header has its first value. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** Whether the body is longer than `maxResponseBytes`. */
  readonly isTruncated: boolean
}

/** A request with a streamed body. */
export interface StreamedRequest extends Omit<OutboundRequest, 'body'> {
  readonly body?: Readable
}

export interface StreamOptions {
  /**
   * The maximum time without progress: until a connection exists, between two parts of the request
   * body, until the response begins, and between two parts of its body.
   */
  readonly idleTimeoutMs: number
  /** Cancels the exchange at any time. */
  readonly signal: AbortSignal
}

export interface StreamedResponse extends Omit<OutboundResponse, 'body' | 'isTruncated'> {
  /** Must be read or destroyed. The connection closes with the body. */
  readonly body: Readable
}

/** HTTP requests of this server to other servers. */
export interface Outbound {
  /**
   * Resolves the host of a URL and checks its addresses, as `send` does again.
   *
   * @param holder whom the check counts for.
   * @throws OutboundError UNRESOLVABLE_HOST, BLOCKED_ADDRESS, TIMEOUT
   */
  checkDestination(url: URL, holder: Holder): Promise<void>
  /**
   * Sends a request over a new connection. Connects to exactly the addresses that were checked, so
   * a changed DNS record cannot bypass the check. Does not follow redirects: they are responses
   * like others. Ignores the proxies of the environment, because a proxy would connect on its own.
   *
   * @throws OutboundError when there is no response.
   */
  send(request: OutboundRequest, options: SendOptions): Promise<OutboundResponse>
  /**
   * Sends a request with streamed bodies, under the rules of `send`.
   *
   * @throws OutboundError when there is no response. A response body that breaks off emits an
   *   error.
   */
  open(request: StreamedRequest, options: StreamOptions): Promise<StreamedResponse>
}

/**
 * Creates the client for requests to other servers.
 *
 * @param options.ownAddresses returns the addresses of this server, which are blocked.
 * @param options.resolve replaces the lookup by the system.
 */
export function createOutbound({
  resolve = resolveBySystem,
  ...rules
}: {
  readonly allowedHosts: AllowedHosts
  readonly ownAddresses: () => readonly string[]
  readonly resolve?: Resolve
}): Outbound {
  const destinations = createDestinations({ ...rules, resolve })
  const checks = new FairSlots({
    max: MAX_CHECKS,
    maxWaiting: MAX_WAITING_CHECKS,
    full: () => new OutboundError('TIMEOUT'),
  })
  return {
    async checkDestination(url, holder) {
      await withDeadline(CHECK_TIMEOUT_MS, undefined, (signal) =>
        checks.run(holder, async () => {
          signal.throwIfAborted()
          return destinations.resolve(url, { isTrusted: false, signal })
        }),
      )
    },

    send(request, { timeoutMs, maxResponseBytes, isTrusted = false, signal: given }) {
      return withDeadline(timeoutMs, given, async (signal) => {
        const addresses = await destinations.resolve(request.url, { isTrusted, signal })
        return exchange(request, addresses, maxResponseBytes, signal)
      })
    },

    open({ body, ...request }, options) {
      const { idleTimeoutMs, signal: given } = options
      return withDeadline(idleTimeoutMs, given, async (untilAnswer, restart) => {
        const addresses = await destinations.resolve(request.url, {
          isTrusted: false,
          signal: untilAnswer,
        })
        const followed = body && { body: Readable.from(noting(body, restart)) }
        return openExchange({ ...request, ...followed }, addresses, options, untilAnswer)
      })
    },
  }
}

async function exchange(
  { method, url, headers, body }: OutboundRequest,
  addresses: readonly string[],
  maxResponseBytes: number,
  signal: AbortSignal,
): Promise<OutboundResponse> {
  signal.throwIfAborted()
  const client = connectTo(url, addresses)
  try {
    const response = await client.request({
      ...targetOf(url),
      method,
      headers,
      body: body ?? null,
      signal,
    })
    return {
      status: response.statusCode,
      headers: firstValues(response.headers),
      ...(await readBody(response.body, maxResponseBytes)),
    }
  } catch (cause) {
    throw new OutboundError('CONNECTION_FAILED', { cause })
  } finally {
    // The response was read or failed, so closing the connection cannot fail the request.
    client.destroy().catch(() => {})
  }
}

/** Passes a body on, and calls a function with each part that the connection takes. */
async function* noting(body: Readable, onTaken: () => void): AsyncGenerator<unknown> {
  for await (const part of body) {
    onTaken()
    yield part
  }
}

/** Sends a request and returns as soon as the response begins. */
async function openExchange(
  { method, url, headers, body }: StreamedRequest,
  addresses: readonly string[],
  { idleTimeoutMs, signal }: StreamOptions,
  untilAnswer: AbortSignal,
): Promise<StreamedResponse> {
  untilAnswer.throwIfAborted()
  const client = connectTo(url, addresses, idleTimeoutMs)
  const close = () => {
    signal.removeEventListener('abort', close)
    client.destroy().catch(() => {})
  }
  try {
    const request = { ...targetOf(url), method, headers, body: body ?? null, signal: untilAnswer }
    const response = await client.request(request)
    signal.addEventListener('abort', close)
    response.body.once('close', close)
    // A body that is destroyed before its end emits an error, which nobody may be waiting for.
    response.body.on('error', () => {})
    return {
      status: response.statusCode,
      headers: firstValues(response.headers),
      body: response.body,
    }
  } catch (cause) {
    close()
    throw new OutboundError('CONNECTION_FAILED', { cause })
  }
}

/**
 * Opens a client that connects to the checked addresses. Callers set a deadline, so the client has
 * no other timeout than `idleTimeoutMs`.
 *
 * @param idleTimeoutMs the maximum time between two parts of the response body; 0 for no limit.
 */
function connectTo(url: URL, addresses: readonly string[], idleTimeoutMs = 0): Client {
  return new Client(url.origin, {
    allowH2: false,
    autoSelectFamily: true,
    connect: { lookup: lookupAs(addresses), timeout: 0 },
    headersTimeout: 0,
    bodyTimeout: idleTimeoutMs,
  })
}

/** Without `reset`, the connection could outlive the check of its address. */
function targetOf({ pathname, search }: URL) {
  return { path: pathname + search, reset: true }
}

/**
 * Returns a lookup function with the checked addresses as its result. The client looks up names
 * only; the addresses in URLs were checked too.
 */
function lookupAs(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_, { all }, callback) => {
    const [first] = found
    if (all || !first) callback(null, found)
    else callback(null, first.address, first.family)
  }
}

async function readBody(
  body: Dispatcher.ResponseData['body'],
  maxBytes: number,
): Promise<Pick<OutboundResponse, 'body' | 'isTruncated'>> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxBytes) break
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), isTruncated: length > maxBytes }
}

function firstValues(headers: Dispatcher.ResponseData['headers']): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(headers).flatMap(([name, value]): [string, string][] => {
      const first = Array.isArray(value) ? value[0] : value
      return first === undefined ? [] : [[name, first]]
    }),
  )
}

/**
 * Runs work with a deadline, and does not wait for the work after the deadline.
 *
 * @param work gets a function that begins the time anew.
 * @throws OutboundError TIMEOUT after the deadline, CANCELLED when `given` aborts first.
 */
async function withDeadline<T>(
  timeoutMs: number,
  given: AbortSignal | undefined,
  work: (signal: AbortSignal, restart: () => void) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const cancel = () => controller.abort(new OutboundError('CANCELLED'))
  const timer = setTimeout(() => controller.abort(new OutboundError('TIMEOUT')), timeoutMs)
  let isOver = false
  if (given?.aborted) cancel()
  given?.addEventListener('abort', cancel)
  const ended = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason))
    if (controller.signal.aborted) reject(controller.signal.reason)
  })
  try {
    const restart = () => {
      if (!isOver) timer.refresh()
    }
    return await Promise.race([ended, work(controller.signal, restart)])
  } finally {
    isOver = true
    clearTimeout(timer)
    given?.removeEventListener('abort', cancel)
  }
}
