import type { CryptoKey } from 'jose'
import type { LRUCache } from 'lru-cache'
import type { Core } from '../core/core.ts'

/** What accounts work with. */
export interface AccountsApp extends Core {
  readonly keys: InstanceKeys
  readonly passwords: PasswordHasher
  readonly guesses: GuessLimits
  readonly oauth2: OAuth2Client
  /** Undefined where no mail is sent. */
  readonly mail: MailTransport | undefined
  readonly resetRequests: ResetRequests
}

/**
 * Limits how often passwords and second factors may be guessed. Kept in memory: a restart forgives.
 */
export interface GuessLimits {
  /**
   * Checks a password unless too many were wrong lately: ten for the account or fifty from the
   * peer, in ten minutes.
   *
   * No more guesses are checked at once than may still be wrong, so that guesses made at once
   * cannot all slip through before the first has failed. The others wait until those are decided: a
   * check under way is no failure. A right one forgives those before it to the account, but not to
   * the peer, who could otherwise return to an account of its own between guesses. A check that
   * throws decided nothing and counts for nothing, as do guesses that are refused.
   *
   * @param account folded username, whether or not an account has it.
   * @param peerAddress IP address; those of one IPv6 network of 64 bits, which one customer has,
   *   count together.
   * @param check undefined for a wrong password.
   * @returns what `check` returned.
   * @throws RATE_LIMITED with the time after which a guess is admitted again, or may wait again.
   */
  attempt<T>(
    account: string,
    peerAddress: string,
    check: () => Promise<T | undefined>,
  ): Promise<T | undefined>

  /**
   * Checks a passcode or recovery code unless five were wrong for the account in five minutes.
   * Guesses are counted as those of passwords are, but not for the peer: whoever makes one knows
   * the password.
   *
   * @param userId internal number of the account.
   * @param check undefined for a wrong code.
   * @returns what `check` returned.
   * @throws RATE_LIMITED with the time after which a guess is admitted again.
   */
  attemptSecondFactor<T>(
    userId: number,
    check: () => Promise<T | undefined>,
  ): Promise<T | undefined>

  /**
   * Checks a code for single sign-on unless the peer failed too often lately, by whatever sign-in.
   * Nobody knows yet which account the code is for, so it counts for the peer alone.
   *
   * @param check undefined for a code that the identity provider refuses.
   * @returns what `check` returned.
   * @throws RATE_LIMITED with the time after which a code is admitted again.
   */
  attemptCode<T>(peerAddress: string, check: () => Promise<T | undefined>): Promise<T | undefined>
}

/**
 * The keys of this instance, all derived from one secret, which is made at the first start and
 * stored.
 */
export interface InstanceKeys {
  /** The `kid` of tokens that are signed with `tokenKey`. */
  readonly id: string
  /**
   * HMAC-SHA-256 key of access and refresh tokens. Imported once, as an import costs as much as a
   * signature.
   */
  readonly tokenKey: CryptoKey
  /**
   * Verified access tokens, by their text. A client sends the same token with every call for 15
   * minutes, and verifying a token takes longer than the rest of a small call.
   */
  readonly verifiedTokens: LRUCache<string, VerifiedToken>
  /** A key of 256 bits that is good for one purpose: knowing it tells nothing about the others. */
  derive(purpose: string): Buffer
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

/** A message to the owner of an account. */
export interface Mail {
  /** Address alone, without a name. */
  readonly from: string
  /** Address alone, without a name. */
  readonly to: string
  readonly subject: string
  /** Plain text, lines ended by `\n`. */
  readonly text: string
}

/** Hands messages to whatever brings them to people. */
export interface MailTransport {
  /** Resolves once the message is taken over for good. */
  send(mail: Mail): Promise<void>
}

/** Whose password somebody wants to reset, by the name that they know. */
export type ResetSubject = { readonly username: string } | { readonly email: string }

/** Requests for a reset mail that have been answered and wait to be looked at. */
export interface ResetRequests {
  /** By subject, so that many requests for one account are one. */
  readonly waiting: Map<string, ResetSubject>
  /** Whether somebody sees to those that wait. */
  attended: boolean
}

/** Hashes passwords, off the event loop and a few at a time, since each takes memory and a core. */
export interface PasswordHasher {
  /**
   * @returns the PHC string of a new hash, with a salt of its own.
   * @throws RATE_LIMITED when too many hashes wait.
   */
  hash(password: string): Promise<string>
  /**
   * Whether a PHC string was made from a password. `NO_PASSWORD` was made from none, which takes as
   * long to find out.
   *
   * @throws RATE_LIMITED when too many hashes wait.
   */
  verify(hash: string, password: string): Promise<boolean>
  /**
   * Takes the time of a wrong password, for names that no account has: how long an answer takes
   * must not tell them from those that exist.
   *
   * @throws RATE_LIMITED when too many hashes wait.
   */
  verifyNothing(): Promise<void>
}

/** An OAuth 2.0 provider, and this instance as its client. */
export interface OAuth2Provider {
  readonly clientId: string
  /** Empty for a public client. */
  readonly clientSecret: string
  readonly tokenUrl: string
  readonly userInfoUrl: string
}

/** What a browser brought back from a provider. */
export interface AuthorizationGrant {
  readonly code: string
  readonly redirectUri: string
  /** Of PKCE (RFC 7636); empty when the flow was started without it. */
  readonly codeVerifier: string
}

/** What a provider says about a person, by name. Numbers are the text that was sent. */
export type Claims = ReadonlyMap<string, unknown>

/** The server's part of the authorization code grant (RFC 6749 section 4.1). */
export interface OAuth2Client {
  /**
   * Redeems a code and asks whom it stands for.
   *
   * @param signal gives the exchange up.
   * @throws OAuth2Error
   */
  fetchClaims(
    provider: OAuth2Provider,
    grant: AuthorizationGrant,
    signal: AbortSignal,
  ): Promise<Claims>
}
