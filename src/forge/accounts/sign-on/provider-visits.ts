import { createHash, randomBytes } from 'node:crypto'
import type { Peer } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { type StartedBrowserSession, startBrowserSession } from '../credentials/browser-sessions.ts'
import { open, seal } from '../credentials/sealed-secrets.ts'
import type { AccountsApp } from '../ports.ts'
import {
  getIdentityProvider,
  type IdentityProvider,
  identityProviderName,
  listIdentityProviders,
} from './identity-providers.ts'
import { signInByIdentity } from './sso-sign-in.ts'

// A browser visits an identity provider and comes back with a code. What the server needs then is
// sealed in the parameter `state`, so that the server stores nothing for those who never come back.

/** The time for a sign-in at a provider. */
const LIFETIME_S = 15 * 60

/** More than both calls to a provider may take. */
const EXCHANGE_TIMEOUT_MS = 30_000

/** Purpose for `seal` and `open`. */
const STATE_PURPOSE = 'identity-provider-visit'

/** 256 bits, as RFC 7636 section 4.1 recommends. */
const VERIFIER_BYTES = 32

/** The visit of a browser to a provider. */
export interface ProviderVisit {
  /** Id of the provider. */
  readonly provider: string
  /** A secret of the browser. Another browser cannot end the visit (RFC 9700 section 4.7). */
  readonly browser: string
  /** Of PKCE. */
  readonly codeVerifier: string
  /** The original request of the browser, for the caller. */
  readonly purpose: string
  /** Unix seconds. */
  readonly expireTime: number
}

export type { IdentityProvider }

/** Lists the providers at which browsers can sign in. Others serve only programs. */
export async function listProvidersForBrowsers(app: AccountsApp): Promise<IdentityProvider[]> {
  return (await listIdentityProviders(app)).filter(isForBrowsers)
}

function isForBrowsers({ auth_url }: IdentityProvider): boolean {
  return auth_url !== ''
}

/**
 * Returns the address at a provider where a browser signs in.
 *
 * @param visit.mustAuthenticate whether the provider must ask the person, even if signed in there.
 */
export async function startProviderVisit(
  app: AccountsApp,
  providerUid: string,
  visit: Pick<ProviderVisit, 'browser' | 'purpose'> & {
    readonly redirectUri: string
    readonly mustAuthenticate: boolean
  },
): Promise<URL> {
  const provider = await getIdentityProvider(app, providerUid)
  if (!isForBrowsers(provider)) {
    throw new DomainError('IDENTITY_PROVIDER_NOT_FOUND', {
      name: identityProviderName(providerUid),
    })
  }
  const { redirectUri, mustAuthenticate, browser, purpose } = visit
  const codeVerifier = randomBytes(VERIFIER_BYTES).toString('base64url')
  const expireTime = nowSeconds(app.clock) + LIFETIME_S
  const state = { provider: provider.uid, browser, codeVerifier, purpose, expireTime }
  const parameters = {
    response_type: 'code',
    client_id: provider.client_id,
    redirect_uri: redirectUri,
    ...(provider.scopes !== '' && { scope: provider.scopes }),
    state: seal(app, STATE_PURPOSE, Buffer.from(JSON.stringify(state))).toString('base64url'),
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(mustAuthenticate && { prompt: 'login' }),
  }
  const address = new URL(provider.auth_url)
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  return address
}

/** Returns the visit of a state; undefined if it is not of this browser, or too old. */
export function readProviderVisit(
  app: AccountsApp,
  state: string,
  browser: string,
): ProviderVisit | undefined {
  const visit = readState(app, state)
  const isValid = visit?.browser === browser && visit.expireTime > nowSeconds(app.clock)
  return isValid ? visit : undefined
}

/**
 * Signs a browser in that has come back from a provider.
 *
 * @param answer.redirectUri that `startProviderVisit` named.
 */
export function signBrowserInByProvider(
  app: AccountsApp,
  peer: Peer,
  { provider, codeVerifier }: ProviderVisit,
  answer: { readonly code: string; readonly redirectUri: string },
  userAgent: string,
): Promise<StartedBrowserSession> {
  const client = { userAgent, signal: AbortSignal.timeout(EXCHANGE_TIMEOUT_MS) }
  return startBrowserSession(app, () =>
    signInByIdentity(app, peer, provider, { ...answer, codeVerifier }, client),
  )
}

function readState(app: AccountsApp, state: string): ProviderVisit | undefined {
  try {
    const sealed = Buffer.from(state, 'base64url')
    return JSON.parse(open(app, STATE_PURPOSE, sealed).toString()) as ProviderVisit
  } catch {
    return undefined
  }
}
