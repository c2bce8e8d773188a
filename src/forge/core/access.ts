import { accountHolder, type Holder, peerHolder } from '../../platform/concurrency/holders.ts'
import { DomainError } from './errors.ts'
import type { User } from './schema.ts'
import type { Scopes } from './scopes.ts'

/** The other end of a connection. */
export interface Peer {
  /** IP address, IPv4-mapped IPv6 unwrapped; `unix` for a Unix socket. */
  readonly address: string
  readonly loopback: boolean
  /** The network that connection limits count this peer under; undefined if no limit applies. */
  readonly network?: string | undefined
}

/** The user, or the anonymous client, that makes a call. */
export type Caller = Anonymous | SignedIn

export interface Anonymous {
  readonly kind: 'anonymous'
  readonly peer: Peer
}

export interface SignedIn {
  readonly kind: 'user'
  readonly peer: Peer
  /** The stored row at the time of the call. Role and state never come from a token's claims. */
  readonly user: User
  readonly credential: Credential
  /** The owner of the credential, if an administrator acts as the user. */
  readonly administrator?: User | undefined
}

/** Returns whom the work of a caller counts for where places are shared. */
export function holderOf(caller: Caller): Holder {
  return caller.kind === 'user' ? accountHolder(caller.user.id) : peerHolder(caller.peer.network)
}

/** How a caller authenticated. */
export type Credential =
  | { readonly kind: 'session'; readonly sessionId: string }
  | { readonly kind: 'password' }
  /** A reverse proxy that the operator trusts named the user. */
  | { readonly kind: 'proxy' }
  /**
   * The user scheduled this work in an earlier call. Scopes and UUID are those of the token used in
   * that call, if any.
   */
  | {
      readonly kind: 'scheduled'
      readonly scopes: Scopes | undefined
      readonly uuid?: string | undefined
    }
  /** A key of an account. `keyId`: row of the public key; undefined for a certificate. */
  | { readonly kind: 'ssh key'; readonly keyId: number | undefined }
  /**
   * A deploy key pushes in the name of the owner of its repository. `keyId`: row of the public key.
   * `id`: row of the key in the repository.
   */
  | { readonly kind: 'deploy key'; readonly keyId: number; readonly id: number }
  | {
      readonly kind: 'token'
      readonly uuid: string
      readonly scopes: Scopes
      /** Whether the user granted the token to an application by OAuth 2.0. */
      readonly isDelegated?: boolean
    }

/** Narrows a caller that the access rule of a method has admitted to a signed-in caller. */
export function signedIn(caller: Caller): SignedIn {
  if (caller.kind === 'anonymous') throw new DomainError('UNAUTHENTICATED')
  return caller
}

/**
 * Returns the caller for work that a user scheduled in an earlier call.
 *
 * @param scopes what `scopesOf` returned in that call.
 * @param uuid what `tokenUuidOf` returned in that call.
 */
export function onBehalfOf(user: User, scopes?: Scopes, uuid?: string): SignedIn {
  return {
    kind: 'user',
    user,
    credential: { kind: 'scheduled', scopes, uuid },
    peer: { address: '', loopback: true },
  }
}

/**
 * Returns the UUID of the access token that the caller uses, or used to schedule the work;
 * undefined for other credentials.
 */
export function tokenUuidOf({ credential }: SignedIn): string | undefined {
  return 'uuid' in credential ? credential.uuid : undefined
}

/** Returns the scopes of the credential; undefined if it has no limits, like a session. */
export function scopesOf({ credential }: SignedIn): Scopes | undefined {
  return 'scopes' in credential ? credential.scopes : undefined
}

/** Returns whether the caller is an administrator whose credential has the matching scope. */
export function actsAsAdministrator(caller: Caller, level: 'read' | 'write'): boolean {
  return (
    caller.kind === 'user' && caller.user.role === 'ADMIN' && holdsScope(caller, `${level}:admin`)
  )
}

/** Returns whether the credential includes a scope. */
export function holdsScope(caller: SignedIn, scope: string): boolean {
  return scopesOf(caller)?.includes(scope) ?? true
}

/**
 * Checks a scope that depends on what the caller asks for, so that the access rule of the method
 * cannot name the scope.
 *
 * @throws SCOPE_MISSING for a token without the scope.
 */
export function requireScope(caller: Caller, scope: string): void {
  if (caller.kind === 'user' && !holdsScope(caller, scope))
    throw new DomainError('SCOPE_MISSING', { scope })
}

/** Returns whether the caller's credential is restricted to public data. */
export function seesPublicDataOnly(caller: Caller): boolean {
  return caller.kind === 'user' && scopesOf(caller)?.publicOnly === true
}

/**
 * Prevents a caller with a public-only token from making something private, which the token could
 * then no longer see.
 */
export function checkSeesPrivate(caller: Caller): void {
  if (seesPublicDataOnly(caller)) throw new DomainError('PUBLIC_ONLY_TOKEN')
}
