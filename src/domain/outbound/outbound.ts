import type { LookupFunction } from 'node:net'
import { isIPv6 } from 'node:net'
import type { Readable } from 'node:stream'
import { Client, type Dispatcher } from 'undici'
import { createLimited } from '../../concurrency/limited.ts'
import type { AllowedHosts } from './allowed-hosts.ts'
import { createDestinations, type Resolve, resolveBySystem } from './destinations.ts'
import { OutboundError } from './errors.ts'

/** How long the check of a destination may take: somebody waits for the answer. */
const CHECK_TIMEOUT_MS = 5_000

/**
 * Checks at once, each of which may hold a socket to a name server. Further ones wait, as long as
 * they may take.
 */
const MAX_CHECKS = 64

/** More would not have their turn in time. */
const MAX_WAITING_CHECKS = 256

/** A request to another server. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST'
  /** http or https. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface SendOptions {
  /** For all of it: lookup, connection, request and answer. */
  readonly timeoutMs: number
  /** How much of an answer's body is read. */
  readonly maxResponseBytes: number
  /** The URL was set by an administrator, so its addresses are not judged. */
  readonly isTrusted?: boolean
  /** Gives the request up. */
  readonly signal?: AbortSignal
}

export interface OutboundResponse {
  readonly status: number
  /** By name in lower case; the first value where there are several. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** Whether the body went on after `maxResponseBytes`. */
  readonly isTruncated: boolean
}

/** A request whose body may be long. */
export interface StreamedRequest extends Omit<OutboundRequest, 'body'> {
  readonly body?: Readable
}

export interface StreamOptions {
  /** Until the answer begins. */
  readonly timeoutMs: number
  /** From one part of the answer's body to the next. */
  readonly idleTimeoutMs: number
  /** Gives the exchange up at any time. */
  readonly signal: AbortSignal
}

export interface StreamedResponse extends Omit<OutboundResponse, 'body' | 'isTruncated'> {
  /** To be read or destroyed: the connection lives as long as it does. */
  readonly body: Readable
}

/** Requests that the server makes to others. */
export interface Outbound {
  /**
   * Looks a URL's host up and judges its addresses, as `send` will once more.
   *
   * @throws OutboundError UNRESOLVABLE_HOST, BLOCKED_ADDRESS, TIMEOUT
   */
  checkDestination(url: URL): Promise<void>
  /**
   * Sends a request over a connection of its own, to the very addresses that were judged: a name
   * that leads elsewhere a moment later changes nothing. Redirects are answers like others and are
   * not followed. Proxies named in the environment are not used, since they would do the
   * connecting.
   *
   * @throws OutboundError when there is no answer.
   */
  send(request: OutboundRequest, options: SendOptions): Promise<OutboundResponse>
  /**
   * The same for bodies that flow, under the same rules.
   *
   * @throws OutboundError when there is no answer. What cuts a body short later is an error of its
   *   stream.
   */
  open(request: StreamedRequest, options: StreamOptions): Promise<StreamedResponse>
}

/**
 * @param options.ownAddresses addresses that this service is reached at, blocked as private ones
 *   are.
 * @param options.resolve how names are looked up, if not by the system.
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
  const limitChecks = createLimited({
    maxRunning: MAX_CHECKS,
    maxWaitingPerKey: MAX_WAITING_CHECKS,
    full: () => new OutboundError('TIMEOUT'),
  })
  return {
    async checkDestination(url) {
      await withDeadline(CHECK_TIMEOUT_MS, undefined, (signal) =>
        limitChecks('', async () => {
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

    open(request, options) {
      return withDeadline(options.timeoutMs, options.signal, async (untilAnswer) => {
        const addresses = await destinations.resolve(request.url, {
          isTrusted: false,
          signal: untilAnswer,
        })
        return openExchange(request, addresses, options, untilAnswer)
      })
    },
  }
}

/** One request and its answer. */
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
    // Nobody waits for it: what is left of the connection has no more to say.
    client.destroy().catch(() => {})
  }
}

/** One request, and the beginning of its answer. */
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
 * Connects to the addresses that were judged. Who asks has a deadline, which is the only timeout of
 * a request but for this one.
 *
 * @param idleTimeoutMs from one part of an answer's body to the next; 0 for as long as it takes.
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

/** A connection that is kept could outlive the verdict on its address. */
function targetOf({ pathname, search }: URL) {
  return { path: pathname + search, reset: true }
}

/**
 * A lookup that was made already. Addresses in URLs are never looked up, and are those that were
 * judged, too.
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
 * Runs work that ends with a signal, and does not wait for it any longer than that.
 *
 * @throws OutboundError TIMEOUT after the time, CANCELLED when `given` fires first.
 */
async function withDeadline<T>(
  timeoutMs: number,
  given: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const cancel = () => controller.abort(new OutboundError('CANCELLED'))
  const timer = setTimeout(() => controller.abort(new OutboundError('TIMEOUT')), timeoutMs)
  if (given?.aborted) cancel()
  given?.addEventListener('abort', cancel)
  const ended = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason))
    if (controller.signal.aborted) reject(controller.signal.reason)
  })
  try {
    return await Promise.race([ended, work(controller.signal)])
  } finally {
    clearTimeout(timer)
    given?.removeEventListener('abort', cancel)
  }
}
