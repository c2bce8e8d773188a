import type { IdentityProvider } from '#gen/branchline/v1/identity_provider_pb.ts'
import { storageOf } from '../components/stored.ts'
import { t } from '../language/texts.tsx'
import { Code, ConnectError } from './calls.ts'

/** Where providers send the browser back to. */
const CALLBACK_PATH = '/user/login/callback'

/** Where the tab keeps what it needs when the browser comes back. */
const STORAGE_KEY = 'single-sign-on'

/** A visit to a provider from which the browser has not come back. */
interface Visit {
  readonly state: string
  readonly codeVerifier: string
  readonly idpName: string
  readonly purpose: 'sign-in' | 'link'
  /** The page to show afterwards. */
  readonly target: string
}

/** Parameters that the server exchanges at the provider for the identity of the user. */
export interface Redemption {
  readonly idpName: string
  readonly code: string
  readonly redirectUri: string
  readonly codeVerifier: string
}

/** Returns the address of the sign-in page of a provider; undefined if browsers cannot use it. */
export function authorizationUrlOf({ config }: IdentityProvider): string | undefined {
  const oauth2 = config?.config.case === 'oauth2Config' ? config.config.value : undefined
  return oauth2?.authUrl || undefined
}

/**
 * Sends the browser to the sign-in page of a provider.
 *
 * @throws ConnectError if the browser keeps nothing until it comes back.
 */
export async function visitProvider(
  provider: IdentityProvider,
  { purpose, target }: Pick<Visit, 'purpose' | 'target'>,
): Promise<void> {
  const storage = storageOf('sessionStorage')
  if (!storage)
    throw new ConnectError(t('this browser stores nothing for the server'), Code.FailedPrecondition)
  const oauth2 = provider.config?.config.value
  const url = new URL(oauth2?.authUrl ?? '')
  const [state, codeVerifier] = [randomText(), randomText()]
  url.searchParams.set('response_type', 'code')
  url.searchParams.set('client_id', oauth2?.clientId ?? '')
  url.searchParams.set('redirect_uri', redirectUri())
  url.searchParams.set('scope', oauth2?.scopes.join(' ') ?? '')
  url.searchParams.set('state', state)
  // Browsers compute hashes over HTTPS and on the machine itself only.
  const hasPkce = isSecureContext
  if (hasPkce) {
    url.searchParams.set('code_challenge', await challengeOf(codeVerifier))
    url.searchParams.set('code_challenge_method', 'S256')
  }
  const visit: Visit = {
    state,
    codeVerifier: hasPkce ? codeVerifier : '',
    idpName: provider.name,
    purpose,
    target,
  }
  storage.setItem(STORAGE_KEY, JSON.stringify(visit))
  location.assign(url)
}

/** Returns the visit that this tab has begun; undefined for none. */
export function currentVisit(): Visit | undefined {
  const text = storageOf('sessionStorage')?.getItem(STORAGE_KEY)
  // Only `visitProvider` writes this.
  return text ? (JSON.parse(text) as Visit) : undefined
}

export function endVisit(): void {
  storageOf('sessionStorage')?.removeItem(STORAGE_KEY)
}

/**
 * Reads the answer of a provider.
 *
 * @throws ConnectError if the provider refused, or the answer is not the one to the visit: another
 *   site could sign the user in to an account of its own.
 */
export function redemptionOf(visit: Visit | undefined, query: URLSearchParams): Redemption {
  if (visit === undefined || query.get('state') !== visit.state)
    throw new ConnectError(t('no sign-in of this tab waits for this answer'), Code.InvalidArgument)
  const code = query.get('code')
  if (code === null) {
    const why = query.get('error_description') ?? query.get('error') ?? t('it gave no reason')
    throw new ConnectError(
      t('the provider refused the sign-in: {why}', { why }),
      Code.PermissionDenied,
    )
  }
  const { idpName, codeVerifier } = visit
  return { idpName, code, redirectUri: redirectUri(), codeVerifier }
}

/** Returns the address that providers send browsers back to. */
export function redirectUri(): string {
  return location.origin + CALLBACK_PATH
}

function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)))
}

/** RFC 7636, section 4.2. */
async function challengeOf(verifier: string): Promise<string> {
  const bytes = new TextEncoder().encode(verifier)
  return base64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
}

function base64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes))
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
