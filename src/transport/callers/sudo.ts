import { type ContextKey, createContextKey } from '@connectrpc/connect'
import type { HttpRequest } from '../http/requests.ts'

/** The account that a REST request asks to act as by its query; undefined where there is none. */
export const sudoQueryKey: ContextKey<string | undefined> = createContextKey<string | undefined>(
  undefined,
  {
    description: 'sudo of the query',
  },
)

/**
 * The parameter `sudo` of a REST request, which clients of compatible systems use in place of the
 * header; undefined where it is missing or empty. Several with different names are joined to one
 * that no account has.
 */
export function sudoOfQuery({ url = '' }: HttpRequest): string | undefined {
  const start = url.indexOf('?')
  if (start < 0) return undefined
  return joined(new URLSearchParams(url.slice(start)).getAll('sudo'))
}

/**
 * The account that a call asks to act as, by the header `Sudo` or by its query; undefined for none.
 */
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
