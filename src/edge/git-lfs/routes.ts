import type { RepositoryName } from '../../forge/core/names.ts'

/** What a path of Git LFS names (git-lfs, docs/api). */
export type LfsEndpoint =
  | { readonly kind: 'batch' }
  | { readonly kind: 'download'; readonly oid: string }
  | { readonly kind: 'upload'; readonly oid: string; readonly bytes: number }
  | { readonly kind: 'verify'; readonly oid: string }
  | { readonly kind: 'list locks' }
  | { readonly kind: 'lock' }
  | { readonly kind: 'verify locks' }
  /** The text of the id, which may be no number. */
  | { readonly kind: 'unlock'; readonly id: string }

/** A request to Git LFS. */
export interface LfsRoute {
  readonly name: RepositoryName
  readonly query: URLSearchParams
  /** Undefined for an unknown path; the methods that a known path takes. */
  readonly endpoint:
    | LfsEndpoint
    | { readonly kind: 'wrong method'; readonly allow: string }
    | undefined
}

const PATH = /^\/([^/]+)\/([^/]+?)(?:\.git)?\/info\/lfs(?:\/(.*))?$/i

interface Endpoint {
  readonly path: RegExp
  readonly methods: string
  readonly read: (groups: readonly string[], method: string) => LfsEndpoint
}

const ENDPOINTS: readonly Endpoint[] = [
  { path: /^objects\/batch$/, methods: 'POST', read: () => ({ kind: 'batch' }) },
  {
    path: /^objects\/([0-9a-f]{64})$/,
    methods: 'GET, HEAD',
    read: ([oid = '']) => ({ kind: 'download', oid }),
  },
  {
    path: /^objects\/([0-9a-f]{64})\/(\d{1,15})$/,
    methods: 'PUT',
    read: ([oid = '', bytes]) => ({ kind: 'upload', oid, bytes: Number(bytes) }),
  },
  {
    path: /^objects\/([0-9a-f]{64})\/verify$/,
    methods: 'POST',
    read: ([oid = '']) => ({ kind: 'verify', oid }),
  },
  {
    path: /^locks$/,
    methods: 'GET, POST',
    read: (_, method) => ({ kind: method === 'GET' ? 'list locks' : 'lock' }),
  },
  { path: /^locks\/verify$/, methods: 'POST', read: () => ({ kind: 'verify locks' }) },
  {
    path: /^locks\/([^/]+)\/unlock$/,
    methods: 'POST',
    read: ([id = '']) => ({ kind: 'unlock', id }),
  },
]

/**
 * Reads a request line. Returns undefined when the path is not one of Git LFS.
 *
 * @param url path and query.
 */
export function readLfsRoute(method: string, url: string): LfsRoute | undefined {
  const [path = '', ...query] = url.split('?')
  const [, owner, repo, rest = ''] = PATH.exec(path) ?? []
  if (owner === undefined || repo === undefined) return undefined
  const route = { name: { owner, repo }, query: new URLSearchParams(query.join('?')) }
  for (const { path: pattern, methods, read } of ENDPOINTS) {
    const groups = pattern.exec(rest)?.slice(1)
    if (!groups) continue
    const isTaken = methods.split(', ').includes(method)
    return {
      ...route,
      endpoint: isTaken ? read(groups, method) : { kind: 'wrong method', allow: methods },
    }
  }
  return { ...route, endpoint: undefined }
}
