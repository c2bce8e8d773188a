import type { Socket } from 'node:net'
import type { App } from '../../forge/app.ts'
import { holderOf } from '../../forge/core/access.ts'
import { outsideError } from '../../forge/core/errors.ts'
import { type LfsNeed, type OpenLfs, openLfs } from '../../forge/repositories/lfs/lfs-access.ts'
import { answerBatch, type LfsBatchEntry } from '../../forge/repositories/lfs/lfs-batches.ts'
import { LfsError } from '../../forge/repositories/lfs/lfs-error.ts'
import {
  type LfsObjectId,
  type LfsRequester,
  readLfsLink,
} from '../../forge/repositories/lfs/lfs-links.ts'
import { lockPath, type OwnedLock, unlock } from '../../forge/repositories/lfs/lfs-locks.ts'
import {
  isLfsOid,
  openLfsObject,
  sizeOfLfsObject,
  storeLfsObject,
} from '../../forge/repositories/lfs/lfs-objects.ts'
import type { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import { Pace } from '../../platform/concurrency/pace.ts'
import { refusalOf } from '../git-http/authorize.ts'
import { branchOf, MAX_OBJECTS } from '../git-lfs/batches.ts'
import { isOwnLock, lockAnswer, lockIdOf, lockPage, openToVerify } from '../git-lfs/locks.ts'
import { checkRoom, TRANSFER_IDLE_TIMEOUT_MS } from '../git-lfs/transfers.ts'
import { FLUSH, packetLine } from './archive-request.ts'
import type { LfsTarget } from './command.ts'
import { type LfsRequest, LfsRequests, LfsSessionError } from './lfs-requests.ts'
import {
  DELIMITER,
  dataPacket,
  MAX_PACKET_DATA_BYTES,
  PacketError,
  PacketReader,
} from './packets.ts'
import { roomIn } from './sockets.ts'

/** A session of the SSH protocol of Git LFS. */
export interface LfsSession {
  readonly target: LfsTarget
  readonly socket: Socket
  readonly input: AsyncIterator<Buffer, void>
  /** Returns whom the session acts for now. Throws when its key is not valid any more. */
  readonly requester: () => Promise<LfsRequester>
  /** Tells that bytes have gone to the client. */
  readonly onProgress: () => void
  /** Ends the session at once. */
  readonly stop: () => void
}

interface LfsParts {
  readonly app: App
  /** Shared with Git LFS over HTTP. */
  readonly slots: FairSlots
}

/** An answer to a request. */
interface Answer {
  readonly status: number
  readonly args?: readonly string[]
  /** Text behind a delimiter: a message, or the lines of a list. */
  readonly lines?: readonly string[]
}

/**
 * Serves `git-lfs-transfer`: the requests of a client until the client quits or leaves. The rights,
 * limits, links and texts are those of Git LFS over HTTP.
 */
export async function serveLfsTransfers(parts: LfsParts, session: LfsSession): Promise<void> {
  await new LfsTransfers(parts, session).serve()
}

class LfsTransfers {
  readonly #parts: LfsParts
  readonly #session: LfsSession
  readonly #requests: LfsRequests
  /** Ends a transfer without a byte. Undefined between transfers. */
  #idle: NodeJS.Timeout | undefined
  #hasVersion = false

  constructor(parts: LfsParts, session: LfsSession) {
    this.#parts = parts
    this.#session = session
    this.#requests = new LfsRequests(new PacketReader(this.#followed(session.input)))
  }

  async serve(): Promise<void> {
    try {
      await this.#serveRequests()
    } catch (error) {
      // Nobody is left who could read an answer.
      if (!(error instanceof PacketError)) throw error
    }
  }

  async #serveRequests(): Promise<void> {
    await this.#write(packetLine('version=1'), packetLine('locking'), FLUSH)
    try {
      for (;;) {
        const request = await this.#requests.next()
        if (!request) return
        if (request.verb === 'quit') return await this.#write(packetLine('status 200'), FLUSH)
        await this.#answer(request)
      }
    } catch (error) {
      if (!(error instanceof LfsSessionError)) throw error
      await this.#send({ status: 400, lines: [error.message] })
    }
  }

  async #answer(request: LfsRequest): Promise<void> {
    const declared = Number(request.args.get('size') ?? 0)
    let answer: Answer | undefined
    try {
      answer = await this.#run(request)
    } catch (error) {
      answer = answerOf(outsideError(error) ?? error)
    }
    await this.#requests.skipBody(Number.isSafeInteger(declared) ? declared : 0)
    if (answer) await this.#send(answer)
  }

  /** Returns the answer; undefined when it is sent already. */
  #run(request: LfsRequest): Promise<Answer | undefined> | Answer {
    if (request.verb === 'version') return this.#chooseVersion(request)
    if (!this.#hasVersion) throw new LfsError(400, 'choose a version of the protocol first')
    switch (request.verb) {
      case 'batch':
        return this.#batch(request)
      case 'get-object':
        return this.#get(request)
      case 'put-object':
        return this.#put(request)
      case 'verify-object':
        return this.#verify(request)
      case 'lock':
        return this.#lock(request)
      // The name that clients before Git LFS 3.4 send before a push (commit e018e163 of git-lfs).
      case 'list-locks':
      case 'list-lock':
        return this.#listLocks(request)
      case 'unlock':
        return this.#unlock(request)
      default:
        throw new LfsError(400, 'unknown command')
    }
  }

  #chooseVersion({ subject }: LfsRequest): Answer {
    if (subject !== '1') throw new LfsError(400, 'the server has version 1 of the protocol only')
    this.#hasVersion = true
    return { status: 200 }
  }

  /** Opens the repository with the rights of this moment. */
  async #open(need: LfsNeed): Promise<OpenLfs> {
    const { target, requester } = this.#session
    const { owner, name: repo } = target
    if (need.level === 'write' && target.operation !== 'upload')
      throw new LfsError(403, 'the session is for downloads')
    return openLfs(this.#parts.app, await requester(), { owner, repo }, need)
  }

  async #batch({ args }: LfsRequest): Promise<Answer> {
    const lines = await this.#requests.lines(MAX_OBJECTS)
    const { operation } = this.#session.target
    const level = operation === 'upload' ? 'write' : 'read'
    const open = await this.#open({ level, branch: branchOf(args.get('refname') ?? '') })
    const batch = {
      operation,
      objects: lines.map(objectIn),
      hashAlgorithm: args.get('hash-algo') ?? 'sha256',
      isThroughServer: true,
    }
    const entries = await answerBatch(this.#parts.app, open, batch)
    const expiresIn = Math.floor(this.#parts.app.settings.lfsLinkExpiryMs / 1000)
    return {
      status: 200,
      args: ['hash-algo=sha256'],
      lines: entries.map((entry) => entryLine(entry, operation, expiresIn)),
    }
  }

  async #get({ subject: oid, args }: LfsRequest): Promise<undefined> {
    const open = await this.#openByLink({ oid }, args)
    await this.#inSlot(open, async (follow) => {
      const { bytes, content } = await openLfsObject(
        this.#parts.app,
        open.repository.id,
        oid,
        undefined,
      )
      try {
        await this.#write(packetLine('status 200'), packetLine(`size=${bytes}`), DELIMITER)
        await this.#sendContent(follow(content))
      } finally {
        content.destroy()
      }
    })
  }

  /** Sends content, at the speed of its reader. What cannot be read to its end is cut off. */
  async #sendContent(content: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const chunk of content)
        for (let start = 0; start < chunk.length; start += MAX_PACKET_DATA_BYTES)
          await this.#write(dataPacket(chunk.subarray(start, start + MAX_PACKET_DATA_BYTES)))
    } catch (error) {
      this.#session.stop()
      throw error
    }
    await this.#write(FLUSH)
  }

  async #put({ subject: oid, args }: LfsRequest): Promise<Answer> {
    const object = { oid, bytes: sizeIn(args) }
    const open = await this.#openByLink(object, args)
    await checkRoom(this.#parts.app, object)
    await this.#inSlot(open, (follow) =>
      storeLfsObject(this.#parts.app, open, object, follow(this.#requests.body())),
    )
    return { status: 200 }
  }

  async #verify({ subject: oid, args }: LfsRequest): Promise<Answer> {
    const object = { oid, bytes: sizeIn(args) }
    const open = await this.#openByLink(object, args)
    const stored = await sizeOfLfsObject(this.#parts.app, open.repository.id, oid)
    if (stored !== object.bytes) throw new LfsError(422, 'the object has another size')
    return { status: 200 }
  }

  /**
   * Opens the repository for one object, by the token that a batch has given for it. Clients before Git
   * LFS 3.5 forget the token (commit 37d36503 of git-lfs), and have the rights of their key then.
   */
  async #openByLink(
    { oid, bytes }: Pick<LfsObjectId, 'oid'> & Partial<LfsObjectId>,
    args: ReadonlyMap<string, string>,
  ): Promise<OpenLfs> {
    const operation = bytes === undefined ? 'download' : 'upload'
    if (!isLfsOid(oid)) throw new LfsError(422, 'the oid is not valid')
    const { app } = this.#parts
    const level = operation === 'upload' ? 'write' : 'read'
    const token = args.get('token')
    if (token === undefined) {
      if ((bytes ?? 0) > app.settings.maxLfsBytes)
        throw new LfsError(413, 'the object is too large')
      return this.#open({ level })
    }
    const requester = await this.#session.requester()
    const peer = requester.kind === 'caller' ? requester.caller.peer : requester.peer
    const link = await readLfsLink(app, token, peer)
    const open = await this.#open({ level, branch: link.branch })
    const isCovered =
      link.repositoryId === open.repository.id &&
      link.operation === operation &&
      link.object?.oid === oid &&
      (bytes === undefined || link.object.bytes === bytes)
    if (!isCovered)
      throw new LfsError(403, 'the token is not for this object: ask for a batch again')
    return open
  }

  async #lock({ args }: LfsRequest): Promise<Answer> {
    const open = await this.#open({ level: 'write' })
    const [path, ref] = [args.get('path') ?? '', args.get('refname') ?? '']
    const { isNew, lock } = await lockPath(this.#parts.app, open, path, ref)
    if (isNew) return { status: 201, args: lockArgs(lock) }
    return { status: 409, args: lockArgs(lock), lines: ['already created lock'] }
  }

  async #listLocks({ args }: LfsRequest): Promise<Answer> {
    const isPush = this.#session.target.operation === 'upload'
    const branch = branchOf(args.get('refname') ?? '')
    const open = isPush
      ? await openToVerify((need) => this.#open(need), branch)
      : await this.#open({ level: 'read' })
    const id = args.get('id')
    const wanted = id === undefined ? undefined : lockIdOf(id)
    if (id !== undefined && wanted === undefined) return { status: 200, lines: [] }
    const page = { cursor: args.get('cursor') ?? '', limit: Number(args.get('limit') ?? 0) }
    const filter = { id: wanted, path: args.get('path')?.replace(/^\//, '') }
    const { locks, cursor } = await lockPage(this.#parts.app, open, page, filter)
    return {
      status: 200,
      args: cursor === undefined ? [] : [`next-cursor=${cursor}`],
      lines: locks.flatMap((lock) => lockLines(lock, isPush ? open : undefined)),
    }
  }

  async #unlock({ subject, args }: LfsRequest): Promise<Answer> {
    const open = await this.#open({ level: 'write' })
    const id = lockIdOf(subject)
    if (id === undefined) throw new LfsError(404, 'the lock does not exist')
    const lock = await unlock(this.#parts.app, open, id, args.get('force') === 'true')
    return { status: 200, args: lockArgs(lock) }
  }

  /** Runs a transfer in a slot. */
  async #inSlot(
    { caller }: OpenLfs,
    transfer: (follow: (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>) => Promise<void>,
  ): Promise<void> {
    const pace = new Pace()
    const { stop } = this.#session
    const release = this.#parts.slots.tryAcquire({
      holder: holderOf(caller),
      isTooSlow: () => pace.isTooSlow(),
      evict: stop,
    })
    if (!release) throw new LfsError(429, 'too many transfers at the moment')
    this.#idle = setTimeout(stop, TRANSFER_IDLE_TIMEOUT_MS)
    try {
      await transfer((chunks) => pace.follow(chunks))
    } finally {
      clearTimeout(this.#idle)
      this.#idle = undefined
      release()
    }
  }

  #send({ status, args = [], lines }: Answer): Promise<void> {
    const behind = lines ? [DELIMITER, ...lines.map(packetLine)] : []
    return this.#write(packetLine(`status ${status}`), ...args.map(packetLine), ...behind, FLUSH)
  }

  async #write(...packets: readonly Buffer[]): Promise<void> {
    const { socket } = this.#session
    if (socket.writable && !socket.write(Buffer.concat(packets))) await roomIn(socket)
    if (socket.destroyed) throw new PacketError('the client has left')
    this.#onProgress()
  }

  async *#followed(input: AsyncIterator<Buffer, void>): AsyncGenerator<Buffer, void, undefined> {
    try {
      for (let next = await input.next(); !next.done; next = await input.next()) {
        this.#onProgress()
        yield next.value
      }
    } catch (error) {
      // The session was ended, by its client or by the server.
      throw this.#session.socket.destroyed ? new PacketError('the client has left') : error
    }
  }

  #onProgress(): void {
    this.#idle?.refresh()
    this.#session.onProgress()
  }
}

/** Returns what a client is told of an error. Other errors end the session. */
function answerOf(error: unknown): Answer {
  if (error instanceof LfsError) return { status: error.status, lines: [error.message] }
  const refusal = refusalOf(error)
  if (refusal.outcome === 'moved') throw error
  return { status: refusal.status, lines: [refusal.message] }
}

/** Reads a line of a batch: oid, size, and what later versions may add. */
function objectIn(line: string): LfsObjectId {
  const [oid = '', size = ''] = line.split(' ')
  return { oid, bytes: /^\d{1,16}$/.test(size) ? Number(size) : Number.NaN }
}

/** @throws LfsError 422 */
function sizeIn(args: ReadonlyMap<string, string>): number {
  const { bytes } = objectIn(`- ${args.get('size') ?? ''}`)
  if (!Number.isSafeInteger(bytes)) throw new LfsError(422, 'the size is not valid')
  return bytes
}

/**
 * Returns the line of an object. A line has no place for a refusal: without an action, the client
 * reports an object that it cannot download, but takes one as stored that it cannot upload.
 *
 * @throws LfsError for an upload that is refused
 */
function entryLine(
  { oid, bytes, outcome, link }: LfsBatchEntry,
  operation: LfsTarget['operation'],
  expiresIn: number,
): string {
  if (outcome === 'transfer') {
    const token = link === undefined ? '' : ` token=${link} expires-in=${expiresIn}`
    return `${oid} ${bytes} ${operation}${token}`
  }
  const isMissing = outcome !== 'stored' && operation === 'download' && outcome.status === 404
  if (outcome === 'stored' || isMissing) return `${oid} ${bytes} noop`
  throw new LfsError(outcome.status, `${oid.slice(0, 64)}: ${outcome.message}`)
}

function lockArgs(lock: OwnedLock): string[] {
  const { id, path, lockedAt, owner } = lockAnswer(lock)
  return [`id=${id}`, `path=${path}`, `locked-at=${lockedAt}`, `ownername=${owner}`]
}

/** @param open the repository of a push, which is told whose each lock is. */
function lockLines(lock: OwnedLock, open: OpenLfs | undefined): string[] {
  const { id, path, lockedAt, owner } = lockAnswer(lock)
  const lines = [
    `lock ${id}`,
    `path ${id} ${path}`,
    `locked-at ${id} ${lockedAt}`,
    `ownername ${id} ${owner}`,
  ]
  return open ? [...lines, `owner ${id} ${isOwnLock(open, lock) ? 'ours' : 'theirs'}`] : lines
}
