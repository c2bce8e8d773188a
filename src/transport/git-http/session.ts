import type { Logger } from 'pino'
import type { HttpRequest, HttpResponse } from '../http/requests.ts'
import { abort, answerText, UNCACHED } from './answers.ts'
import type { GitGrant, GitTarget, PackProcess, PackRequest } from './git-access.ts'
import { BodyError, drained, feed } from './request-body.ts'
import type { Turn } from './session-slot.ts'

/** What one request may cost. */
export interface SessionLimits {
  /** Body of a push, as sent and as decompressed. */
  readonly maxPushBytes: number
  /** Body of a fetch: the lines with what the client wants and has. */
  readonly maxFetchRequestBytes: number
  /** Nothing came from the client that git took, and nothing from git that the client took. */
  readonly idleTimeoutMs: number
  /** From start to end, whatever moves. */
  readonly totalTimeoutMs: number
}

/** What one request may cost, and its place. */
export interface SessionOptions extends SessionLimits {
  readonly turn: Turn
  readonly log: Logger
}

/** The process of one request, and what became of it. */
interface Session {
  readonly process: PackProcess
  readonly options: SessionOptions
  /** Restarts the idle timeout. */
  readonly onProgress: () => void
  timedOut: boolean
  /** The client has gone before its answer was complete. */
  abandoned: boolean
  /**
   * The body of the request is unfit: the answer says so, and not what Git makes of a body that was
   * cut off.
   */
  isUnfit: boolean
}

/**
 * Matches the values that Git sends, such as `version=2`; nothing else reaches the environment of a
 * process.
 */
const PROTOCOL =
  /^[a-z0-9][a-z0-9_-]{0,31}(=[a-z0-9_-]{1,32})?(:[a-z0-9][a-z0-9_-]{0,31}(=[a-z0-9_-]{1,32})?){0,7}$/

/**
 * Answers a request for the refs of a repository.
 *
 * @returns when the process has ended, whatever became of the answer.
 */
export async function advertise(
  request: HttpRequest,
  response: HttpResponse,
  { service }: GitTarget,
  grant: GitGrant,
  options: SessionOptions,
): Promise<void> {
  const { log } = options
  const session = begin(
    response,
    grant.start({ advertise: true, protocol: protocolOf(request), isLarge: false }),
    options,
  )
  session.process.stdin.end()
  const line = `# service=${service}\n`
  const prologue = `${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`
  await send(session, response, `application/x-${service}-advertisement`, prologue)
  const { code, stderr } = await session.process.exited
  if (code === 0) return end(response)
  // A process that was stopped because nobody waits for it any more is no failure.
  if (!session.abandoned) log.error({ service, code, stderr }, 'git cannot list refs')
  fail(response, session, 500, 'the repository cannot be read')
}

/**
 * Passes a request on to git and its answer back, side by side, each no faster than its reader
 * reads.
 *
 * @returns when the process has ended, whatever became of the answer.
 */
export async function exchange(
  request: HttpRequest,
  response: HttpResponse,
  { service }: GitTarget,
  grant: GitGrant,
  options: SessionOptions,
): Promise<void> {
  const { log } = options
  const session = begin(response, grant.start(packRequestOf(request)), options)
  const { process, onProgress } = session
  const maxBytes =
    service === 'git-receive-pack' ? options.maxPushBytes : options.maxFetchRequestBytes
  const fed = feed(request, process.stdin, { maxBytes, onProgress }).then(
    () => undefined,
    (error: unknown) => {
      session.isUnfit = true
      process.stop()
      return error
    },
  )
  await send(session, response, `application/x-${service}-result`)
  const unfit = await fed
  const { code, stderr } = await process.exited
  if (unfit instanceof BodyError) return fail(response, session, unfit.status, unfit.message)
  if (unfit !== undefined || code === null) {
    log.debug({ err: unfit, service, code, stderr }, 'a git request was cut off')
    return fail(response, session, 500, 'git was interrupted')
  }
  if (code !== 0) log.debug({ service, code, stderr }, 'git refused a request')
  // What git printed before it gave up says what it refuses.
  if (code === 0 || response.headersSent) return end(response, `application/x-${service}-result`)
  fail(response, session, 400, `${service} does not understand the request`)
}

/**
 * Git sends a body of unknown length when it is beyond `http.postBuffer`, which is one mebibyte
 * (git-config(1)).
 */
function packRequestOf(request: HttpRequest): PackRequest {
  const isLarge = request.headers['content-length'] === undefined
  return { advertise: false, protocol: protocolOf(request), isLarge }
}

/**
 * The protocol that the client asks for; empty when it asks for none, or in a way that Git does
 * not.
 */
function protocolOf({ headers }: HttpRequest): string {
  const value = headers['git-protocol']
  return typeof value === 'string' && PROTOCOL.test(value) ? value : ''
}

/** Ties a process to its client and to the clock. */
function begin(response: HttpResponse, process: PackProcess, options: SessionOptions): Session {
  const onTimeout = () => {
    session.timedOut = true
    process.stop()
    // What the client does not take would never be sent.
    if (response.headersSent) abort(response)
  }
  options.turn.onEvicted(onTimeout)
  const idle = setTimeout(onTimeout, options.idleTimeoutMs)
  const total = setTimeout(onTimeout, options.totalTimeoutMs)
  const session: Session = {
    process,
    options,
    onProgress: () => idle.refresh(),
    timedOut: false,
    abandoned: false,
    isUnfit: false,
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
 * Sends what a process prints; the headers with its first bytes, so that until then there can be
 * another answer.
 */
async function send(
  session: Session,
  response: HttpResponse,
  contentType: string,
  prologue = '',
): Promise<void> {
  for await (const chunk of session.options.turn.follow(session.process.stdout)) {
    session.onProgress()
    // Read on: a push that has begun to move refs must not die of an answer that nobody takes.
    if (session.abandoned || session.isUnfit) continue
    if (!response.headersSent) {
      response.writeHead(200, { ...UNCACHED, 'content-type': contentType })
      if (prologue !== '') response.write(prologue)
    }
    if (!response.write(chunk)) await drained(response)
  }
}

/** Ends an answer that is complete, which may be an empty one. */
function end(response: HttpResponse, contentType?: string): void {
  if (!response.headersSent && contentType !== undefined) {
    response.writeHead(200, { ...UNCACHED, 'content-type': contentType })
  }
  response.end()
}

/**
 * Refuses where there is still time to; otherwise cuts the answer off, so that nobody takes it for
 * a whole one.
 */
function fail(response: HttpResponse, session: Session, status: number, message: string): void {
  if (session.abandoned) return
  if (response.headersSent) abort(response)
  else if (session.timedOut) answerText(response, 504, 'git took too long')
  else answerText(response, status, message)
}
