import type { Logger } from 'pino'
import type { HttpRequest, HttpResponse } from '../http/requests.ts'
import { drained } from '../rpc/index.ts'
import { abort, answerText, UNCACHED } from './answers.ts'
import type { GitGrant, GitService, PackProcess, PackRequest } from './git-access.ts'
import { BodyError, feed } from './request-body.ts'
import type { SessionSlot } from './session-slot.ts'

/** Limits of one request. */
export interface SessionLimits {
  /** Largest body of a push, both as sent and decompressed. */
  readonly maxPushBytes: number
  /** Largest body of a fetch: the lines with the objects that the client wants and has. */
  readonly maxFetchRequestBytes: number
  /** Longest time without any progress, neither of the request nor of the response. */
  readonly idleTimeoutMs: number
  /** Longest time in total. */
  readonly totalTimeoutMs: number
}

/** A request that was granted and holds a slot. */
export interface GitExchange {
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly service: GitService
  readonly grant: GitGrant
  readonly slot: SessionSlot
}

/** The process of one request, and the state of the request. */
interface Session extends GitExchange {
  readonly process: PackProcess
  /** Restarts the idle timeout. */
  readonly onProgress: () => void
  timedOut: boolean
  /** Whether the client left before its response was complete. */
  abandoned: boolean
  /**
   * Whether the body of the request is invalid. The response then gives that error rather than the
   * output of Git for a body that was cut off.
   */
  isInvalid: boolean
}

/**
 * The values that Git sends, such as `version=2`. No other reaches the environment of a process.
 */
const PROTOCOL =
  /^[a-z0-9][a-z0-9_-]{0,31}(=[a-z0-9_-]{1,32})?(:[a-z0-9][a-z0-9_-]{0,31}(=[a-z0-9_-]{1,32})?){0,7}$/

/**
 * Answers a request for the refs of a repository.
 *
 * @returns when the process has ended, even if the response has failed.
 */
export async function advertise(
  exchange: GitExchange,
  limits: SessionLimits,
  log: Logger,
): Promise<void> {
  const { request, response, service } = exchange
  const wanted = { advertise: true, protocol: protocolOf(request), isLarge: false }
  const session = begin(exchange, wanted, limits)
  session.process.stdin.end()
  const line = `# service=${service}\n`
  const prologue = `${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`
  await send(session, `application/x-${service}-advertisement`, prologue)
  const { code, stderr } = await session.process.exited
  if (code === 0) return end(response)
  // A process that was stopped because its client left has not failed.
  if (!session.abandoned) log.error({ service, code, stderr }, 'Git cannot list refs')
  fail(session, 500, 'the repository cannot be read')
}

/**
 * Passes a request to Git and the output of Git back, both at the same time, and each at the speed
 * of its reader.
 *
 * @returns when the process has ended, even if the response has failed.
 */
export async function answerRequest(
  exchange: GitExchange,
  limits: SessionLimits,
  log: Logger,
): Promise<void> {
  const { request, response, service } = exchange
  const session = begin(exchange, packRequestOf(request), limits)
  const { process, onProgress } = session
  const maxBytes =
    service === 'git-receive-pack' ? limits.maxPushBytes : limits.maxFetchRequestBytes
  const fed = feed(request, process.stdin, { maxBytes, onProgress }).then(
    () => undefined,
    (error: unknown) => {
      session.isInvalid = true
      process.stop()
      return error
    },
  )
  await send(session, `application/x-${service}-result`)
  const failure = await fed
  const { code, stderr } = await process.exited
  if (failure instanceof BodyError) return fail(session, failure.status, failure.message)
  if (failure !== undefined || code === null) {
    log.debug({ err: failure, service, code, stderr }, 'a Git request was cut off')
    return fail(session, 500, 'git was interrupted')
  }
  if (code !== 0) log.debug({ service, code, stderr }, 'Git refused a request')
  // The output before the exit says what Git refuses.
  if (code === 0 || response.headersSent) return end(response, `application/x-${service}-result`)
  fail(session, 400, `${service} does not understand the request`)
}

/**
 * Git sends a body of unknown length when the body is larger than `http.postBuffer`, which is one
 * mebibyte (git-config(1)).
 */
function packRequestOf(request: HttpRequest): PackRequest {
  const isLarge = request.headers['content-length'] === undefined
  return { advertise: false, protocol: protocolOf(request), isLarge }
}

/** Returns the protocol that the client asks for, empty for none or a malformed one. */
function protocolOf({ headers }: HttpRequest): string {
  const value = headers['git-protocol']
  return typeof value === 'string' && PROTOCOL.test(value) ? value : ''
}

/** Starts the process of a request. The process ends when its client leaves or its time is up. */
function begin(exchange: GitExchange, wanted: PackRequest, limits: SessionLimits): Session {
  const { response, grant, slot } = exchange
  const process = grant.start(wanted)
  const onTimeout = () => {
    session.timedOut = true
    process.stop()
    // The client may never read the rest.
    if (response.headersSent) abort(response)
  }
  slot.onEvicted(onTimeout)
  const idle = setTimeout(onTimeout, limits.idleTimeoutMs)
  const total = setTimeout(onTimeout, limits.totalTimeoutMs)
  const session: Session = {
    ...exchange,
    process,
    onProgress: () => idle.refresh(),
    timedOut: false,
    abandoned: false,
    isInvalid: false,
  }
  response.once('close', () => {
    if (response.writableEnded) return
    session.abandoned = true
    process.stop()
  })
  const settle = () => {
    clearTimeout(idle)
    clearTimeout(total)
  }
  process.exited.then(settle, settle)
  return session
}

/**
 * Sends the output of a process. The headers are sent with the first bytes, so that another
 * response is possible until then.
 */
async function send(session: Session, contentType: string, prologue = ''): Promise<void> {
  const { response } = session
  for await (const chunk of session.slot.follow(session.process.stdout)) {
    session.onProgress()
    // Read on: a push that has begun to move refs must not fail because its client has left.
    if (session.abandoned || session.isInvalid) continue
    if (!response.headersSent) {
      response.writeHead(200, { ...UNCACHED, 'content-type': contentType })
      if (prologue !== '') response.write(prologue)
    }
    if (!response.write(chunk)) await drained(response)
  }
}

/** Ends a complete response, which may be empty. */
function end(response: HttpResponse, contentType?: string): void {
  if (!response.headersSent && contentType !== undefined) {
    response.writeHead(200, { ...UNCACHED, 'content-type': contentType })
  }
  response.end()
}

/**
 * Sends an error, or cuts off a response that has begun, so that the client recognises it as
 * incomplete.
 */
function fail(session: Session, status: number, message: string): void {
  const { response } = session
  if (session.abandoned) return
  if (response.headersSent) abort(response)
  else if (session.timedOut) answerText(response, 504, 'git took too long')
  else answerText(response, status, message)
}
