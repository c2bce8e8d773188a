import { type ContextKey, createContextKey } from '@connectrpc/connect'
import type { HttpRequest } from '../../platform/http/requests.ts'

/** The account to act as, from the query of a REST request; undefined without one. */
export const sudoQueryKey: ContextKey<string | undefined> = createContextKey<string | undefined>(
  undefined,
  {
    description: 'sudo of the query',
  },
)

/**
 * Returns the parameter `sudo` of a REST request, which clients of compatible systems use instead
 * of the header; undefined when it is missing or empty. Different names are joined to one that no
 * account has.
 */
export function sudoOfQuery({ url = '' }: HttpRequest): string | undefined {
  const start = url.indexOf('?')
  if (start < 0) return undefined
  return joined(new URLSearchParams(url.slice(start)).getAll('sudo'))
}

/** Returns the account to act as, from the header `Sudo` or the query; undefined without one. */
export function wantedAccount(
  header: Pick<Headers, 'get'>,
  query: string | undefined,
): string | undefined {
  return joined([header.get('sudo') ?? '', query ?? ''])
}

function joined(names: readonly string[]): string | undefined {
  const distinct = new Set(names.map((name) => name.trim().toLowerCase()))
  distinct.delete('')
  return distinct.size === 0 ? undefined : [...distinct].join(',')
}
