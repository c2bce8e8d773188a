import type { User } from '../../storage/schema/accounts.ts'
import { DomainError } from './errors.ts'
import type { Scopes } from './scopes.ts'

/** The other end of the connection that a call came over. */
export interface Peer {
  /** IP address, IPv4-mapped IPv6 unwrapped; `unix` for a Unix socket. */
  readonly address: string
  readonly loopback: boolean
  /** The network by which limits count this peer; undefined for one that no limit counts. */
  readonly network?: string | undefined
}

/** Who makes a call. */
export type Caller = Anonymous | SignedIn

export interface Anonymous {
  readonly kind: 'anonymous'
  readonly peer: Peer
}

export interface SignedIn {
  readonly kind: 'user'
  readonly peer: Peer
  /** As stored at this moment: role and state are never taken from a token's claims. */
  readonly user: User
  readonly credential: Credential
  /** Whose credential that is, where an administrator acts as the user. */
  readonly administrator?: User | undefined
}

/** How a caller proved who they are. */
export type Credential =
  | { readonly kind: 'session'; readonly sessionId: string }
  | { readonly kind: 'password' }
  /** A reverse proxy that the operator trusts said so. */
  | { readonly kind: 'proxy' }
  /**
   * In a call before, which left something to be done later: by a token with these scopes, if by
   * one.
   */
  | {
      readonly kind: 'order'
      readonly scopes: Scopes | undefined
      readonly uuid?: string | undefined
    }
  | { readonly kind: 'token'; readonly uuid: string; readonly scopes: Scopes }

/**
 * Narrows a caller whom the access rule of the method has let through as signed in.
 *
 * @throws UNAUTHENTICATED
 */
export function signedIn(caller: Caller): SignedIn {
  if (caller.kind === 'anonymous') throw new DomainError('UNAUTHENTICATED')
  return caller
}

/**
 * An account as the caller that it was when it left something to be done later.
 *
 * @param scopes what `scopesOf` gave then.
 * @param uuid what `tokenUuidOf` gave then.
 */
export function onBehalfOf(user: User, scopes?: Scopes, uuid?: string): SignedIn {
  return {
    kind: 'user',
    user,
    credential: { kind: 'order', scopes, uuid },
    peer: { address: '', loopback: true },
  }
}

/**
 * The access token that the caller uses, or used when something was left to be done later;
 * undefined for another credential.
 */
export function tokenUuidOf({ credential }: SignedIn): string | undefined {
  return credential.kind === 'token' || credential.kind === 'order' ? credential.uuid : undefined
}

/**
 * What the credential is limited to; undefined for one without limits, as sessions and passwords
 * are.
 */
export function scopesOf({ credential }: SignedIn): Scopes | undefined {
  return credential.kind === 'token' || credential.kind === 'order' ? credential.scopes : undefined
}

/**
 * Whether the caller acts with the powers of an administrator: by role, and by scope where a token
 * is used.
 */
export function actsAsAdministrator(caller: Caller, level: 'read' | 'write'): boolean {
  return (
    caller.kind === 'user' && caller.user.role === 'ADMIN' && holdsScope(caller, `${level}:admin`)
  )
}

/** Whether the credential carries a scope. */
export function holdsScope(caller: SignedIn, scope: string): boolean {
  return scopesOf(caller)?.includes(scope) ?? true
}

/** Whether the caller's credential is restricted to public data. */
export function seesPublicDataOnly(caller: Caller): boolean {
  return caller.kind === 'user' && scopesOf(caller)?.publicOnly === true
}

/**
 * Lets nobody make private what they could not see any more.
 *
 * @throws PUBLIC_ONLY_TOKEN
 */
export function checkSeesPrivate(caller: Caller): void {
  if (seesPublicDataOnly(caller)) throw new DomainError('PUBLIC_ONLY_TOKEN')
}
