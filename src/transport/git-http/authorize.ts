import { ConnectError } from '@connectrpc/connect'
import type { App } from '../../domain/app.ts'
import { DomainError } from '../../domain/errors.ts'
import { openGitService } from '../../domain/repos/git-services.ts'
import { authenticate } from '../authenticate.ts'
import { type HttpRequest, peerOf } from '../connection.ts'
import { restStatusOf, toConnectError } from '../errors.ts'
import { codeToHttpStatus } from '../rest/connect-internals.ts'
import type { AuthorizeGit, GitMove, GitRefusal } from './git-access.ts'

/** Decides by the credentials of a request, with the rules that every protocol has. */
export function authorizeGit(app: App): AuthorizeGit {
  return async (request, { owner, name, service }) => {
    try {
      const caller = await authenticate(app, readableHeaders(request), peerOf(request))
      return { outcome: 'granted', start: await openGitService(app, caller, owner, name, service) }
    } catch (error) {
      return refusalOf(error)
    }
  }
}

/** Whatever moved, of the names of a repository. */
const MOVES: ReadonlySet<string> = new Set(['REPOSITORY_MOVED', 'REPOSITORY_OWNER_RENAMED'])

/** @throws what is no refusal. */
function refusalOf(error: unknown): GitRefusal | GitMove {
  if (error instanceof DomainError && MOVES.has(error.reason)) {
    const { owner = '', name = '' } = error.metadata
    return { outcome: 'moved', owner, name }
  }
  if (!(error instanceof DomainError) && !(error instanceof ConnectError)) throw error
  const { code, rawMessage } = toConnectError(error)
  const restStatus = error instanceof DomainError ? restStatusOf(error.reason) : undefined
  return { outcome: 'refused', status: restStatus ?? codeToHttpStatus(code), message: rawMessage }
}

function readableHeaders({ headers }: HttpRequest): Pick<Headers, 'get'> {
  return {
    get(name) {
      const value = headers[name]
      return value === undefined ? null : String(value)
    },
  }
}
