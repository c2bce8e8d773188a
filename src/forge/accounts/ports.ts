import type { KeyObject } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'
import type { LRUCache } from 'lru-cache'
import type { Holder } from '../../platform/concurrency/holders.ts'
import type { StateCache } from '../../platform/database/state-cache.ts'
import type { MailTransport } from '../../platform/mail/mail.ts'
import type { Credential } from '../core/access.ts'
import type { Core } from '../core/core.ts'
import type { User } from '../core/schema.ts'

/** The services that accounts use. */
export interface AccountsApp extends Core {
  readonly keys: InstanceKeys
  readonly passwords: PasswordHasher
  readonly guesses: GuessLimits
  readonly oauth2: OAuth2Client
  /** Undefined if no mail is configured. */
  readonly mail: MailTransport | undefined
  readonly resetRequests: ResetRequests
}

/**
 * Limits guesses of passwords and second factors. Counters are in memory, so a restart resets them,
 * unless several servers share them.
 */
export interface GuessLimits {
  /**
   * Checks a password unless too many recent ones were wrong: 10 for the account or 50 from the
   * peer within 10 minutes.
   *
   * The number of concurrent checks never exceeds the number of wrong guesses left. Concurrent
   * guesses therefore cannot all pass before the first one fails. Further guesses wait for the
   * results. A correct guess resets the counter of the account. It does not reset that of the peer,
   * who could otherwise sign in to an own account between guesses. A check that throws and a guess
   * that is refused do not count.
   *
   * @param account folded username, whether or not an account has it.
   * @param peerAddress IP address. Addresses in one IPv6 /64 network, which one customer has, count
   *   together.
   * @param check returns undefined for a wrong password.
   * @returns what `check` returned.
   */
  attempt<T>(
    account: string,
    peerAddress: string,
    check: () => Promise<T | undefined>,
  ): Promise<T | undefined>

  /**
   * Checks a passcode or recovery code unless five codes were wrong for the account within five
   * minutes. Guesses count as passwords do, but not towards the peer, who already knows the
   * password.
   *
   * @param userId internal number of the account.
   * @param check returns undefined for a wrong code.
   * @returns what `check` returned.
   */
  attemptSecondFactor<T>(
    userId: number,
    check: () => Promise<T | undefined>,
  ): Promise<T | undefined>

  /**
   * Checks a single sign-on code unless the peer had too many recent failures of any sign-in
   * method. The account is not known yet, so a failure counts towards the peer only.
   *
   * @param check returns undefined for a code that the identity provider refuses.
   * @returns what `check` returned.
   */
  attemptCode<T>(peerAddress: string, check: () => Promise<T | undefined>): Promise<T | undefined>
}

/**
 * The keys of this instance. All derive from one secret, which is created at the first start and
 * stored.
 */
export interface InstanceKeys {
  /** The `kid` of tokens signed with `tokenKey`. */
  readonly id: string
  /**
   * HMAC-SHA-256 key of access and refresh tokens. The key is imported once because an import costs
   * as much as a signature.
   */
  readonly tokenKey: CryptoKey
  /**
   * LRU cache of verified access tokens by text. A client sends the same token with every call for
   * 15 minutes, and verifying a token takes longer than the rest of a small call.
   */
  readonly verifiedTokens: LRUCache<string, VerifiedToken>
  /**
   * What access tokens were verified to, by their text, and personal access tokens, by a hash. A
   * change of the database ends all of it, so a revocation holds at the next call.
   */
  readonly verifiedCallers: StateCache<string, VerifiedCaller>
  /**
   * Page tokens that were written, by what they contain. To sign one takes as long as to look up
   * several rows.
   */
  readonly pageTokens: LRUCache<string, string>
  /** Derives a 256-bit key for one purpose. A derived key reveals nothing about the others. */
  derive(purpose: string): Buffer
  /** Returns the key that signs ID tokens. Created at the first call, and stored. */
  idTokenKey(): Promise<IdTokenKey>
}

/** An RSA key, which every client of OpenID Connect can verify (OpenID Connect Core section 15.1). */
export interface IdTokenKey {
  readonly privateKey: KeyObject
  /** With `kid`, `alg` and `use`. */
  readonly publicJwk: JWK & { readonly kid: string }
}

/** The claims of an access token that the server reads. Role and state come from rows instead. */
export interface AccessTokenClaims {
  /** Internal id of the user, as text. */
  readonly subject: string
  readonly sessionId: string
  readonly tokenVersion: number
}

/** An access token with a valid signature. */
export interface VerifiedToken {
  readonly claims: AccessTokenClaims
  /** Unix seconds. */
  readonly expireTime: number
}

/** The account and the credential that a token was verified to. */
export interface VerifiedCaller {
  readonly user: User
  readonly credential: Credential
  /** Unix milliseconds. From then on, the token must be verified again. */
  readonly verifyAgainAt: number
}

/** The account whose password is to be reset, by username or e-mail address. */
export type ResetSubject = { readonly username: string } | { readonly email: string }

/** Requests for a reset mail that have been answered but not processed yet. */
export interface ResetRequests {
  /** By subject, so that repeated requests for one account become one. */
  readonly waiting: Map<string, ResetSubject>
  /** Whether a worker is processing the requests. */
  isProcessing: boolean
}

/**
 * Hashes passwords outside the event loop. The number of concurrent hashes is limited because each
 * needs memory and a core.
 */
export interface PasswordHasher {
  /**
   * Returns the PHC string of a new hash with its own salt.
   *
   * @param holder whom the hash counts for, here and below.
   */
  hash(password: string, holder: Holder): Promise<string>
  /**
   * Returns whether a password matches a PHC string. No password matches `NO_PASSWORD`, which takes
   * as long to determine.
   */
  verify(hash: string, password: string, holder: Holder): Promise<boolean>
  /**
   * Takes as long as checking a wrong password. Used for names without an account, so that response
   * times do not reveal which accounts exist.
   */
  verifyNothing(holder: Holder): Promise<void>
}

/** An OAuth 2.0 provider and this instance's client registration there. */
export interface OAuth2Provider {
  readonly clientId: string
  /** Empty for a public client. */
  readonly clientSecret: string
  readonly tokenUrl: string
  readonly userInfoUrl: string
}

/** The authorization code that a browser brought back from a provider. */
export interface AuthorizationGrant {
  readonly code: string
  readonly redirectUri: string
  /** PKCE code verifier (RFC 7636); empty if the flow was started without PKCE. */
  readonly codeVerifier: string
}

/** A grant, and whom its exchange counts for. */
export interface CountedGrant extends AuthorizationGrant {
  readonly holder: Holder
}

/** Claims about a person by name. Numbers have the text that the provider sent. */
export type Claims = ReadonlyMap<string, unknown>

/** The server's part of the authorization code grant (RFC 6749 section 4.1). */
export interface OAuth2Client {
  /**
   * Redeems a code and returns the claims about the person who signed in.
   *
   * @param signal aborts the exchange.
   * @throws OAuth2Error
   */
  fetchClaims(provider: OAuth2Provider, grant: CountedGrant, signal: AbortSignal): Promise<Claims>
}
