import {
  AuthService,
  type SignInRequest_PasswordCredentials,
  type SignInResponse,
} from '#gen/branchline/v1/auth_service_pb.ts'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { type Client, Code, ConnectError, createClient, type Transport } from './calls.ts'
import { failureOf } from './failure.ts'
import type { Redemption } from './single-sign-on.ts'

/** Time before its expiry at which a token is replaced: longer than a call waits for its turn. */
const RENEW_BEFORE_MS = 30_000

/** Credentials that the sign-in page collects. */
type PasswordSignIn = Pick<
  SignInRequest_PasswordCredentials,
  'username' | 'password' | 'passcode' | 'recoveryCode'
>

/**
 * The session of this browser. The access token is only in this object, so that neither another
 * page nor a later visitor finds it. The refresh token is in a cookie that no script can read.
 */
export class Session {
  /** The signed-in user; undefined for none. */
  user: User | undefined
  /** Whether a session has ended without the user's doing. */
  hasEnded = false
  readonly #auth: Client<typeof AuthService>
  readonly #onChange: () => void
  #token: { readonly text: string; readonly expiresAtMs: number } | undefined
  #renewal: Promise<void> | undefined

  /**
   * @param transport without an interceptor of this session.
   * @param onChange called when the user changes.
   */
  constructor(transport: Transport, onChange: () => void) {
    this.#auth = createClient(AuthService, transport)
    this.#onChange = onChange
  }

  /** Continues the session of an earlier page. Nobody is signed in if there is none. */
  async resume(): Promise<void> {
    await this.#renew()
    // A server before the present version has not sent the account along.
    if (!this.#token || this.user) return
    const headers = { authorization: `Bearer ${this.#token.text}` }
    this.#enter((await this.#auth.getCurrentUser({}, { headers })).user)
  }

  async signIn(value: PasswordSignIn): Promise<void> {
    this.#begin(await this.#auth.signIn({ credentials: { case: 'passwordCredentials', value } }))
  }

  /** Signs in by what another provider has answered. */
  async signInBy(value: Redemption): Promise<void> {
    this.#begin(await this.#auth.signIn({ credentials: { case: 'ssoCredentials', value } }))
  }

  async signOut(): Promise<void> {
    await this.#auth.signOut({}).catch((error: unknown) => {
      // The session has ended elsewhere.
      if (!isUnauthenticated(error)) throw error
    })
    this.forget()
  }

  /** Takes over that the session has ended on the server, which has removed the cookie. */
  forget(): void {
    this.#token = undefined
    this.#enter(undefined)
  }

  /** Returns a token that is valid for a while; undefined if nobody is signed in. */
  async token(): Promise<string | undefined> {
    if (this.#token && this.#token.expiresAtMs - RENEW_BEFORE_MS < Date.now()) await this.#renew()
    return this.#token?.text
  }

  /** Takes over what the user has changed in the profile. */
  changeUser(user: User): void {
    this.#enter(user)
  }

  /** Replaces the token, which ends with a change of the password. The session goes on. */
  async renew(): Promise<void> {
    await this.#renew()
  }

  /** Replaces a token that the server has refused, for example after it was ended elsewhere. */
  async replace(refused: string): Promise<string | undefined> {
    if (this.#token?.text === refused) await this.#renew()
    return this.#token?.text
  }

  /** Calls at the same time wait for one renewal. */
  #renew(): Promise<void> {
    this.#renewal ??= this.#refresh().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #refresh(): Promise<void> {
    try {
      const includeUser = this.user === undefined
      const answer = await this.#auth.refreshToken({ includeUser })
      this.#keep(answer.accessToken, answer.expiresAt?.seconds)
      if (answer.user) this.#enter(answer.user)
    } catch (error) {
      // A server that is busy does not end the session.
      if (!isUnauthenticated(error)) throw error
      // Without a cookie, and without a user until now, there was none.
      this.hasEnded ||= this.user !== undefined || failureOf(error).reason === 'BAD_CREDENTIALS'
      this.forget()
    }
  }

  #begin({ user, accessToken, accessTokenExpiresAt }: SignInResponse): void {
    this.hasEnded = false
    this.#keep(accessToken, accessTokenExpiresAt?.seconds)
    this.#enter(user)
  }

  #keep(text: string, expirySeconds = 0n): void {
    this.#token = { text, expiresAtMs: Number(expirySeconds) * 1000 }
  }

  #enter(user: User | undefined): void {
    this.user = user
    this.#onChange()
  }
}

function isUnauthenticated(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unauthenticated
}
