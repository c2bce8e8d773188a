import { ConnectError } from '@connectrpc/connect'
import type { App } from '../../forge/app.ts'
import { DomainError } from '../../forge/core/errors.ts'
import { openGitService } from '../../forge/repositories/refs/git-services.ts'
import type { HttpRequest } from '../../platform/http/requests.ts'
import { codeToHttpStatus } from '../../platform/rpc/exchange/connect-internals.ts'
import { authenticate, sudoOfQuery } from '../authentication/authenticate.ts'
import type { PeerOf } from '../authentication/peers.ts'
import { restStatusOf, toConnectError } from '../errors.ts'
import type { AuthorizeGit, GitMove, GitRefusal } from './git-access.ts'

/** Creates the authorisation of Git requests, by the rules that apply to all protocols. */
export function authorizeGit(app: App, peerOf: PeerOf): AuthorizeGit {
  return async (request, { owner, name, service }) => {
    // Ignoring Sudo would act as the administrator rather than as the named user.
    if (request.headers.sudo !== undefined || sudoOfQuery(request) !== undefined)
      return { outcome: 'refused', status: 403, message: 'Git takes no Sudo.' }
    try {
      const caller = await authenticate(app, readableHeaders(request), peerOf(request))
      const opened = await openGitService(app, caller, { owner, repo: name }, service)
      const user = caller.kind === 'user' ? caller.user.id : undefined
      return { outcome: 'granted', user, network: caller.peer.network, ...opened }
    } catch (error) {
      return refusalOf(error)
    }
  }
}

/** Reasons that name the new place of a repository. */
const MOVES: ReadonlySet<string> = new Set(['REPOSITORY_MOVED', 'REPOSITORY_OWNER_RENAMED'])

/** Refusals that compatible systems word differently for Git users than for clients of the API. */
const REFUSALS: ReadonlyMap<string, Omit<GitRefusal, 'outcome'>> = new Map([
  [
    'REPOSITORY_ARCHIVED',
    {
      status: 403,
      message:
        'This repo is archived. You can view files and clone it, but cannot push or open issues/pull-requests.',
    },
  ],
  ['REPOSITORY_IS_MIRROR', { status: 403, message: 'mirror repository is read-only' }],
  ['REPOSITORY_NOT_FOUND', { status: 404, message: 'Repository not found' }],
])

/**
 * Returns the answer to a request that the rules refuse.
 *
 * @throws the error itself when it is not a refusal.
 */
export function refusalOf(error: unknown): GitRefusal | GitMove {
  if (error instanceof DomainError && MOVES.has(error.reason)) {
    const { owner = '', name = '' } = error.metadata
    return { outcome: 'moved', owner, name }
  }
  if (!(error instanceof DomainError) && !(error instanceof ConnectError)) throw error
  const refusal = error instanceof DomainError ? REFUSALS.get(error.reason) : undefined
  if (refusal) return { outcome: 'refused', ...refusal }
  const { code, rawMessage, metadata } = toConnectError(error)
  const retryAfter = metadata.get('retry-after')
  const restStatus = error instanceof DomainError ? restStatusOf(error.reason) : undefined
  return {
    outcome: 'refused',
    status: restStatus ?? codeToHttpStatus(code),
    message: rawMessage,
    ...(retryAfter !== null && { headers: { 'retry-after': retryAfter } }),
  }
}

/** Returns the headers of a request as calls have them. */
export function readableHeaders({ headers }: HttpRequest): Pick<Headers, 'get'> {
  return {
    get(name) {
      const value = headers[name]
      return value === undefined ? null : String(value)
    },
  }
}
