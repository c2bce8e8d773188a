import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { DomainError } from '../../forge/core/errors.ts'
import type { RemoteArchive } from '../../forge/repositories/content/remote-archives.ts'
import { feed } from '../../platform/concurrency/feed.ts'
import type { SentOutput } from '../../platform/ssh/ssh-messages.ts'
import type { SshSession } from '../../platform/ssh/ssh-process.ts'
import type { GitGrant, PackProcess, PackRequest, RefRequest } from '../git-http/git-access.ts'
import { readOpening, reopened } from '../git-http/request-body.ts'
import {
  KNOWN_REQUESTS,
  MAX_KNOWN_REQUEST_BYTES,
  PROTOCOL,
  readPushOpening,
  type SessionSlot,
} from '../git-http/session.ts'
import {
  ARCHIVE_FORMATS,
  type ArchiveRequest,
  FLUSH,
  MAX_ARCHIVE_REQUEST_BYTES,
  packetLine,
  packetsOf,
  readArchiveRequest,
} from './archive-request.ts'
import { FetchRequests } from './fetch-requests.ts'
import { OWN_FAULT, refused, type SessionEnd, type SessionParts } from './session-parts.ts'
import { hasLeft, roomIn } from './sockets.ts'

const VERSION_2 = 'version=2'

/** The end of a session whose client has left, or that was stopped. */
const STOPPED: SessionEnd = { code: 1, text: '' }

/** Opens an archive of the files of a repository. */
export type OpenArchive = (request: RemoteArchive) => Promise<AsyncIterable<Buffer>>

/** A session whose Git processes run. */
export class GitRun {
  readonly #parts: SessionParts
  readonly #session: SshSession
  readonly #grant: GitGrant
  readonly #slot: SessionSlot
  readonly #timers: NodeJS.Timeout[]
  #process: PackProcess | undefined
  #isStopped = false

  constructor(parts: SessionParts, session: SshSession, grant: GitGrant, slot: SessionSlot) {
    this.#parts = parts
    this.#session = session
    this.#grant = grant
    this.#slot = slot
    const { idleTimeoutMs, totalTimeoutMs } = parts.limits
    const stop = () => this.stop()
    this.#timers = [setTimeout(stop, idleTimeoutMs), setTimeout(stop, totalTimeoutMs)]
    slot.onEvicted(stop)
    session.left.addEventListener('abort', stop)
  }

  /**
   * Serves a fetch. In version 2 of the protocol, the server answers requests that it can answer itself, as
   * over HTTP, and starts a process for each other one. The former versions take one process.
   */
  async fetch(): Promise<SessionEnd> {
    return this.#run(async (socket) => {
      const input = this.#input(this.#parts.limits.maxFetchRequestBytes)
      const known = await this.#knownRefs()
      if (this.#isStopped) return STOPPED
      if (known) {
        await this.#send(Readable.from(known), socket)
        return this.#answerRequests(new FetchRequests(input), socket)
      }
      const process = this.#start({ advertise: false, isWhole: true })
      const { code } = await this.#converse(process, input, () => this.#pass(process, socket))
      return { code, text: '' }
    })
  }

  /**
   * Serves a push by the two requests of HTTP: the list of refs, then the commands and the pack. So
   * the commands are known before the process starts, as the review of a push requires.
   */
  async push(): Promise<SessionEnd> {
    return this.#run(async (socket) => {
      const listing = this.#start({ advertise: true })
      listing.stdin.end()
      await this.#send(listing.stdout, socket)
      if ((await listing.exited).code !== 0)
        return { code: OWN_FAULT, text: 'Branchline: the server failed\n' }
      const input = this.#input(this.#parts.limits.maxPushBytes)
      const opening = await readPushOpening(input)
      if (this.#isStopped) return STOPPED
      const process = this.#start({ advertise: false, commands: opening.commands })
      const send = () => this.#send(process.stdout, socket)
      const { code } = await this.#converse(process, reopened(opening, input), send)
      return { code, text: '' }
    })
  }

  /** Serves an archive of files, as git-upload-archive(1) does. */
  async archive(open: OpenArchive): Promise<SessionEnd> {
    return this.#run(async (socket) => {
      const request = await readArchiveRequest(this.#input(MAX_ARCHIVE_REQUEST_BYTES))
      const opened = await openArchive(request, open)
      if ('refusal' in opened) {
        socket.write(packetLine(`NACK ${opened.refusal}`))
        return { code: 1, text: '' }
      }
      socket.write(Buffer.concat([packetLine('ACK'), FLUSH]))
      for await (const chunk of this.#slot.follow(opened.chunks)) {
        this.#onProgress()
        for (const packet of packetsOf(chunk))
          if (socket.writable && !socket.write(packet)) await roomIn(socket)
        if (this.#isStopped) return STOPPED
      }
      socket.write(FLUSH)
      return { code: 0, text: '' }
    })
  }

  async #run(work: (socket: Socket) => Promise<SessionEnd>): Promise<SessionEnd> {
    const { socket } = this.#session
    try {
      return await work(socket)
    } catch (error) {
      const isGone = hasLeft(socket, error)
      this.stop()
      if (error instanceof TooLarge) return refused(error.message)
      if (isGone) return STOPPED
      throw error
    } finally {
      for (const timer of this.#timers) clearTimeout(timer)
    }
  }

  #start(request: Omit<PackRequest, 'protocol' | 'isLarge'>): PackProcess {
    const { protocol } = this.#session
    this.#process = this.#grant.start({
      ...request,
      protocol: PROTOCOL.test(protocol) ? protocol : '',
      isLarge: false,
    })
    return this.#process
  }

  /** Ends the session. A push whose refs move is completed without its client. */
  stop(): void {
    this.#isStopped = true
    this.#process?.stop()
    // Nothing waits for a client that has left or reads nothing.
    this.#session.socket.destroy()
  }

  #onProgress(): void {
    this.#timers[0]?.refresh()
  }

  /** Answers the requests of a client until the client wants nothing more. */
  async #answerRequests(requests: FetchRequests, socket: Socket): Promise<SessionEnd> {
    while (await requests.hasNext()) {
      const request = requests.next()
      const opening = await readOpening(request, KNOWN_REQUESTS, MAX_KNOWN_REQUEST_BYTES)
      const known = opening.isWhole
        ? await this.#knownAnswer(Buffer.concat(opening.chunks))
        : undefined
      if (this.#isStopped) return STOPPED
      if (known) {
        await this.#send(known, socket)
        continue
      }
      const process = this.#start({ advertise: false })
      const send = () => this.#pass(process, socket)
      const { code, fed } = await this.#converse(process, reopened(opening, request), send)
      if (code !== 0) return { code, text: '' }
      // The next request begins where this one ends.
      await fed
    }
    return { code: 0, text: '' }
  }

  /** Returns the capabilities of version 2 of the protocol, if the client asks for this version. */
  async #knownRefs(): Promise<Buffer[] | undefined> {
    if (this.#session.protocol !== VERSION_2) return undefined
    return this.#grant.answerRefs?.({ protocol: VERSION_2, body: undefined })
  }

  /** Returns the answer to a request, if the server knows it. */
  async #knownAnswer(body: Buffer): Promise<AsyncIterable<Buffer> | undefined> {
    const request: RefRequest = { protocol: VERSION_2, body }
    const refs = await this.#grant.answerRefs?.(request)
    return refs ? Readable.from(refs) : this.#grant.answerFetch?.(request)
  }

  /**
   * Passes bytes both ways until the process has ended.
   *
   * @returns its exit code, and what resolves at the end of the input, which may be later.
   */
  async #converse(
    process: PackProcess,
    input: AsyncGenerator<Buffer, void, undefined>,
    send: () => Promise<void>,
  ): Promise<{ readonly code: number; readonly fed: Promise<void> }> {
    let failure: unknown
    const fed = feed(input, process.stdin).catch((error: unknown) => {
      failure = error
      process.stop()
    })
    await send()
    const { code } = await process.exited
    if (failure instanceof TooLarge) throw failure
    return { code: code ?? 1, fed }
  }

  /** Lets the SSH program send the output of a fetch, where there is such a program. */
  #pass(process: PackProcess, socket: Socket): Promise<void> {
    const note = ({ bytes, waitedMs }: SentOutput) => {
      if (bytes > 0) this.#onProgress()
      this.#slot.note(bytes, waitedMs)
    }
    return this.#session.passOutput?.(process.stdout, note) ?? this.#send(process.stdout, socket)
  }

  async #send(output: AsyncIterable<Buffer>, socket: Socket): Promise<void> {
    for await (const chunk of this.#slot.follow(output)) {
      this.#onProgress()
      // Read on: a push that has begun to move refs must not fail because its client has left.
      if (socket.writable && !socket.write(chunk)) await roomIn(socket)
    }
  }

  async *#input(maxBytes: number): AsyncGenerator<Buffer, void, undefined> {
    let bytes = 0
    for await (const chunk of this.#session.socket.iterator({ destroyOnReturn: false })) {
      this.#onProgress()
      bytes += chunk.length
      if (bytes > maxBytes) throw new TooLarge(maxBytes)
      yield chunk
    }
  }
}

/** Opens what a client asks for, or says why not. */
async function openArchive(
  request: ArchiveRequest,
  open: OpenArchive,
): Promise<{ readonly chunks: AsyncIterable<Buffer> } | { readonly refusal: string }> {
  if (request.kind === 'refused') return { refusal: request.text }
  if (request.kind === 'list')
    return { chunks: Readable.from([Buffer.from(`${ARCHIVE_FORMATS.join('\n')}\n`)]) }
  const { tree } = request.archive
  try {
    return { chunks: await open(request.archive) }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    if (error.reason === 'REF_NOT_FOUND') return { refusal: `no such ref: ${tree}` }
    if (error.reason === 'PATH_NOT_FOUND' || error.reason === 'INVALID_FIELD')
      return { refusal: 'a path did not match any files' }
    throw error
  }
}

/** More input than the server takes. */
class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`the request is larger than the ${maxBytes} bytes that this server takes`)
    this.name = 'TooLarge'
  }
}
