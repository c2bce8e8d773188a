import { constants } from 'node:http2'
import type { Logger } from 'pino'
import type { SlotRequest } from '../../platform/concurrency/fair-slots.ts'
import { feed } from '../../platform/concurrency/feed.ts'
import { accountHolder, type Holder, peerHolder } from '../../platform/concurrency/holders.ts'
import { Pace } from '../../platform/concurrency/pace.ts'
import type { HttpRequest, HttpResponse } from '../../platform/http/requests.ts'
import { drained } from '../../platform/rpc/index.ts'
import type {
  GitGrant,
  GitService,
  PackProcess,
  PackRequest,
  PushCommands,
  RefRequest,
} from './git-access.ts'
import { BodyError, bodyOf, type Opening, readOpening, reopened } from './request-body.ts'

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
interface GitExchange {
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly service: GitService
  readonly grant: GitGrant
  readonly slot: SessionSlot
}

/** The state of one request. */
interface Session extends GitExchange {
  /** The process that answers, once it has started. */
  process: PackProcess | undefined
  /** Restarts the idle timeout. */
  readonly onProgress: () => void
  /** Resolves when the request is given up: its time is up, or its client has left. */
  readonly givenUp: Promise<undefined>
  /** Ends the time limits. */
  readonly settle: () => void
  timedOut: boolean
  /** Whether the client left before its response was complete. */
  abandoned: boolean
  /**
   * Whether the body of the request is invalid. The response then gives that error rather than the
   * output of Git for a body that was cut off.
   */
  isInvalid: boolean
}

/** A session whose process runs. */
interface RunningSession extends Session {
  process: PackProcess
}

/**
 * The values that Git sends, such as `version=2`. No other reaches the environment of a process.
 */
export const PROTOCOL =
  /^[a-z0-9][a-z0-9_-]{0,31}(=[a-z0-9_-]{1,32})?(:[a-z0-9][a-z0-9_-]{0,31}(=[a-z0-9_-]{1,32})?){0,7}$/

/**
 * The beginnings of requests for refs and for packs, in version 2 of the protocol (gitprotocol-v2(5)). The
 * line feed of a line is optional, and Git leaves out that of the second one.
 */
export const KNOWN_REQUESTS = ['0014command=ls-refs', '0011command=fetch', '0012command=fetch'].map(
  (text) => Buffer.from(text),
)

/** Longest request that the server itself answers: a thousand prefixes or wanted objects. */
export const MAX_KNOWN_REQUEST_BYTES = 64 * 1024

/** Answers up to this size are written at once, as the responses to other calls are. */
const MAX_WHOLE_BYTES = 64 * 1024

/** Bytes of a longer answer that are written at a time. */
const SLICE_BYTES = 128 * 1024

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
  const session = begin(exchange, limits)
  const contentType = `application/x-${service}-advertisement`
  const line = `# service=${service}\n`
  const prologue = `${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`
  const protocol = protocolOf(request)
  try {
    const known = await knownRefs(session, { protocol, body: undefined })
    if (isGivenUp(session)) return fail(session, 500, 'git was interrupted')
    if (known) return await sendKnown(session, contentType, [Buffer.from(prologue), ...known])
    const running = start(session, { advertise: true, protocol, isLarge: false })
    running.process.stdin.end()
    await send(running, running.process.stdout, contentType, prologue)
    const { code, stderr } = await running.process.exited
    if (code === 0) return end(response)
    // A process that was stopped because its client left has not failed.
    if (!session.abandoned) log.error({ service, code, stderr }, 'Git cannot list refs')
    fail(session, 500, 'the repository cannot be read')
  } finally {
    session.settle()
  }
}

/**
 * Passes a request to Git and the output of Git back, both at the same time, and each at the speed
 * of its reader. Requests for refs, and for packs of clones, may be answered without Git.
 *
 * @returns when the process has ended, even if the response has failed.
 */
export async function answerRequest(
  exchange: GitExchange,
  limits: SessionLimits,
  log: Logger,
): Promise<void> {
  const { request, service } = exchange
  const session = begin(exchange, limits)
  const maxBytes =
    service === 'git-receive-pack' ? limits.maxPushBytes : limits.maxFetchRequestBytes
  const body = bodyOf(request, { maxBytes, onProgress: session.onProgress })
  try {
    if (service === 'git-receive-pack') {
      const opening = await openingOf(session, readPushOpening(body), log)
      if (opening === undefined) return
      const wanted = { ...packRequestOf(request), commands: opening.commands }
      return await answerByProcess(session, reopened(opening, body), wanted, log)
    }
    const wanted = packRequestOf(request)
    if (!mayBeKnown(exchange)) return await answerByProcess(session, body, wanted, log)
    const reading = readOpening(body, KNOWN_REQUESTS, MAX_KNOWN_REQUEST_BYTES)
    const opening = await openingOf(session, reading, log)
    if (opening === undefined) return
    const whole = opening.isWhole ? Buffer.concat(opening.chunks) : undefined
    const protocol = protocolOf(request)
    const known = whole && (await knownRefs(session, { protocol, body: whole }))
    const pack = whole && !known && (await knownPack(session, { protocol, body: whole }))
    if (isGivenUp(session)) return fail(session, 500, 'git was interrupted')
    if (known) return await sendKnown(session, resultTypeOf(service), known)
    if (pack) return await sendPack(session, pack, log)
    await answerByProcess(session, reopened(opening, body), wanted, log)
  } finally {
    session.settle()
  }
}

/** Returns the beginning of a body, undefined when the request was refused or given up. */
async function openingOf<T extends Opening>(
  session: Session,
  reading: Promise<T>,
  log: Logger,
): Promise<T | undefined> {
  try {
    const opening = await Promise.race([reading, session.givenUp])
    if (!opening) fail(session, 500, 'git was interrupted')
    return opening
  } catch (error) {
    refuseBody(session, error, log)
    return undefined
  }
}

async function answerByProcess(
  session: Session,
  body: AsyncIterable<Buffer>,
  wanted: PackRequest,
  log: Logger,
): Promise<void> {
  const { response, service } = session
  const running = start(session, wanted)
  const { process } = running
  const fed = feed(body, process.stdin).then(
    () => undefined,
    (error: unknown) => {
      session.isInvalid = true
      process.stop()
      return error
    },
  )
  await send(running, process.stdout, resultTypeOf(service))
  const failure = await fed
  const { code, stderr } = await process.exited
  if (failure !== undefined || code === null) {
    refuseBody(session, failure, log, { code, stderr })
    return
  }
  if (code !== 0) log.debug({ service, code, stderr }, 'Git refused a request')
  // The output before the exit says what Git refuses.
  if (code === 0 || response.headersSent) return end(response, resultTypeOf(service))
  fail(session, 400, `${service} does not understand the request`)
}

/** Answers a request whose body is invalid or was cut off. */
function refuseBody(session: Session, failure: unknown, log: Logger, exit: object = {}): void {
  if (failure instanceof BodyError) {
    fail(session, failure.status, failure.message)
    return
  }
  log.debug({ err: failure, service: session.service, ...exit }, 'a Git request was cut off')
  fail(session, 500, 'git was interrupted')
}

/** Returns what the server knows of refs. Undefined as well when the request is given up. */
function knownRefs(
  { grant, givenUp }: Session,
  request: RefRequest,
): Promise<readonly Buffer[] | undefined> {
  return Promise.race([grant.answerRefs?.(request), givenUp])
}

/** Returns a pack that the server has. Undefined as well when the request is given up. */
function knownPack(
  { grant, givenUp }: Session,
  request: RefRequest,
): Promise<AsyncIterable<Buffer> | undefined> {
  return Promise.race([grant.answerFetch?.(request), givenUp])
}

/** Returns whether a request may be one that the server itself answers, in version 2 of the protocol. */
function mayBeKnown({ request, grant }: GitExchange): boolean {
  return grant.answerRefs !== undefined && protocolOf(request) === 'version=2'
}

function resultTypeOf(service: GitService): string {
  return `application/x-${service}-result`
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

/** Begins a request. The request is given up when its client leaves or its time is up. */
function begin(exchange: GitExchange, limits: SessionLimits): Session {
  const { response, slot } = exchange
  let giveUp = () => {}
  const givenUp = new Promise<undefined>((resolve) => {
    giveUp = () => resolve(undefined)
  })
  const stop = () => {
    session.process?.stop()
    giveUp()
  }
  const onTimeout = () => {
    session.timedOut = true
    stop()
    // The client may never read the rest.
    if (response.headersSent) abort(response)
  }
  slot.onEvicted(onTimeout)
  const idle = setTimeout(onTimeout, limits.idleTimeoutMs)
  const total = setTimeout(onTimeout, limits.totalTimeoutMs)
  const session: Session = {
    ...exchange,
    process: undefined,
    onProgress: () => idle.refresh(),
    givenUp,
    settle() {
      clearTimeout(idle)
      clearTimeout(total)
    },
    timedOut: false,
    abandoned: false,
    isInvalid: false,
  }
  response.once('close', () => {
    if (response.writableEnded) return
    session.abandoned = true
    stop()
  })
  return session
}

/** Starts the process of a request, which ends when the request is given up. */
function start(session: Session, wanted: PackRequest): RunningSession {
  const process = session.grant.start(wanted)
  process.exited.then(session.settle, session.settle)
  return Object.assign(session, { process })
}

function isGivenUp({ timedOut, abandoned }: Session): boolean {
  return timedOut || abandoned
}

/** Sends an answer that is in memory, a long one at the speed of its reader. */
async function sendKnown(
  session: Session,
  contentType: string,
  parts: readonly Buffer[],
): Promise<void> {
  const { response } = session
  const bytes = parts.reduce((total, { length }) => total + length, 0)
  if (bytes <= MAX_WHOLE_BYTES) {
    response.writeHead(200, { ...UNCACHED, 'content-type': contentType, 'content-length': bytes })
    response.end(Buffer.concat(parts, bytes))
    return
  }
  await send(session, slicesOf(parts), contentType)
  if (!isGivenUp(session)) end(response)
}

/** Sends a pack that another request may still be writing. */
async function sendPack(session: Session, pack: AsyncIterable<Buffer>, log: Logger): Promise<void> {
  const contentType = resultTypeOf(session.service)
  try {
    await send(session, whileWanted(session, pack), contentType)
  } catch (error) {
    return refuseBody(session, error, log)
  }
  if (!isGivenUp(session)) end(session.response, contentType)
}

/** Passes bytes on until the request is given up. */
async function* whileWanted(
  session: Session,
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of bytes) {
    if (isGivenUp(session)) return
    yield chunk
  }
}

async function* slicesOf(parts: readonly Buffer[]): AsyncGenerator<Buffer, void, undefined> {
  for (const part of parts)
    for (let at = 0; at < part.length; at += SLICE_BYTES) yield part.subarray(at, at + SLICE_BYTES)
}

/**
 * Sends output. The headers are sent with the first bytes, so that another response is possible
 * until then.
 */
async function send(
  session: Session,
  output: AsyncIterable<Buffer>,
  contentType: string,
  prologue = '',
): Promise<void> {
  const { response } = session
  for await (const chunk of session.slot.follow(output)) {
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

/** Longest list of commands that is read before Git starts: about 10,000 refs. */
const MAX_COMMANDS_BYTES = 1024 * 1024

/** The packet that ends the commands (gitprotocol-pack(5), "Reference Update Request"). */
const FLUSH = '0000'
const LENGTH_BYTES = FLUSH.length

/** The id, the id and the name of a command, and the capabilities of the client behind a NUL. */
const COMMAND = /^[0-9a-f]+ ([0-9a-f]+) ([^\0]+?)\n?(?:\0(.*))?$/s
const ZEROS = /^0+$/

/**
 * Reads the commands at the beginning of a push, as far as `MAX_COMMANDS_BYTES`.
 *
 * @param body is left at the first chunk after the opening.
 */
export async function readPushOpening(
  body: AsyncGenerator<Buffer, void, undefined>,
): Promise<Opening & { readonly commands: PushCommands }> {
  const chunks: Buffer[] = []
  const names: string[] = []
  let isAtomic = false
  let rest: Buffer = Buffer.alloc(0)
  for (let bytes = 0; bytes <= MAX_COMMANDS_BYTES; ) {
    const { value, done } = await body.next()
    if (done) return { chunks, isWhole: true, commands: { names, isAtomic } }
    chunks.push(value)
    bytes += value.length
    const { lines, end, isLast } = packetsIn(Buffer.concat([rest, value]))
    for (const line of lines) {
      const [, newId = '', name = '', capabilities = ''] = COMMAND.exec(line) ?? []
      if (capabilities.split(/[ \n]/).includes('atomic')) isAtomic = true
      if (name !== '' && !ZEROS.test(newId)) names.push(name)
    }
    if (isLast) break
    rest = end
  }
  return { chunks, isWhole: false, commands: { names, isAtomic } }
}

/** Returns the lines of complete packets, the data behind them, and whether no line follows. */
export function packetsIn(data: Buffer): {
  readonly lines: readonly string[]
  readonly end: Buffer
  readonly isLast: boolean
} {
  const lines: string[] = []
  let start = 0
  for (;;) {
    const digits = data.toString('latin1', start, start + LENGTH_BYTES)
    const length = Number.parseInt(digits, 16)
    if (digits.length < LENGTH_BYTES || start + length > data.length)
      return { lines, end: data.subarray(start), isLast: false }
    // Git refuses what is no packet.
    if (!(length >= LENGTH_BYTES)) return { lines, end: data, isLast: true }
    lines.push(data.toString('utf8', start + LENGTH_BYTES, start + length))
    start += length
  }
}

/** One Git request that holds a slot. */
export class SessionSlot implements SlotRequest {
  readonly holder: Holder
  readonly #pace = new Pace()
  readonly #service: GitService
  #onEvicted = () => {}

  constructor({ user, network }: GitGrant, service: GitService) {
    this.holder = user === undefined ? peerHolder(network) : accountHolder(user)
    this.#service = service
  }

  /** Passes output on to the client, and measures how fast the client reads it. */
  follow(output: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    return this.#pace.follow(output)
  }

  /** Counts output that the client has taken, and the time in which the output waited for it. */
  note(bytes: number, waitedMs: number): void {
    this.#pace.note(bytes, waitedMs)
  }

  /** Sets the function that ends the request when it loses its slot. */
  onEvicted(end: () => void): void {
    this.#onEvicted = end
  }

  readonly isTooSlow = (): boolean =>
    // A push may have begun to move refs. A slow reader of its output must not end it.
    this.#service === 'git-upload-pack' && this.#pace.isTooSlow()

  readonly evict = (): void => this.#onEvicted()
}

/** The challenge that makes clients ask for credentials. Git credential helpers show the realm. */
export const BASIC_CHALLENGE = 'Basic realm="Branchline"'

/** Headers against caching, as git http-backend sends them, which old caches understand too. */
const UNCACHED: Readonly<Record<string, string>> = {
  'cache-control': 'no-cache, max-age=0, must-revalidate',
  pragma: 'no-cache',
  expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
}

/**
 * Sends a sentence, which Git shows to its user. Does nothing after a response has begun.
 *
 * @param headers of the response in addition, names in lower case.
 */
export function answerText(
  response: HttpResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  const body = `${message}\n`
  const all: Record<string, string | number> = {
    ...UNCACHED,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...headers,
  }
  if (status === 401) all['www-authenticate'] = BASIC_CHALLENGE
  response.writeHead(status, all)
  response.end(body)
}

/** Cuts a response off in a way that the client recognises as incomplete. */
export function abort(response: HttpResponse): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}
