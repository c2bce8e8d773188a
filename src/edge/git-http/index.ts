import type { Logger } from 'pino'
import { DomainError, outsideError, type Reason } from '../../forge/core/errors.ts'
import { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import { answerTo } from '../../platform/http/listener/answers.ts'
import type { HttpRequest, HttpResponse } from '../../platform/http/requests.ts'
import type { AuthorizeGit, GitMove, GitService, GitTarget } from './git-access.ts'
import {
  abort,
  advertise,
  answerRequest,
  answerText,
  type SessionLimits,
  SessionSlot,
} from './session.ts'

export interface GitHttpOptions {
  readonly authorize: AuthorizeGit
  readonly log: Logger
  /** Shared with Git over SSH. Default: slots of its own. */
  readonly slots?: FairSlots
  /** Called for each Git request when it has ended. */
  readonly observe: (end: GitRequestEnd) => void
  readonly limits: SessionLimits & {
    /**
     * Most requests that run a Git process at the same time. One account, or one peer without an
     * account, has at most half of them.
     */
    readonly maxSessions: number
  }
}

/** A Git request that has ended. */
export interface GitRequestEnd {
  readonly request: HttpRequest
  readonly route: GitRoute
  /** Id of the account that was granted access, undefined without one. */
  readonly user: number | undefined
  /** HTTP status of the response. */
  readonly status: number
  /** Whether the whole response was sent. */
  readonly isComplete: boolean
  readonly durationMs: number
}

/** A million lines of 50 bytes, one for each ref, and some more. */
const MAX_FETCH_REQUEST_BYTES = 64 * 1024 * 1024

// Git sends a keep-alive every five seconds (receive.keepAlive and uploadpack.keepAlive of
// git-config(1)). Before the first one it may index a large pack, or count the objects of a large
// history.
const IDLE_TIMEOUT_MS = 10 * 60_000

// The largest push over a line of 200 KB/s.
const TOTAL_TIMEOUT_MS = 3 * 3_600_000

// Each runs two processes. Many users that clone the same repository at once still fit.
const MAX_SESSIONS = 128

/** Seconds after which a client that got no slot should try again. */
const RETRY_AFTER_SECONDS = '10'

/** Returns the limits of a server on the public internet. */
export function gitHttpLimits(maxPushBytes: number): GitHttpOptions['limits'] {
  return {
    maxPushBytes,
    maxFetchRequestBytes: MAX_FETCH_REQUEST_BYTES,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    totalTimeoutMs: TOTAL_TIMEOUT_MS,
    maxSessions: MAX_SESSIONS,
  }
}

/** Creates the slots of Git requests, over HTTP and SSH together. */
export function createSessionSlots({
  maxSessions: max,
}: Pick<GitHttpOptions['limits'], 'maxSessions'>): FairSlots {
  return new FairSlots({ max, full: () => new DomainError('SERVER_BUSY') })
}

/**
 * Creates the handler of Git's smart protocol (gitprotocol-http(5)) over both versions of HTTP.
 *
 * @returns a handler that answers Git requests only, and returns whether a request was one.
 */
export function createGitHttp(
  options: GitHttpOptions,
): (request: HttpRequest, response: HttpResponse) => boolean {
  const { slots = createSessionSlots(options.limits) } = options
  const handle = async (
    request: HttpRequest,
    response: HttpResponse,
    route: GitRoute,
    end: Ending,
  ) => {
    const { authorize, limits, log } = options
    const answer = answerTo(request)
    if (answer?.fullBound() || answer?.enterStream()) {
      const headers = { 'retry-after': RETRY_AFTER_SECONDS }
      return answerText(response, 429, 'read earlier answers of the server first', headers)
    }
    if (route.kind === 'unknown service') {
      return answerText(response, 400, 'only the smart protocol of Git is supported')
    }
    if (refuseMalformed(request, response, route)) return
    const { kind, target } = route
    const decision = await authorize(request, target)
    if (decision.outcome === 'refused') {
      return answerText(response, decision.status, decision.message, decision.headers)
    }
    if (decision.outcome === 'moved') return redirect(request, response, decision)
    end.user = decision.user
    // The client may have left during authorisation. Its response has closed already, so that
    // nothing would stop the process.
    if (isClosed(request)) return
    const { service } = target
    const slot = new SessionSlot(decision, service)
    const release = slots.tryAcquire(slot)
    if (!release) {
      const headers = { 'retry-after': RETRY_AFTER_SECONDS }
      return answerText(response, 503, 'too many Git requests at the moment', headers)
    }
    try {
      const answer = kind === 'request' ? answerRequest : advertise
      await answer({ request, response, service, grant: decision, slot }, limits, log)
    } finally {
      release()
    }
  }
  return (request, response) => {
    const route = readGitRoute(request.url ?? '')
    if (!route) return false
    handle(request, response, route, observed(request, response, route, options.observe)).catch(
      (err: unknown) => {
        const refusal = outsideError(err)
        options.log[refusal ? 'warn' : 'error']({ err }, 'a Git request failed')
        if (response.headersSent) abort(response)
        else answerFailure(response, refusal)
      },
    )
    return true
  }
}

/** Responses to requests that failed for a reason other than a fault of the server. */
const FAILURES: Readonly<Partial<Record<Reason, readonly [status: number, message: string]>>> = {
  DELETED_MEANWHILE: [404, 'Repository not found'],
  REPOSITORY_NOT_FOUND: [404, 'Repository not found'],
  SERVER_BUSY: [503, 'the server is busy: try again later'],
  GIT_TIMEOUT: [504, 'git took too long'],
  GIT_MEMORY_EXCEEDED: [422, 'this takes more memory than the server allows'],
}

function answerFailure(response: HttpResponse, refusal: DomainError | undefined): void {
  const [status, message] = (refusal && FAILURES[refusal.reason]) ?? [500, 'the server failed']
  const headers: Record<string, string> =
    status === 503 ? { 'retry-after': RETRY_AFTER_SECONDS } : {}
  answerText(response, status, message, headers)
}

/** Facts about a request that are known before its end. */
interface Ending {
  user: number | undefined
}

function observed(
  request: HttpRequest,
  response: HttpResponse,
  route: GitRoute,
  observe: GitHttpOptions['observe'],
): Ending {
  const startedMs = performance.now()
  const end: Ending = { user: undefined }
  response.once('close', () => {
    const durationMs = performance.now() - startedMs
    observe({
      request,
      route,
      user: end.user,
      status: response.statusCode,
      isComplete: response.writableFinished,
      durationMs,
    })
  })
  return end
}

/** Refuses a request with the wrong method or content type. Returns whether it has. */
function refuseMalformed(
  request: HttpRequest,
  response: HttpResponse,
  { kind, target }: Exclude<GitRoute, { kind: 'unknown service' }>,
): boolean {
  const method = kind === 'request' ? 'POST' : 'GET'
  if (request.method !== method) {
    answerText(response, 405, `this path takes ${method}`, { allow: method })
    return true
  }
  const contentType = `application/x-${target.service}-request`
  if (kind === 'request' && request.headers['content-type'] !== contentType) {
    answerText(response, 400, `the content type has to be ${contentType}`)
    return true
  }
  return false
}

/** Redirects to the same path under the new name of the repository. */
function redirect(request: HttpRequest, response: HttpResponse, { owner, name }: GitMove): void {
  const [, , , ...endpoint] = (request.url ?? '').split('/')
  const location = `/${encodeURIComponent(owner)}/${encodeURIComponent(name)}.git/${endpoint.join('/')}`
  answerText(response, 301, `the repository is at ${location}`, { location })
}

export function isClosed(request: HttpRequest): boolean {
  return 'stream' in request ? request.stream.destroyed : request.socket.destroyed
}

/** A Git request, by its path and query (gitprotocol-http(5)). */
type GitRoute =
  /** The list of refs. */
  | { readonly kind: 'advertisement'; readonly target: GitTarget }
  /** A request to a service. */
  | { readonly kind: 'request'; readonly target: GitTarget }
  /** A Git path without a known service. Clients of the dumb protocol name none. */
  | { readonly kind: 'unknown service' }

const PATH = /^\/([^/]+)\/([^/]+)\/(info\/refs|git-upload-pack|git-receive-pack)$/

const SERVICES: readonly string[] = ['git-upload-pack', 'git-receive-pack'] satisfies GitService[]

/**
 * Reads a request target. Returns undefined when the path is not a Git path.
 *
 * @param url path and query, as in the request line.
 */
export function readGitRoute(url: string): GitRoute | undefined {
  const queryStart = url.indexOf('?')
  const path = queryStart < 0 ? url : url.slice(0, queryStart)
  const [, owner, repository, endpoint] = PATH.exec(path) ?? []
  if (owner === undefined || repository === undefined || endpoint === undefined) return undefined
  const name = repository.replace(/\.git$/i, '')
  if (endpoint !== 'info/refs') {
    // The pattern allows no other value.
    return { kind: 'request', target: { owner, name, service: endpoint as GitService } }
  }
  const services = new URLSearchParams(queryStart < 0 ? '' : url.slice(queryStart)).getAll(
    'service',
  )
  const [service = ''] = services
  if (services.length !== 1 || !isService(service)) return { kind: 'unknown service' }
  return { kind: 'advertisement', target: { owner, name, service } }
}

function isService(text: string): text is GitService {
  return SERVICES.includes(text)
}
