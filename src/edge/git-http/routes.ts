import type { GitService, GitTarget } from './git-access.ts'

/** A Git request, by its path and query (gitprotocol-http(5)). */
export type GitRoute =
  /** The list of refs. */
  | { readonly kind: 'advertisement'; readonly target: GitTarget }
  /** A request to a service. */
  | { readonly kind: 'request'; readonly target: GitTarget }
  /** A Git path without a known service. Clients of the dumb protocol name none. */
  | { readonly kind: 'unknown service' }
  /** A request to Git LFS, which the server does not have. */
  | { readonly kind: 'lfs' }

const PATH = /^\/([^/]+)\/([^/]+)\/(info\/refs|git-upload-pack|git-receive-pack)$/

const LFS_PATH = /^\/[^/]+\/[^/]+\/info\/lfs(?:\/|$)/

const SERVICES: readonly string[] = ['git-upload-pack', 'git-receive-pack'] satisfies GitService[]

/**
 * Reads a request target. Returns undefined when the path is not a Git path.
 *
 * @param url path and query, as in the request line.
 */
export function readGitRoute(url: string): GitRoute | undefined {
  const queryStart = url.indexOf('?')
  const path = queryStart < 0 ? url : url.slice(0, queryStart)
  if (LFS_PATH.test(path)) return { kind: 'lfs' }
  const [, owner, repository, endpoint] = PATH.exec(path) ?? []
  if (owner === undefined || repository === undefined || endpoint === undefined) return undefined
  const name = repository.replace(/\.git$/i, '')
  if (endpoint !== 'info/refs') {
    // The pattern allows no other value.
    return { kind: 'request', target: { owner, name, service: endpoint as GitService } }
  }
  const services = new URLSearchParams(queryStart < 0 ? '' : url.slice(queryStart)).getAll(
    'service',
  )
  const [service = ''] = services
  if (services.length !== 1 || !isService(service)) return { kind: 'unknown service' }
  return { kind: 'advertisement', target: { owner, name, service } }
}

function isService(text: string): text is GitService {
  return SERVICES.includes(text)
}
