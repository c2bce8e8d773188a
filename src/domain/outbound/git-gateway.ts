import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { OutboundError, type OutboundFailure } from './errors.ts'
import type { Outbound, StreamedResponse } from './outbound.ts'

/**
 * What git on this machine fetches from in place of the server that somebody named.
 *
 * Git looks names up by itself, follows redirects and connects to what comes of it. So it is given
 * a URL on loopback instead, and what it asks there is asked of the real server by the rules that
 * hold for every destination of a stranger. It speaks only the smart protocol
 * (gitprotocol-http(5)), since the dumb one fetches whatever files the other side names. Git never
 * sees the credentials.
 */
export interface GitGateway {
  /** Where git finds the repository. */
  readonly url: string
  /** Header that git has to send, since others on this machine may connect as well. Secret. */
  readonly header: string
  /**
   * Why an exchange failed; undefined while none did. Git itself only knows that its fetch failed.
   */
  failure(): GatewayFailure | undefined
  close(): Promise<void>
}

export type GatewayFailure =
  | OutboundFailure
  /** The other side wants credentials, or does not take these. */
  | 'UNAUTHORIZED'
  | 'NOT_FOUND'
  /** Something answers that is no repository, or none of the smart protocol. */
  | 'NO_REPOSITORY'
  /**
   * A redirect to what is no http or https URL, from https to http, to something else than the same
   * file, or one too many.
   */
  | 'BAD_REDIRECT'
  | 'TOO_LARGE'

/** A repository elsewhere. */
export interface GatewayTarget {
  /** http or https, without credentials, query and fragment. */
  readonly url: URL
  /** Value of the Authorization header; undefined without credentials. */
  readonly authorization: string | undefined
}

export interface GatewayOptions {
  /** Of all answers together. */
  readonly maxBytes: number
  /** Gives up whatever is under way. */
  readonly signal: AbortSignal
  /** From one part of an answer to the next. */
  readonly idleTimeoutMs?: number
}

/** Until an answer begins: the other side may have to count objects first. */
const ANSWER_TIMEOUT_MS = 2 * 60 * 1000

/** Git tells of its progress every five seconds at least (`keepalive` of git-upload-pack(1)). */
const IDLE_TIMEOUT_MS = 60 * 1000

const MAX_REDIRECTS = 5

/**
 * Of a list of refs: a quarter of a million. Git writes a file for each, which is many times as
 * large as its line.
 */
const MAX_LIST_BYTES = 16 * 1024 * 1024

const ADVERTISEMENT = '/info/refs?service=git-upload-pack'
const SERVICE = '/git-upload-pack'

/** Where the repository is on the gateway. */
const ROOT = '/repository.git'

/**
 * Of what git sends, what the other side gets. It sees the git that fetches, as many servers answer
 * nobody else.
 */
const PASSED_HEADERS = [
  'accept',
  'content-encoding',
  'content-length',
  'content-type',
  'git-protocol',
  'user-agent',
]

/** Opens a gateway to a repository. It lasts as long as one copy takes. */
export async function openGitGateway(
  outbound: Outbound,
  target: GatewayTarget,
  options: GatewayOptions,
): Promise<GitGateway> {
  const secret = randomBytes(32).toString('base64url')
  const upstream = createUpstream(outbound, target, options)
  let failure: GatewayFailure | undefined
  // Git does not expect that a connection it keeps for its next question ends meanwhile.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    if (!isSame(request.headers['x-gateway-secret'], secret)) {
      response.writeHead(404).end()
      return
    }
    answer(request, response, upstream).catch((error: unknown) => {
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

/** The other side, as it is reached by now. */
interface Upstream {
  advertisement(headers: Record<string, string>): Promise<StreamedResponse>
  service(headers: Record<string, string>, body: IncomingMessage): Promise<StreamedResponse>
  /** Lets an answer pass, as long as neither it nor all of them together are too large. */
  counter(maxBytes: number): Transform
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Upstream,
): Promise<void> {
  const headers = headersOf(request)
  let found: StreamedResponse
  let maxBytes = MAX_LIST_BYTES
  if (request.method === 'GET' && request.url === ROOT + ADVERTISEMENT) {
    found = await upstream.advertisement(headers)
    checkAnswer(found, 'application/x-git-upload-pack-advertisement')
  } else if (request.method === 'POST' && request.url === ROOT + SERVICE) {
    if (!(await asksForList(request))) maxBytes = Number.POSITIVE_INFINITY
    found = await upstream.service(headers, request)
    checkAnswer(found, 'application/x-git-upload-pack-result')
  } else {
    response.writeHead(404).end()
    return
  }
  response.writeHead(200, { 'content-type': found.headers.get('content-type') ?? '' })
  try {
    await pipeline(found.body, upstream.counter(maxBytes), response)
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause
    throw new GatewayError(isIdle(cause) ? 'TIMEOUT' : 'CONNECTION_FAILED', { cause })
  }
}

/**
 * Whether git asks for refs, in version 2 of the protocol. It is too little for git to compress
 * (gitprotocol-v2(5), ls-refs).
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
  // What is counted must be what arrives: a compressed answer can be a thousand times as long.
  return { ...Object.fromEntries(passed), 'accept-encoding': 'identity' }
}

/** @throws GatewayError, and has read no more of the answer then. */
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
  const { maxBytes, signal, idleTimeoutMs = IDLE_TIMEOUT_MS } = options
  let base = target.url.href.replace(/\/+$/, '')
  let { authorization } = target
  let bytes = 0
  const timeouts = { timeoutMs: ANSWER_TIMEOUT_MS, idleTimeoutMs, signal }

  const send = async (
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    body?: IncomingMessage,
  ) => {
    const url = new URL(base + path)
    const all = { ...headers, ...(authorization !== undefined && { authorization }) }
    try {
      return await outbound.open({ method, url, headers: all, ...(body && { body }) }, timeouts)
    } catch (error) {
      throw error instanceof OutboundError
        ? new GatewayError(error.failure, { cause: error })
        : error
    }
  }

  /**
   * Goes to where a redirect leads, for good. Credentials go to nobody but whom they were given
   * for.
   */
  const follow = (location: string | undefined) => {
    const from = new URL(base + ADVERTISEMENT)
    const to =
      location !== undefined && URL.canParse(location, from.href)
        ? new URL(location, from)
        : undefined
    const isKept = to?.href.endsWith(ADVERTISEMENT) && to.username === '' && to.password === ''
    const isFit =
      to?.protocol === 'https:' || (to?.protocol === 'http:' && from.protocol === 'http:')
    if (!to || !isKept || !isFit) throw new GatewayError('BAD_REDIRECT')
    if (to.origin !== from.origin) authorization = undefined
    base = to.href.slice(0, -ADVERTISEMENT.length)
  }

  return {
    async advertisement(headers) {
      for (let redirects = 0; ; redirects++) {
        const response = await send('GET', ADVERTISEMENT, headers)
        if (response.status < 300 || response.status > 399) return response
        response.body.on('error', () => {}).destroy()
        if (redirects === MAX_REDIRECTS) throw new GatewayError('BAD_REDIRECT')
        follow(response.headers.get('location'))
      }
    },
    service: (headers, body) => send('POST', SERVICE, headers, body),
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
