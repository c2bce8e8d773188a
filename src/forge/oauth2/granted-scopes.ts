import { DomainError } from '../core/errors.ts'
import { SCOPES, Scopes } from '../core/scopes.ts'

/** Scopes of OpenID Connect: what an application learns about the user. They permit no call. */
const IDENTITY_SCOPES: readonly string[] = ['openid', 'profile', 'email', 'groups']

/** Scopes that OpenID Connect defines and that change nothing here. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['offline_access', 'address', 'phone'])

/**
 * Scopes that CI systems request because another forge has them, such as Drone by default, and the
 * scopes that permit the same here.
 */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  repo: 'write:repository',
  public_repo: 'write:repository',
  'repo:status': 'write:repository',
  'admin:repo_hook': 'write:repository',
  'write:repo_hook': 'write:repository',
  'read:repo_hook': 'read:repository',
  user: 'write:user',
  'user:email': 'read:user',
  'read:org': 'read:organization',
  'write:org': 'write:organization',
  'admin:org': 'write:organization',
}

/**
 * Returns the scopes of an authorization request in their canonical order.
 *
 * A request without scopes asks for everything, as the clients of compatible systems expect. A
 * request with scopes of OpenID Connect only asks for no access.
 *
 * @param text scopes, separated by spaces.
 * @throws INVALID_SCOPE
 */
export function readRequestedScopes(text: string): readonly string[] {
  const named = text.split(' ').filter((name) => name !== '' && !WITHOUT_EFFECT.has(name))
  const names = named.map((name) => (Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : name))
  const identity = IDENTITY_SCOPES.filter((name) => names.includes(name))
  const access = names.filter((name) => name !== undefined && !IDENTITY_SCOPES.includes(name))
  if (access.length === 0 && identity.length > 0) return identity
  return [...identity, ...Scopes.parse(access.filter((name) => name !== undefined)).names]
}

/**
 * Returns the scopes of a request for narrower tokens.
 *
 * @param granted scopes that the request may name, separated by spaces.
 * @throws INVALID_SCOPE for a scope that was not granted.
 */
export function readNarrowerScopes(text: string, granted: string): readonly string[] {
  const wanted = readRequestedScopes(text)
  if (!areCovered(wanted, granted)) throw new DomainError('INVALID_SCOPE', { scope: '' })
  return wanted
}

/**
 * Returns whether what was granted includes every scope, and every restriction remains.
 *
 * @param granted scopes, separated by spaces.
 */
export function areCovered(wanted: readonly string[], granted: string): boolean {
  const identity = granted.split(' ')
  if (wanted.some((name) => IDENTITY_SCOPES.includes(name) && !identity.includes(name)))
    return false
  const [asked, held] = [Scopes.fromText(wanted.join(' ')), Scopes.fromText(granted)]
  if (asked.names.length === 0) return true
  return asked.firstOutside(held) === undefined && (asked.publicOnly || !held.publicOnly)
}

/** All scopes that a request may name, but for other names. */
export const SUPPORTED_SCOPES: readonly string[] = [...IDENTITY_SCOPES, ...SCOPES]
