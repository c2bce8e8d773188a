import { type FetchFailure, fetchInto, readUpstreamDefault } from '../../../git/transfer/mirrors.ts'
import { open, seal } from '../../accounts/credentials/sealed-secrets.ts'
import { DomainError } from '../../core/errors.ts'
import { hasInvisibleCharacters } from '../../core/invisible-characters.ts'
import { type GatewayFailure, openGitGateway } from '../../outbound/git-gateway.ts'
import type { ReposApp } from '../ports.ts'

/** A repository on another server. */
export interface Upstream {
  /** http or https, without credentials, query and fragment. */
  readonly url: URL
  readonly credentials: UpstreamCredentials | undefined
}

/** What the other server wants to know. */
export interface UpstreamCredentials {
  readonly username: string
  readonly password: string
}

/** A repository on another server, as somebody names it. Empty texts say nothing. */
export interface UpstreamDraft {
  readonly address: string
  readonly username: string
  readonly password: string
  /** In place of a password. */
  readonly token: string
}

/** Why nothing could be fetched, in words that tell nothing about this server. */
export class FetchError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FetchError'
  }
}

/** Longest address, as of webhooks: URLs beyond that fit few servers. */
const MAX_ADDRESS_CHARACTERS = 2048

const MAX_CREDENTIAL_CHARACTERS = 1024

/** Name that servers expect beside a token; those that care about none take any. */
const TOKEN_USERNAME = 'oauth2'

/** For all of one fetch. */
const FETCH_TIMEOUT_MS = 60 * 60 * 1000

const PURPOSE = 'mirror-credentials'

/**
 * Reads what somebody says about a repository elsewhere. Whether the server may be asked is judged
 * when it is.
 *
 * @throws INVALID_CLONE_ADDRESS when it is no http or https URL.
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

/** Decrypts what `sealCredentials` made. */
export function openCredentials(
  app: ReposApp,
  sealed: Buffer | null,
): UpstreamCredentials | undefined {
  return sealed === null ? undefined : JSON.parse(open(app, PURPOSE, sealed).toString())
}

/** What can be asked of a repository on another server. */
export interface ReachedUpstream {
  /**
   * Fetches all branches and tags into a draft.
   *
   * @param prune whether what the other server does not have goes.
   * @throws FetchError
   */
  fetchInto(draft: string, prune: boolean): Promise<void>
  /** The branch that HEAD names, once the draft has it; undefined when it names none. */
  readDefaultBranch(draft: string): Promise<string | undefined>
}

/**
 * Reaches a repository on another server, for as long as some work takes, which is not for ever.
 *
 * @param until gives it up. What it was aborted for is thrown then.
 */
export async function reachUpstream<T>(
  app: ReposApp,
  { url, credentials }: Upstream,
  until: AbortSignal,
  work: (upstream: ReachedUpstream) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(FETCH_TIMEOUT_MS)
  const signal = AbortSignal.any([until, timeout])
  const target = { url, authorization: credentials && basic(credentials) }
  const gateway = await openGitGateway(app.outbound, target, {
    maxBytes: app.settings.maxPushBytes,
    signal,
  })
  const source = { url: gateway.url, header: gateway.header }
  try {
    return await work({
      async fetchInto(draft, prune) {
        const failure = await fetchInto(app.git, draft, source, { prune, signal })
        until.throwIfAborted()
        if (!failure) return
        const seen = timeout.aborted ? 'TIMEOUT' : gateway.failure()
        app.log.info({ host: url.host, seen, stderr: failure.stderr }, 'a fetch failed')
        throw new FetchError(textOf(failure, seen))
      },
      readDefaultBranch: (draft) => readUpstreamDefault(app.git, draft, source, signal),
    })
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
  CANCELLED: 'it was given up',
  UNAUTHORIZED: 'the other server wants credentials, or refuses these',
  NOT_FOUND: 'there is no repository at this address',
  NO_REPOSITORY:
    'what answers at this address is no repository that speaks the smart protocol of Git',
  BAD_REDIRECT: 'the address leads to one that is not allowed',
  TOO_LARGE: 'it is larger than this server allows',
}

/** A malformed object makes git hang up, so what the gateway saw of that comes after it. */
function textOf({ badObject }: FetchFailure, seen: GatewayFailure | undefined): string {
  if (badObject !== undefined) return `it has a malformed object (${badObject})`
  return seen === undefined ? 'git could not read what the other server sent' : TEXTS[seen]
}
