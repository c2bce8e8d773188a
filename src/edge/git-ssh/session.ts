import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { ConnectError } from '@connectrpc/connect'
import { recordAccountKeyUse, type SshIdentity } from '../../forge/accounts/keys/ssh-identities.ts'
import type { App } from '../../forge/app.ts'
import type { Peer } from '../../forge/core/access.ts'
import { DomainError, outsideError, type Reason } from '../../forge/core/errors.ts'
import { isDeployKeyOf, titleOfDeployKey } from '../../forge/repositories/access/deploy-access.ts'
import type { RemoteArchive } from '../../forge/repositories/content/remote-archives.ts'
import { type OpenLfs, openLfs } from '../../forge/repositories/lfs/lfs-access.ts'
import { LfsError } from '../../forge/repositories/lfs/lfs-error.ts'
import { createLfsLink, type LfsRequester } from '../../forge/repositories/lfs/lfs-links.ts'
import {
  openGitService,
  openGitServiceByDeployKey,
} from '../../forge/repositories/refs/git-services.ts'
import type { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import { feed } from '../../platform/concurrency/feed.ts'
import { isLoopback, peerNetwork } from '../../platform/http/listener/admission.ts'
import type { SentOutput } from '../../platform/ssh/ssh-messages.ts'
import type { SshSession } from '../../platform/ssh/ssh-process.ts'
import { toConnectError } from '../errors.ts'
import type { GitGrant, GitTarget, PackProcess, PackRequest } from '../git-http/git-access.ts'
import { reopened } from '../git-http/request-body.ts'
import { PROTOCOL, readPushOpening, type SessionLimits, SessionSlot } from '../git-http/session.ts'
import { lfsUrl } from '../git-lfs/batches.ts'
import type { Metrics } from '../operator-pages/metrics.ts'
import {
  ARCHIVE_FORMATS,
  type ArchiveRequest,
  FLUSH,
  MAX_ARCHIVE_REQUEST_BYTES,
  packetLine,
  packetsOf,
  readArchiveRequest,
} from './archive-request.ts'
import {
  type LfsTarget,
  type LfsVerb,
  lfsNotFound,
  readSshCommand,
  type SshService,
  type SshTarget,
} from './command.ts'
import type { SshIdentities } from './identities.ts'
import { serveLfsTransfers } from './lfs-transfers.ts'
import type { RunningSessions } from './running-sessions.ts'
import { hasLeft, roomIn } from './sockets.ts'

/** The parts of the server that sessions use. */
interface SessionParts {
  readonly app: App
  readonly slots: FairSlots
  /** Slots of transfers of Git LFS, shared with HTTP. */
  readonly lfsSlots: FairSlots
  readonly limits: SessionLimits
  readonly limitLoopback: boolean
  readonly identities: SshIdentities
  readonly running: RunningSessions
  readonly metrics: Metrics
}

/** How a session ended. */
interface SessionEnd {
  readonly code: number
  /** Lines for the user, empty for none. */
  readonly text: string
}

/** Exit codes of sysexits.h. */
const TRY_AGAIN = 75
const OWN_FAULT = 70

const BUSY = refused('the server is busy: try again later', TRY_AGAIN)

/** Texts for reasons that compatible systems word differently for Git users. */
const REFUSALS: Readonly<Partial<Record<Reason, SessionEnd>>> = {
  REPOSITORY_NOT_FOUND: refused('Repository not found.'),
  DELETED_MEANWHILE: refused('Repository not found.'),
  REPOSITORY_ACCESS_DENIED: refused('User permission denied for writing.'),
  REPOSITORY_UNIT_CLOSED: refused('the code of this repository is disabled'),
  REPOSITORY_ARCHIVED: refused(
    'This repo is archived. You can view files and clone it, but cannot push or open issues/pull-requests.',
  ),
  REPOSITORY_IS_MIRROR: refused('mirror repository is read-only'),
  SERVER_BUSY: BUSY,
  GIT_TIMEOUT: BUSY,
  GIT_MEMORY_EXCEEDED: BUSY,
}

/** Runs the command of a session, and ends the session. */
export async function runSession(parts: SessionParts, session: SshSession): Promise<void> {
  const beganMs = performance.now()
  const { app } = parts
  const requestId = randomUUID()
  let facts: SessionFacts = {}
  let passedBytes = 0
  const counted = withCounter(session, (bytes) => {
    passedBytes += bytes
  })
  const end = await answer(parts, counted, (found) => {
    facts = { ...facts, ...found }
  }).catch((error: unknown) => endOf(app, error, requestId))
  session.end(end.code, end.text)
  const durationMs = Math.round(performance.now() - beganMs)
  if (facts.ssh) parts.metrics.countGitSession(facts.ssh, end.code, durationMs)
  const entry = {
    ...facts,
    ...session.transport,
    key: 'keyId' in session.key ? session.key.keyId : undefined,
    peer: session.peer,
    bytes_in: session.socket.bytesRead - session.openingBytes,
    bytes_out: session.socket.bytesWritten + passedBytes,
    exit: end.code,
    duration_ms: durationMs,
    request_id: requestId,
  }
  // Fetches are frequent, and change nothing.
  const isQuiet = end.code === 0 && facts.ssh !== 'git-receive-pack'
  app.log[isQuiet ? 'debug' : 'info'](entry, 'SSH session')
}

/** Counts the output that the SSH program sends by itself. */
function withCounter(session: SshSession, count: (bytes: number) => void): SshSession {
  const { passOutput } = session
  if (!passOutput) return session
  return {
    ...session,
    passOutput: (output, note) =>
      passOutput(output, (sent) => {
        count(sent.bytes)
        note(sent)
      }),
  }
}

/** What the log says of a session. */
interface SessionFacts {
  readonly ssh?: SshService | LfsVerb
  readonly repository?: string
  readonly user?: number
  readonly deploy_key?: number
  readonly fingerprint?: string
  readonly certificate?: {
    readonly name: string
    readonly serial: string
    /** Fingerprint of its key. */
    readonly authority: string
  }
}

/** @param tell gets facts as soon as they are known. */
async function answer(
  parts: SessionParts,
  session: SshSession,
  tell: (facts: SessionFacts) => void,
): Promise<SessionEnd> {
  const { app } = parts
  // The key may be gone since the connection began.
  const identity = await parts.identities.of(session.key, session.peer)
  if (!identity) return refused('this key is not valid any more')
  tell(factsOf(identity))
  const command = readSshCommand(session.command)
  if (command.kind === 'shell') return { code: 0, text: await greeting(app, identity) }
  if (command.kind === 'invalid') return refused(command.text, command.code)
  if (command.kind === 'lfs') {
    const { verb, target } = command
    if (!app.settings.lfs) return refused(lfsNotFound(verb).text, lfsNotFound(verb).code)
    tell({ ssh: verb, repository: `${target.owner}/${target.name}` })
    const work = verb === 'git-lfs-transfer' ? transferLfs : authenticateLfs
    return serveLfs(parts, session, identity, { target, work })
  }
  const { owner, name, service } = command.target
  tell({ ssh: service, repository: `${owner}/${name}` })
  return serveGit(parts, session, identity, command.target)
}

function factsOf(identity: SshIdentity): SessionFacts {
  const { kind, fingerprint, keyId } = identity
  if (kind === 'deploy key') return { fingerprint, deploy_key: keyId }
  const { certificate, title, user } = identity
  return {
    fingerprint,
    user: user.id,
    ...(certificate && { certificate: { name: title, ...certificate } }),
  }
}

/** A command of Git LFS. */
interface LfsWork {
  readonly target: LfsTarget
  readonly work: (
    parts: SessionParts,
    session: SshSession,
    target: LfsTarget,
    granted: LfsGrant,
  ) => Promise<SessionEnd>
}

/** A repository that the key of a session may use by Git LFS. */
interface LfsGrant {
  readonly identity: SshIdentity
  readonly requester: LfsRequester
  readonly open: OpenLfs
}

async function serveLfs(
  parts: SessionParts,
  session: SshSession,
  identity: SshIdentity,
  { target, work }: LfsWork,
): Promise<SessionEnd> {
  const { app } = parts
  const isUpload = target.operation === 'upload'
  if (identity.kind === 'account' && identity.readOnly && isUpload)
    return refused('this key is read-only')
  const requester = lfsRequesterOf(identity, peerOf(session, parts.limitLoopback))
  try {
    const need = { level: isUpload ? 'write' : 'read' } as const
    const name = { owner: target.owner, repo: target.name }
    const open = await openLfs(app, requester, name, need)
    if (identity.kind === 'account') recordAccountKeyUse(app, identity)
    return await work(parts, session, target, { identity, requester, open })
  } catch (error) {
    if (error instanceof LfsError) return refused(error.message)
    throw error
  }
}

/**
 * Prints credentials for Git LFS over HTTP (git-lfs, docs/api/authentication.md): a link that is valid
 * as long as the key has the right.
 */
async function authenticateLfs(
  { app }: SessionParts,
  session: SshSession,
  { operation }: LfsTarget,
  { requester, open }: LfsGrant,
): Promise<SessionEnd> {
  const target = { repositoryId: open.repository.id, operation }
  const answer = {
    href: lfsUrl(app, open),
    header: { Authorization: `Bearer ${createLfsLink(app, requester, target)}` },
    expires_in: Math.floor(app.settings.lfsLinkExpiryMs / 1000),
  }
  session.socket.write(`${JSON.stringify(answer)}\n`)
  return { code: 0, text: '' }
}

/** Serves transfers of Git LFS over SSH, until the client quits or a time limit is reached. */
async function transferLfs(
  parts: SessionParts,
  session: SshSession,
  target: LfsTarget,
  { identity, open }: LfsGrant,
): Promise<SessionEnd> {
  const { app, limits, identities, running } = parts
  const { socket } = session
  const startedAtMs = app.clock.now()
  const stop = () => void socket.destroy()
  const idle = setTimeout(stop, limits.idleTimeoutMs)
  const total = setTimeout(stop, limits.totalTimeoutMs)
  session.left.addEventListener('abort', stop)
  const forget = running.add({
    view: viewOf(session, identity, startedAtMs),
    isAllowed: () => isAllowed(parts, session, open.repository.id, startedAtMs),
    stop,
  })
  const requester = async () => {
    const present = await identities.of(session.key, session.peer, startedAtMs)
    if (!present) throw new LfsError(403, 'this key is not valid any more')
    return lfsRequesterOf(present, peerOf(session, parts.limitLoopback))
  }
  try {
    const input = socket.iterator({ destroyOnReturn: false })
    const onProgress = () => void idle.refresh()
    await serveLfsTransfers(
      { app, slots: parts.lfsSlots },
      { target, socket, input, requester, onProgress, stop },
    )
    return { code: 0, text: '' }
  } finally {
    forget()
    clearTimeout(idle)
    clearTimeout(total)
  }
}

function viewOf({ peer, command }: SshSession, identity: SshIdentity, startedAtMs: number) {
  return {
    user: identity.kind === 'account' ? identity.user.username : '',
    keyFingerprint: identity.fingerprint,
    address: peer,
    command,
    startedAtMs,
  }
}

function lfsRequesterOf(identity: SshIdentity, peer: Peer): LfsRequester {
  if (identity.kind === 'deploy key') return { kind: 'deploy key', keyId: identity.keyId, peer }
  const { keyId } = identity
  const credential = { kind: 'ssh key', keyId } as const
  return { kind: 'caller', caller: { kind: 'user', user: identity.user, peer, credential }, keyId }
}

async function greeting(app: App, identity: SshIdentity): Promise<string> {
  const [name, key] =
    identity.kind === 'account'
      ? [
          identity.user.username,
          `${identity.certificate ? 'certificate' : 'key'} named ${identity.title}`,
        ]
      : ['there', `deploy key named ${await titleOfDeployKey(app, identity.keyId)}`]
  return `Hi ${name}! You've successfully authenticated with the ${key}, but Branchline does not provide shell access.\n`
}

async function serveGit(
  parts: SessionParts,
  session: SshSession,
  identity: SshIdentity,
  target: SshTarget,
): Promise<SessionEnd> {
  const peer = peerOf(session, parts.limitLoopback)
  let opened: Opened
  let note = ''
  try {
    opened = await open(parts.app, identity, peer, target)
  } catch (error) {
    const moved = placeAfterMove(error)
    if (!moved) throw error
    // SSH has no redirects.
    note = `Branchline: the repository is now at ${moved.owner}/${moved.name}\n`
    opened = await open(parts.app, identity, peer, { ...moved, service: target.service })
  }
  if ('refusal' in opened) return refused(opened.refusal)
  if (session.left.aborted) return { code: 1, text: '' }
  const grant = { ...opened, outcome: 'granted', network: peer.network } as const
  const slot = new SessionSlot(grant, gitServiceOf(target.service))
  const release = parts.slots.tryAcquire(slot)
  if (!release) return BUSY
  const run = new GitRun(parts, session, grant, slot)
  const startedAtMs = parts.app.clock.now()
  const forget = parts.running.add({
    view: viewOf(session, identity, startedAtMs),
    isAllowed: () => isAllowed(parts, session, opened.repositoryId, startedAtMs),
    stop: () => run.stop(),
  })
  try {
    const { code, text } = await serve(target.service, run, opened)
    return { code, text: note + text }
  } finally {
    forget()
    release()
  }
}

function serve(service: SshService, run: GitRun, { openArchive }: Grant): Promise<SessionEnd> {
  if (service === 'git-receive-pack') return run.push()
  if (service === 'git-upload-pack') return run.fetch()
  if (!openArchive) throw new Error('a service for fetches opens no archives')
  return run.archive(openArchive)
}

/** Returns the service whose rights and limits apply. */
function gitServiceOf(service: SshService): GitTarget['service'] {
  return service === 'git-upload-archive' ? 'git-upload-pack' : service
}

/** Returns whether the key of a session, which began at a time, may still use a repository. */
async function isAllowed(
  { app, identities }: SessionParts,
  { key, peer }: SshSession,
  id: number,
  startedAtMs: number,
): Promise<boolean> {
  const identity = await identities.of(key, peer, startedAtMs)
  if (identity?.kind === 'deploy key') return isDeployKeyOf(app, identity.keyId, id)
  return identity !== undefined
}

/** Opens an archive of the files of a repository. */
type OpenArchive = (request: RemoteArchive) => Promise<AsyncIterable<Buffer>>

interface Grant extends Pick<GitGrant, 'user' | 'start'> {
  readonly repositoryId: number
  /** Absent from the service for pushes. */
  readonly openArchive?: OpenArchive
}

type Opened = Grant | { readonly refusal: string }

async function open(
  app: App,
  identity: SshIdentity,
  peer: Peer,
  { owner, name, service: wanted }: SshTarget,
): Promise<Opened> {
  const repository = { owner, repo: name }
  const service = gitServiceOf(wanted)
  if (identity.kind === 'deploy key') {
    const key = { keyId: identity.keyId, peer }
    return openGitServiceByDeployKey(app, key, repository, service)
  }
  const { user, readOnly, keyId } = identity
  // The scope of a key is everything that Git needs.
  const caller = { kind: 'user', user, peer, credential: { kind: 'ssh key', keyId } } as const
  if (readOnly && service === 'git-receive-pack') {
    await openGitService(app, caller, repository, 'git-upload-pack')
    return { refusal: 'this key is read-only' }
  }
  const opened = await openGitService(app, caller, repository, service)
  recordAccountKeyUse(app, identity)
  return { user: user.id, ...opened }
}

/** Returns the present name of a repository that was asked for by a former one. */
function placeAfterMove(error: unknown): { owner: string; name: string } | undefined {
  const isMove =
    error instanceof DomainError &&
    (error.reason === 'REPOSITORY_MOVED' || error.reason === 'REPOSITORY_OWNER_RENAMED')
  if (!isMove) return undefined
  const { owner = '', name = '' } = error.metadata
  return { owner, name }
}

function peerOf({ peer: address }: SshSession, limitLoopback: boolean): Peer {
  const loopback = isLoopback(address)
  return {
    address,
    loopback,
    network: loopback && !limitLoopback ? undefined : peerNetwork(address),
  }
}

/** A session whose Git processes run. */
class GitRun {
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

  /** Serves a fetch by one process. */
  async fetch(): Promise<SessionEnd> {
    return this.#run(async (socket) => {
      const process = this.#start({ advertise: false, isWhole: true })
      const input = this.#input(this.#parts.limits.maxFetchRequestBytes)
      return this.#converse(process, input, () => this.#pass(process, socket))
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
      await this.#send(listing, socket)
      const { code } = await listing.exited
      if (code !== 0) return { code: OWN_FAULT, text: 'Branchline: the server failed\n' }
      const input = this.#input(this.#parts.limits.maxPushBytes)
      const opening = await readPushOpening(input)
      if (this.#isStopped) return { code: 1, text: '' }
      const process = this.#start({ advertise: false, commands: opening.commands })
      return this.#converse(process, reopened(opening, input), () => this.#send(process, socket))
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
        if (this.#isStopped) return { code: 1, text: '' }
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
      if (isGone) return { code: 1, text: '' }
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

  /** Passes bytes both ways until the process has ended. */
  async #converse(
    process: PackProcess,
    input: AsyncGenerator<Buffer, void, undefined>,
    send: () => Promise<void>,
  ): Promise<SessionEnd> {
    let failure: unknown
    // The input of a client may end after the process. So nothing waits for it.
    feed(input, process.stdin).catch((error: unknown) => {
      failure = error
      process.stop()
    })
    await send()
    const { code } = await process.exited
    if (failure instanceof TooLarge) throw failure
    return { code: code ?? 1, text: '' }
  }

  /** Lets the SSH program send the output of a fetch, where there is such a program. */
  #pass(process: PackProcess, socket: Socket): Promise<void> {
    const note = ({ bytes, waitedMs }: SentOutput) => {
      if (bytes > 0) this.#onProgress()
      this.#slot.note(bytes, waitedMs)
    }
    return this.#session.passOutput?.(process.stdout, note) ?? this.#send(process, socket)
  }

  async #send({ stdout }: PackProcess, socket: Socket): Promise<void> {
    for await (const chunk of this.#slot.follow(stdout)) {
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

function refused(text: string, code = 1): SessionEnd {
  return { code, text: `Branchline: ${text}\n` }
}

/** Returns the end of a session for an error. Logs a fault of the server. */
function endOf(app: App, error: unknown, requestId: string): SessionEnd {
  const known = outsideError(error) ?? (error instanceof DomainError ? error : undefined)
  const refusal = known && REFUSALS[known.reason]
  if (refusal) return refusal
  if (known || error instanceof ConnectError) return refused(toConnectError(error).rawMessage)
  app.log.error({ err: error, request_id: requestId }, 'a Git session over SSH failed')
  return refused(`the server failed (request ${requestId})`, OWN_FAULT)
}
