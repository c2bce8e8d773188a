import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { OutboundError, type OutboundFailure } from './errors.ts'
import type { Outbound, StreamedResponse } from './outbound.ts'

/**
 * A local HTTP server that a Git process fetches from, or pushes to, in place of a remote server that
 * a user named.
 *
 * Git resolves names, follows redirects and connects on its own, without the checks of this server.
 * So Git gets a URL on loopback, and the gateway forwards its requests under the rules for
 * user-supplied URLs. The gateway speaks only the smart protocol (gitprotocol-http(5)): with the
 * dumb protocol, the remote server chooses the files that are fetched. Git never sees the
 * credentials.
 */
export interface GitGateway {
  /** The URL of the repository on the gateway. */
  readonly url: string
  /**
   * A header that Git must send, because other processes of this machine can connect too. Secret.
   */
  readonly header: string
  /**
   * Returns why an exchange failed, or undefined. Git itself reports only that its fetch failed.
   */
  failure(): GatewayFailure | undefined
  close(): Promise<void>
}

export type GatewayFailure =
  | OutboundFailure
  /** The remote server requires credentials, or rejects the given ones. */
  | 'UNAUTHORIZED'
  | 'NOT_FOUND'
  /** The response is not a repository, or not the smart protocol. */
  | 'NO_REPOSITORY'
  /**
   * A redirect to a URL that is not http or https, from https to http, or to another file; or too
   * many redirects.
   */
  | 'BAD_REDIRECT'
  | 'TOO_LARGE'

/** A repository on a remote server. */
export interface GatewayTarget {
  /** An http or https URL without credentials, query and fragment. */
  readonly url: URL
  /** The value of the Authorization header; undefined without credentials. */
  readonly authorization: string | undefined
}

/** Limits of the times of exchanges. */
export interface GatewayTimes {
  /** The maximum time without progress. */
  readonly idleMs: number
  /** The maximum time of a list of refs, redirects included. */
  readonly listMs: number
}

export interface GatewayOptions {
  /** The maximum size of all responses together. */
  readonly maxBytes: number
  /** Cancels all exchanges. */
  readonly signal: AbortSignal
  /** Default: `TIMES`. */
  readonly times?: GatewayTimes | undefined
  /** Permitted operation on the remote server: fetch (default) or push. */
  readonly service?: UpstreamService
}

/** The services of gitprotocol-http(5). */
export type UpstreamService = 'git-upload-pack' | 'git-receive-pack'

/**
 * Git reports progress at least every five seconds, also while it counts or stores objects
 * (`uploadpack.keepAlive` and `receive.keepAlive` of git-config(1)). A list of refs needs no time to
 * begin.
 */
const TIMES: GatewayTimes = { idleMs: 60 * 1000, listMs: 2 * 60 * 1000 }

const MAX_REDIRECTS = 5

/**
 * The maximum size of a list of refs: a quarter of a million refs. Git writes a file for each ref,
 * which is many times as large as its line.
 */
const MAX_LIST_BYTES = 16 * 1024 * 1024

const advertisementOf = (service: UpstreamService) => `/info/refs?service=${service}`

/** The path of the repository on the gateway. */
const ROOT = '/repository.git'

/**
 * The request headers that the gateway forwards. `user-agent` is among them because many servers
 * answer only Git.
 */
const PASSED_HEADERS = [
  'accept',
  'content-encoding',
  'content-length',
  'content-type',
  'git-protocol',
  'user-agent',
]

/** Opens a gateway to a repository, for one copy or one push. */
export async function openGitGateway(
  outbound: Outbound,
  target: GatewayTarget,
  options: GatewayOptions,
): Promise<GitGateway> {
  const secret = randomBytes(32).toString('base64url')
  const upstream = createUpstream(outbound, target, options)
  let failure: GatewayFailure | undefined
  // Git does not expect that an idle connection that it reuses closes.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    if (!isSame(request.headers['x-gateway-secret'], secret)) {
      response.writeHead(404).end()
      return
    }
    answer(request, response, upstream, options).catch((error: unknown) => {
      failure ??= error instanceof GatewayError ? error.failure : 'CONNECTION_FAILED'
      if (response.headersSent) response.destroy()
      else response.writeHead(502, { connection: 'close' }).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${ROOT}`,
    header: `X-Gateway-Secret: ${secret}`,
    failure: () => failure,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

class GatewayError extends Error {
  readonly failure: GatewayFailure

  constructor(failure: GatewayFailure, options?: ErrorOptions) {
    super(failure, options)
    this.failure = failure
  }
}

function isSame(given: string | string[] | undefined, secret: string): boolean {
  const [a, b] = [Buffer.from(String(given)), Buffer.from(secret)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The remote server, at the URL and with the credentials that redirects led to. */
interface Upstream {
  advertisement(headers: Record<string, string>, until: AbortSignal): Promise<StreamedResponse>
  service(
    headers: Record<string, string>,
    body: IncomingMessage,
    until: AbortSignal | undefined,
  ): Promise<StreamedResponse>
  /** Returns a stream that fails when this response or all responses together are too large. */
  counter(maxBytes: number): Transform
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Upstream,
  { service = 'git-upload-pack', times: { listMs } = TIMES }: GatewayOptions,
): Promise<void> {
  const headers = headersOf(request)
  const isAdvertisement =
    request.method === 'GET' && request.url === ROOT + advertisementOf(service)
  const isRequest = request.method === 'POST' && request.url === `${ROOT}/${service}`
  if (!isAdvertisement && !isRequest) {
    response.writeHead(404).end()
    return
  }
  const isList = isAdvertisement || (service === 'git-upload-pack' && (await asksForList(request)))
  const untilList = isList ? AbortSignal.timeout(listMs) : undefined
  try {
    const found =
      untilList && isAdvertisement
        ? await upstream.advertisement(headers, untilList)
        : await upstream.service(headers, request, untilList)
    checkAnswer(found, `application/x-${service}-${isAdvertisement ? 'advertisement' : 'result'}`)
    response.writeHead(200, { 'content-type': found.headers.get('content-type') ?? '' })
    const isBounded = isList || service === 'git-receive-pack'
    const maxBytes = isBounded ? MAX_LIST_BYTES : Number.POSITIVE_INFINITY
    await pipeline(found.body, upstream.counter(maxBytes), response)
  } catch (cause) {
    if (untilList?.aborted) throw new GatewayError('TIMEOUT', { cause })
    if (cause instanceof GatewayError) throw cause
    throw new GatewayError(isIdle(cause) ? 'TIMEOUT' : 'CONNECTION_FAILED', { cause })
  }
}

/**
 * Returns whether Git requests a list of refs in version 2 of the protocol. Such a request is too
 * short for Git to compress it (gitprotocol-v2(5), ls-refs).
 */
async function asksForList(request: IncomingMessage): Promise<boolean> {
  await once(request, 'readable')
  const beginning: Buffer | null = request.read()
  if (beginning === null) return false
  request.unshift(beginning)
  return beginning.includes('command=ls-refs')
}

function isIdle(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'UND_ERR_BODY_TIMEOUT'
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const passed = PASSED_HEADERS.flatMap((name) =>
    headers[name] === undefined ? [] : [[name, String(headers[name])]],
  )
  // The limits count the bytes that arrive. A compressed response can expand a thousandfold.
  return { ...Object.fromEntries(passed), 'accept-encoding': 'identity' }
}

/**
 * Checks the status and headers of a response.
 *
 * @throws GatewayError, after the response was closed.
 */
function checkAnswer({ status, headers, body }: StreamedResponse, contentType: string): void {
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (status === 200 && headers.get('content-type') === contentType && encoding === 'identity')
    return
  body.on('error', () => {}).destroy()
  if (status === 401 || status === 403) throw new GatewayError('UNAUTHORIZED')
  throw new GatewayError(status === 404 || status === 410 ? 'NOT_FOUND' : 'NO_REPOSITORY')
}

function createUpstream(
  outbound: Outbound,
  target: GatewayTarget,
  options: GatewayOptions,
): Upstream {
  const { maxBytes, signal: untilEnd, times: { idleMs } = TIMES } = options
  const { service = 'git-upload-pack' } = options
  const advertisement = advertisementOf(service)
  let base = target.url.href.replace(/\/+$/, '')
  let { authorization } = target
  let bytes = 0

  const send = async (
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    { body, until }: { readonly body?: IncomingMessage; readonly until: AbortSignal | undefined },
  ) => {
    const signal = until ? AbortSignal.any([untilEnd, until]) : untilEnd
    const url = new URL(base + path)
    const all = { ...headers, ...(authorization !== undefined && { authorization }) }
    try {
      return await outbound.open(
        { method, url, headers: all, ...(body && { body }) },
        { idleTimeoutMs: idleMs, signal },
      )
    } catch (error) {
      throw error instanceof OutboundError
        ? new GatewayError(error.failure, { cause: error })
        : error
    }
  }

  /**
   * Moves the base URL to the target of a redirect. Another origin does not get the credentials.
   */
  const follow = (location: string | undefined) => {
    const from = new URL(base + advertisement)
    const to =
      location !== undefined && URL.canParse(location, from.href)
        ? new URL(location, from)
        : undefined
    const isSameFile = to?.href.endsWith(advertisement) && to.username === '' && to.password === ''
    const isAllowed =
      to?.protocol === 'https:' || (to?.protocol === 'http:' && from.protocol === 'http:')
    if (!to || !isSameFile || !isAllowed) throw new GatewayError('BAD_REDIRECT')
    if (to.origin !== from.origin) authorization = undefined
    base = to.href.slice(0, -advertisement.length)
  }

  return {
    async advertisement(headers, until) {
      for (let redirects = 0; ; redirects++) {
        const response = await send('GET', advertisement, headers, { until })
        if (response.status < 300 || response.status > 399) return response
        response.body.on('error', () => {}).destroy()
        if (redirects === MAX_REDIRECTS) throw new GatewayError('BAD_REDIRECT')
        follow(response.headers.get('location'))
      }
    },
    service: (headers, body, until) => send('POST', `/${service}`, headers, { body, until }),
    counter(maxAnswerBytes) {
      let answerBytes = 0
      return new Transform({
        transform(chunk: Buffer, _, done) {
          bytes += chunk.length
          answerBytes += chunk.length
          if (bytes > maxBytes || answerBytes > maxAnswerBytes) done(new GatewayError('TOO_LARGE'))
          else done(null, chunk)
        },
      })
    },
  }
}
