import { randomUUID } from 'node:crypto'
import { ConnectError } from '@connectrpc/connect'
import { recordAccountKeyUse, type SshIdentity } from '../../forge/accounts/keys/ssh-identities.ts'
import type { App } from '../../forge/app.ts'
import type { Peer } from '../../forge/core/access.ts'
import { DomainError, outsideError, type Reason } from '../../forge/core/errors.ts'
import { isDeployKeyOf, titleOfDeployKey } from '../../forge/repositories/access/deploy-access.ts'
import { type OpenLfs, openLfs } from '../../forge/repositories/lfs/lfs-access.ts'
import { LfsError } from '../../forge/repositories/lfs/lfs-error.ts'
import { createLfsLink, type LfsRequester } from '../../forge/repositories/lfs/lfs-links.ts'
import {
  openGitService,
  openGitServiceByDeployKey,
} from '../../forge/repositories/refs/git-services.ts'
import { isLoopback, peerNetwork } from '../../platform/http/listener/admission.ts'
import type { SshSession } from '../../platform/ssh/ssh-process.ts'
import { toConnectError } from '../errors.ts'
import type { GitGrant, GitTarget } from '../git-http/git-access.ts'
import { SessionSlot } from '../git-http/session.ts'
import { lfsUrl } from '../git-lfs/batches.ts'
import {
  type LfsTarget,
  type LfsVerb,
  lfsNotFound,
  readSshCommand,
  type SshService,
  type SshTarget,
} from './command.ts'
import { GitRun, type OpenArchive } from './git-run.ts'
import { serveLfsTransfers } from './lfs-transfers.ts'
import {
  OWN_FAULT,
  refused,
  type SessionEnd,
  type SessionParts,
  TRY_AGAIN,
} from './session-parts.ts'

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

interface Grant extends Pick<GitGrant, 'user' | 'start' | 'answerRefs' | 'answerFetch'> {
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

/** Returns the end of a session for an error. Logs a fault of the server. */
function endOf(app: App, error: unknown, requestId: string): SessionEnd {
  const known = outsideError(error) ?? (error instanceof DomainError ? error : undefined)
  const refusal = known && REFUSALS[known.reason]
  if (refusal) return refusal
  if (known || error instanceof ConnectError) return refused(toConnectError(error).rawMessage)
  app.log.error({ err: error, request_id: requestId }, 'a Git session over SSH failed')
  return refused(`the server failed (request ${requestId})`, OWN_FAULT)
}
