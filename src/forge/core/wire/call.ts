import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect'
import type { Caller } from '../access.ts'
import type { User } from '../schema.ts'

/** The caller. Set on every call before its handler runs. */
export const callerKey: ContextKey<Caller | undefined> = createContextKey<Caller | undefined>(
  undefined,
  {
    description: 'caller',
  },
)

/** The account that the request names. Set on methods whose access rule has an owner. */
export const ownerKey: ContextKey<User | undefined> = createContextKey<User | undefined>(
  undefined,
  {
    description: 'owner',
  },
)

/**
 * Looks up the account that a trusted reverse proxy names; undefined when the proxy names none. Set
 * on methods that start sessions, where it replaces credentials in the request.
 */
export const proxyUserKey: ContextKey<() => Promise<User | undefined>> = createContextKey(
  async () => undefined,
  {
    description: 'proxy user',
  },
)

/** Whether the request used HTTPS. */
export const secureKey: ContextKey<boolean> = createContextKey(false, { description: 'secure' })

/**
 * The HTTP status of a successful REST call, where it depends on the call. Ignored by the RPC
 * protocols.
 */
export const restStatusKey: ContextKey<number | undefined> = createContextKey<number | undefined>(
  undefined,
  {
    description: 'REST status',
  },
)

/** Returns the caller. */
export function callerOf(context: Pick<HandlerContext, 'values'>): Caller {
  const caller = context.values.get(callerKey)
  if (!caller) throw new Error('the call was not authenticated before its handler ran')
  return caller
}

/**
 * Returns the account that the request names. The access rule has checked that the caller may use
 * it.
 */
export function ownerOf(context: Pick<HandlerContext, 'values'>): User {
  const owner = context.values.get(ownerKey)
  if (!owner) throw new Error('the access rule of the method names no owner')
  return owner
}

/** Returns the account that a trusted reverse proxy names, or undefined. */
export function proxyUserOf(context: Pick<HandlerContext, 'values'>): Promise<User | undefined> {
  return context.values.get(proxyUserKey)()
}

/** Returns whether the request used HTTPS. */
export function secureOf(context: Pick<HandlerContext, 'values'>): boolean {
  return context.values.get(secureKey)
}
