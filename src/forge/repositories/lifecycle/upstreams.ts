import {
  type FetchFailure,
  fetchInto,
  pushAll,
  readUpstreamDefault,
  readUpstreamTips,
} from '../../../platform/git/packs/mirrors.ts'
import { OutboundError } from '../../../platform/outbound/errors.ts'
import { type GatewayFailure, openGitGateway } from '../../../platform/outbound/git-gateway.ts'
import { open, seal } from '../../accounts/credentials/sealed-secrets.ts'
import { type Caller, holderOf } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { hasInvisibleCharacters } from '../../core/invisible-characters.ts'
import type { ReposApp } from '../ports.ts'

/** A repository on another server. */
export interface Upstream {
  /** An http or https URL without credentials, query and fragment. */
  readonly url: URL
  readonly credentials: UpstreamCredentials | undefined
}

/** Credentials for the other server. */
export interface UpstreamCredentials {
  readonly username: string
  readonly password: string
}

/** A repository on another server as a request names it. Fields may be empty. */
export interface UpstreamDraft {
  readonly address: string
  readonly username: string
  readonly password: string
  /** Replaces the password. */
  readonly token: string
}

/** The failure of a fetch. The message reveals nothing about this server. */
export class FetchError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FetchError'
  }
}

/** The failure of a fetch of more bytes than are allowed. */
export class TooLargeError extends FetchError {}

/** As for webhooks. Few servers accept longer URLs. */
const MAX_ADDRESS_CHARACTERS = 2048

const MAX_CREDENTIAL_CHARACTERS = 1024

/** The user name that servers expect with a token, unless they ignore the name. */
const TOKEN_USERNAME = 'oauth2'

/** Limit of a whole fetch. */
const FETCH_TIMEOUT_MS = 60 * 60 * 1000

const PURPOSE = 'mirror-credentials'

/**
 * Parses the address and the credentials of a repository on another server. Whether the server may
 * connect to that host is checked when it does.
 */
export function readUpstream({ address, username, password, token }: UpstreamDraft): Upstream {
  const text = address.trim()
  const url =
    text.length <= MAX_ADDRESS_CHARACTERS && URL.canParse(text) && !hasInvisibleCharacters(text)
      ? new URL(text)
      : undefined
  const isFit =
    (url?.protocol === 'http:' || url?.protocol === 'https:') &&
    url.search === '' &&
    url.hash === ''
  if (!isFit) throw new DomainError('INVALID_CLONE_ADDRESS')
  const given = {
    username: username || decode(url.username) || (token && TOKEN_USERNAME),
    password: token || password || decode(url.password),
  }
  if (
    given.username.length > MAX_CREDENTIAL_CHARACTERS ||
    given.password.length > MAX_CREDENTIAL_CHARACTERS
  ) {
    throw new DomainError('INVALID_CLONE_ADDRESS')
  }
  Object.assign(url, { username: '', password: '' })
  return { url, credentials: given.username === '' && given.password === '' ? undefined : given }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Encrypts credentials for storage. */
export function sealCredentials(app: ReposApp, { credentials }: Upstream): Buffer | null {
  return credentials ? seal(app, PURPOSE, Buffer.from(JSON.stringify(credentials))) : null
}

/** Decrypts credentials that `sealCredentials` has encrypted. */
export function openCredentials(
  app: ReposApp,
  sealed: Buffer | null,
): UpstreamCredentials | undefined {
  return sealed === null ? undefined : JSON.parse(open(app, PURPOSE, sealed).toString())
}

/**
 * Refuses a repository on a host with a forbidden address, before somebody relies on the copy. A host
 * that cannot be resolved now may be there later.
 */
export async function checkUpstream(
  app: ReposApp,
  caller: Caller,
  { url }: Pick<Upstream, 'url'>,
): Promise<void> {
  try {
    await app.outbound.checkDestination(url, holderOf(caller))
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    if (error.failure === 'BLOCKED_ADDRESS')
      throw new DomainError('BLOCKED_ADDRESS', { host: url.hostname })
  }
}

/** The operations on a repository on another server. */
export interface ReachedUpstream {
  /**
   * Fetches all branches and tags into a draft.
   *
   * @param prune whether refs that the other server does not have are deleted.
   * @param alsoRefs more refs, with one `*`, which become refs below `IMPORT_REFS`.
   * @throws FetchError
   */
  fetchInto(draft: string, prune: boolean, alsoRefs?: string): Promise<void>
  /** Returns the branch that HEAD points to, once the draft has it; undefined if there is none. */
  readDefaultBranch(draft: string): Promise<string | undefined>
  /**
   * Returns ids to which branches and tags point; none if the repository cannot be read.
   *
   * @param folder path of a repository here.
   */
  readTips(folder: string): Promise<string[]>
}

/** A repository on another server, and the bytes of a fetch after which the fetch fails. */
interface LimitedUpstream extends Upstream {
  readonly maxBytes?: number | undefined
}

/**
 * Connects to a repository on another server for the duration of some work, up to a limit.
 *
 * @param until aborts the work. Its reason is thrown.
 */
export async function reachUpstream<T>(
  app: ReposApp,
  { url, credentials, maxBytes = Number.POSITIVE_INFINITY }: LimitedUpstream,
  until: AbortSignal,
  work: (upstream: ReachedUpstream) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(FETCH_TIMEOUT_MS)
  const signal = AbortSignal.any([until, timeout])
  const target = { url, authorization: credentials && basic(credentials) }
  const gateway = await openGitGateway(app.outbound, target, {
    maxBytes: Math.min(maxBytes, app.settings.maxPushBytes),
    signal,
    times: app.upstreamTimes,
  })
  const source = { url: gateway.url, header: gateway.header }
  try {
    return await work({
      async fetchInto(draft, prune, alsoRefs) {
        const failure = await fetchInto(app.git, draft, source, { prune, signal, alsoRefs })
        until.throwIfAborted()
        if (!failure) return
        const seen = timeout.aborted ? 'TIMEOUT' : gateway.failure()
        app.log.info({ host: url.host, seen, stderr: failure.stderr }, 'a fetch failed')
        throw new (seen === 'TOO_LARGE' ? TooLargeError : FetchError)(textOf(failure, seen))
      },
      readDefaultBranch: (draft) => readUpstreamDefault(app.git, draft, source, signal),
      readTips: (folder) => readUpstreamTips(app.git, folder, source, signal),
    })
  } finally {
    await gateway.close()
  }
}

/**
 * Sets the branches and tags of a repository on another server to those of a repository here.
 *
 * @param until aborts the push. Its reason is thrown.
 * @throws FetchError
 */
export async function pushUpstream(
  app: ReposApp,
  { url, credentials }: Upstream,
  until: AbortSignal,
  repositoryId: number,
): Promise<void> {
  const timeout = AbortSignal.timeout(FETCH_TIMEOUT_MS)
  const signal = AbortSignal.any([until, timeout])
  const target = { url, authorization: credentials && basic(credentials) }
  const gateway = await openGitGateway(app.outbound, target, {
    maxBytes: app.settings.maxPushBytes,
    signal,
    times: app.upstreamTimes,
    service: 'git-receive-pack',
  })
  try {
    const failure = await pushAll(app.git, repositoryId, gateway, signal)
    until.throwIfAborted()
    if (!failure) return
    const seen = timeout.aborted ? 'TIMEOUT' : gateway.failure()
    app.log.info({ host: url.host, seen, stderr: failure.stderr }, 'a push to a mirror failed')
    if (failure.isRefused) throw new FetchError('the other server refuses a branch or tag')
    throw new FetchError(textOf({ badObject: undefined, stderr: '' }, seen))
  } finally {
    await gateway.close()
  }
}

/** RFC 7617. */
function basic({ username, password }: UpstreamCredentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

const TEXTS: Readonly<Record<GatewayFailure, string>> = {
  UNRESOLVABLE_HOST: 'the host cannot be resolved',
  BLOCKED_ADDRESS: 'the host has a private or reserved address',
  CONNECTION_FAILED: 'the connection failed',
  TIMEOUT: 'the other server took too long',
  CANCELLED: 'the fetch was cancelled',
  UNAUTHORIZED: 'the other server requires credentials, or refuses the given ones',
  NOT_FOUND: 'the address has no repository',
  NO_REPOSITORY: 'the address does not serve a repository over the smart HTTP protocol of Git',
  BAD_REDIRECT: 'the address redirects to one that is not allowed',
  TOO_LARGE: 'the repository is larger than this server allows',
}

/**
 * A malformed object makes Git close the connection, so it matters more than what the gateway saw.
 */
function textOf({ badObject }: FetchFailure, seen: GatewayFailure | undefined): string {
  if (badObject !== undefined) return `the repository has a malformed object (${badObject})`
  return seen === undefined ? 'Git could not read the response of the other server' : TEXTS[seen]
}

/** The Git LFS of a repository on another server. */
export interface LfsRemote {
  /** The address behind which the paths of the API follow, without a trailing slash. */
  readonly url: URL
  /** The value of `Authorization` for that server; undefined for none. */
  readonly authorization: string | undefined
}

/**
 * Returns the Git LFS of a repository on another server.
 *
 * @param endpoint an address that a user gave, possibly with credentials; empty for that of the
 *   repository. The credentials of the repository go to its own server only.
 * @throws INVALID_CLONE_ADDRESS
 */
export function lfsRemoteOf({ url, credentials }: Upstream, endpoint: string): LfsRemote {
  const own = new URL(url)
  own.pathname = `${own.pathname.replace(/\/+$/, '').replace(/(?:\.git)?$/, '.git')}/info/lfs`
  const given =
    endpoint.trim() === ''
      ? undefined
      : readUpstream({ address: endpoint, username: '', password: '', token: '' })
  const address = new URL(given?.url ?? own)
  address.pathname = address.pathname.replace(/\/+$/, '')
  const sent = given?.credentials ?? (address.origin === url.origin ? credentials : undefined)
  return { url: address, authorization: sent && basic(sent) }
}

/** Encrypts an address that may have credentials. */
export function sealEndpoint(app: ReposApp, endpoint: string): Buffer | null {
  return endpoint.trim() === '' ? null : seal(app, PURPOSE, Buffer.from(endpoint))
}

/** Decrypts an address that `sealEndpoint` has encrypted; empty for none. */
export function openEndpoint(app: ReposApp, sealed: Buffer | null): string {
  return sealed === null ? '' : open(app, PURPOSE, sealed).toString()
}
