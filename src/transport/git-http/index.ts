import type { Logger } from 'pino'
import {
  type DomainError,
  deletionError,
  gitLimitError,
  type Reason,
} from '../../domain/core/errors.ts'
import type { HttpRequest, HttpResponse } from '../http/requests.ts'
import { answerTo } from '../listener/answers.ts'
import { abort, answerText } from './answers.ts'
import type { AuthorizeGit, GitGrant, GitMove, GitTarget } from './git-access.ts'
import { createPlaces } from './limits.ts'
import { type GitRoute, readGitRoute } from './routes.ts'
import { advertise, exchange, type SessionLimits, type SessionOptions } from './session.ts'
import { Turn } from './session-slot.ts'

export interface GitHttpOptions {
  readonly authorize: AuthorizeGit
  readonly log: Logger
  /** Told of every request of Git's when it has ended. */
  readonly observe: (end: GitRequestEnd) => void
  readonly limits: SessionLimits & {
    /**
     * Requests that run git at the same time; for one account, or one peer without one, half of
     * that at most.
     */
    readonly maxSessions: number
  }
}

/** A request of Git's, and how it ended. */
export interface GitRequestEnd {
  readonly request: HttpRequest
  readonly route: GitRoute
  /** Number of the account that was let in; undefined where nobody was, or somebody without one. */
  readonly user: number | undefined
  /** Of the answer. */
  readonly status: number
  /** Whether the client had all of it. */
  readonly isComplete: boolean
  readonly durationMs: number
}

/** Lines of 50 bytes for a million refs, and some more. */
const MAX_FETCH_REQUEST_BYTES = 64 * 1024 * 1024

// Git says every five seconds that it is still at work (receive.keepAlive and uploadpack.keepAlive
// of git-config(1)); before the first word it may have to index a large pack, or count the objects
// of a large history.
const IDLE_TIMEOUT_MS = 10 * 60_000

// The largest push over a line of 200 KB/s.
const TOTAL_TIMEOUT_MS = 3 * 3_600_000

// Two processes each. A crowd that clones the same repository still fits.
const MAX_SESSIONS = 128

/** Seconds after which a client that found no place should come again. */
const RETRY_AFTER_SECONDS = '10'

/** Limits of a server on the open net. */
export function gitHttpLimits(maxPushBytes: number): GitHttpOptions['limits'] {
  return {
    maxPushBytes,
    maxFetchRequestBytes: MAX_FETCH_REQUEST_BYTES,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    totalTimeoutMs: TOTAL_TIMEOUT_MS,
    maxSessions: MAX_SESSIONS,
  }
}

/**
 * Git over HTTP, the smart protocol (gitprotocol-http(5)), in either version of HTTP.
 *
 * @returns a handler that says whether a request was one of Git's; only then it answers.
 */
export function createGitHttp(
  options: GitHttpOptions,
): (request: HttpRequest, response: HttpResponse) => boolean {
  const places = createPlaces(options.limits.maxSessions)
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
      return answerText(response, 400, 'only the smart protocol of Git is spoken here')
    }
    if (refuseMalformed(request, response, route)) return
    const { kind, target } = route
    const decision = await authorize(request, target)
    if (decision.outcome === 'refused') {
      return answerText(response, decision.status, decision.message, decision.headers)
    }
    if (decision.outcome === 'moved') return redirect(request, response, decision)
    end.user = decision.user
    // The client may have left while it was looked up: then nothing would tell that nobody waits
    // for the process.
    if (isClosed(request)) return
    const turn = new Turn(decision, target.service)
    const leave = places.take(turn)
    if (!leave) {
      const headers = { 'retry-after': RETRY_AFTER_SECONDS }
      return answerText(response, 503, 'too many people use git here at the moment', headers)
    }
    try {
      const serve: Serve = kind === 'request' ? exchange : advertise
      await serve(request, response, target, decision, { ...limits, turn, log })
    } finally {
      leave()
    }
  }
  return (request, response) => {
    const route = readGitRoute(request.url ?? '')
    if (!route) return false
    handle(request, response, route, observed(request, response, route, options.observe)).catch(
      (err: unknown) => {
        const refusal = deletionError(err) ?? gitLimitError(err)
        options.log[refusal ? 'warn' : 'error']({ err }, 'a git request failed')
        if (response.headersSent) abort(response)
        else answerFailure(response, refusal)
      },
    )
    return true
  }
}

/**
 * What git users are told of a request that could not be served for a reason that is no fault of
 * the server.
 */
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

/** What is found out about a request before it ends. */
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

type Serve = (
  request: HttpRequest,
  response: HttpResponse,
  target: GitTarget,
  grant: GitGrant,
  options: SessionOptions,
) => Promise<void>

/** Answers a request that is none to this path, whoever sends it. Returns whether it has. */
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

/** To the same place under the repository's new name. */
function redirect(request: HttpRequest, response: HttpResponse, { owner, name }: GitMove): void {
  const [, , , ...endpoint] = (request.url ?? '').split('/')
  const location = `/${encodeURIComponent(owner)}/${encodeURIComponent(name)}.git/${endpoint.join('/')}`
  answerText(response, 301, `the repository is at ${location}`, { location })
}

function isClosed(request: HttpRequest): boolean {
  return 'stream' in request ? request.stream.destroyed : request.socket.destroyed
}
