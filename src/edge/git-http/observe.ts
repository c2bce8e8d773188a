import type { Logger } from 'pino'
import { requestIdOf } from '../../platform/http/requests.ts'
import type { PeerOf } from '../authentication/peers.ts'
import type { Metrics } from '../operator-pages/metrics.ts'
import type { GitHttpOptions } from './index.ts'

/**
 * Creates the observer of Git requests, which counts and logs each. As for calls, changes and
 * refusals are logged at level info, reads at level debug.
 */
export function observeGit(
  log: Logger,
  metrics: Metrics,
  peerOf: PeerOf,
): GitHttpOptions['observe'] {
  return ({ request, route, user, status, isComplete, durationMs }) => {
    const target = 'target' in route ? route.target : undefined
    const service = target?.service ?? 'none'
    metrics.countGitRequest(service, status, durationMs)
    const isPush = route.kind === 'request' && service === 'git-receive-pack'
    const isRefused = status >= 400 && status !== 401
    log[isPush || isRefused ? 'info' : 'debug']({
      request_id: requestIdOf(request.headers),
      git: route.kind === 'request' ? service : `refs for ${service}`,
      repository: target && `${target.owner}/${target.name}`,
      status,
      cut_off: isComplete ? undefined : true,
      duration_ms: Math.round(durationMs * 1000) / 1000,
      peer: peerOf(request).address,
      user,
    })
  }
}
