import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect'
import type { User } from '../../domain/accounts/users/users.ts'
import type { Caller } from '../../domain/core/access.ts'

/** Who makes the call. Set on every call before its handler runs. */
export const callerKey: ContextKey<Caller | undefined> = createContextKey<Caller | undefined>(
  undefined,
  {
    description: 'caller',
  },
)

/** The account that the request names, on methods whose access rule has an owner. */
export const ownerKey: ContextKey<User | undefined> = createContextKey<User | undefined>(
  undefined,
  {
    description: 'owner',
  },
)

/**
 * Looks up the account that a trusted reverse proxy names; undefined when none does. Set on methods
 * that start sessions, for which it stands in for what they ask for else.
 */
export const proxyUserKey: ContextKey<() => Promise<User | undefined>> = createContextKey(
  async () => undefined,
  {
    description: 'proxy user',
  },
)

/** Whether the request came over https. */
export const secureKey: ContextKey<boolean> = createContextKey(false, { description: 'secure' })

/** Status of success over REST where it depends on the call. The RPC protocols have none. */
export const restStatusKey: ContextKey<number | undefined> = createContextKey<number | undefined>(
  undefined,
  {
    description: 'REST status',
  },
)

/** Who makes the call. */
export function callerOf(context: Pick<HandlerContext, 'values'>): Caller {
  const caller = context.values.get(callerKey)
  if (!caller) throw new Error('the call was not authenticated before its handler ran')
  return caller
}

/** The account that the request names, existing and open to the caller. */
export function ownerOf(context: Pick<HandlerContext, 'values'>): User {
  const owner = context.values.get(ownerKey)
  if (!owner) throw new Error('the access rule of the method names no owner')
  return owner
}

/**
 * The account that a trusted reverse proxy names; undefined when none does.
 *
 * @throws BAD_CREDENTIALS, CROSS_SITE_REQUEST
 */
export function proxyUserOf(context: Pick<HandlerContext, 'values'>): Promise<User | undefined> {
  return context.values.get(proxyUserKey)()
}

/** Whether the request came over https. */
export function secureOf(context: Pick<HandlerContext, 'values'>): boolean {
  return context.values.get(secureKey)
}
