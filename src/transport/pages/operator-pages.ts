import type { DescFile } from '@bufbuild/protobuf'
import type { App } from '../../domain/app.ts'
import { actsAsAdministrator } from '../../domain/core/access.ts'
import { authenticate } from '../callers/authenticate.ts'
import type { PeerOf } from '../callers/peers.ts'
import { CHALLENGE, toConnectError } from '../errors/index.ts'
import type { HttpRequest, HttpResponse } from '../http/requests.ts'
import { answerTo } from '../listener/answers.ts'
import { RETRY_AFTER_SECONDS } from '../listener/limits.ts'
import { constantPage } from './constant-page.ts'
import type { Metrics } from './metrics.ts'
import { schemaPages } from './schema-pages.ts'

/** The pages that are no RPCs, by path. */
export type Pages = ReadonlyMap<
  string,
  (request: HttpRequest, response: HttpResponse) => Promise<void>
>

/** What the pages need beside the application. */
export interface PageSources {
  readonly metrics: Metrics
  readonly peerOf: PeerOf
  /** Whether the server takes calls: false once it is shutting down. */
  readonly serving: () => boolean
  /** Resolves when the database answers. */
  readonly checkDatabase: () => Promise<unknown>
  /** The OpenAPI document, as text. */
  readonly openApi: () => string
  /** The schema, for those who generate code from it. */
  readonly schema: readonly DescFile[]
}

/**
 * The pages for operators and tools: liveness, readiness, metrics, the OpenAPI document and the
 * schema.
 *
 * Metrics tell how busy an instance is and with what. They are for callers on the machine itself
 * and for administrators, whose token Prometheus can send.
 */
export function operatorPages(app: App, sources: PageSources): Pages {
  return new Map([
    [
      '/healthz',
      async (_request, response) => send(response, 200, 'text/plain; charset=utf-8', 'ok\n'),
    ],
    [
      '/readyz',
      async (_request, response) => {
        const problem = await readinessProblem(sources)
        if (problem) send(response, 503, 'text/plain; charset=utf-8', `${problem}\n`)
        else send(response, 200, 'text/plain; charset=utf-8', 'ready\n')
      },
    ],
    [
      '/metrics',
      async (request, response) => {
        const refused = await metricsRefusal(app, request, sources.peerOf)
        if (answerTo(request)?.fullBound()) {
          response.setHeader('retry-after', RETRY_AFTER_SECONDS)
          send(
            response,
            429,
            'text/plain; charset=utf-8',
            'read earlier answers of the server first\n',
          )
        } else if (refused === undefined) {
          send(response, 200, sources.metrics.contentType, await sources.metrics.print())
        } else {
          const { status, retryAfter } = refused
          if (retryAfter !== null) response.setHeader('retry-after', retryAfter)
          send(response, status, 'text/plain; charset=utf-8', 'metrics are for administrators\n')
        }
      },
    ],
    ['/openapi.json', constantPage('application/json', sources.openApi)],
    ...schemaPages(sources.schema),
  ])
}

async function readinessProblem({
  serving,
  checkDatabase,
}: PageSources): Promise<string | undefined> {
  if (!serving()) return 'shutting down'
  try {
    await checkDatabase()
    return undefined
  } catch {
    return 'the database does not answer'
  }
}

/** Why metrics are not shown. */
interface MetricsRefusal {
  readonly status: 401 | 403 | 429
  /** `Retry-After`, where there is something to wait for. */
  readonly retryAfter: string | null
}

async function metricsRefusal(
  app: App,
  request: HttpRequest,
  peerOf: PeerOf,
): Promise<MetricsRefusal | undefined> {
  const peer = peerOf(request)
  const { authorization } = request.headers
  if (peer.loopback && authorization === undefined) return undefined
  try {
    const headers = new Headers(authorization === undefined ? {} : { authorization })
    const caller = await authenticate(app, headers, peer)
    if (caller.kind === 'anonymous') return { status: 401, retryAfter: null }
    return actsAsAdministrator(caller, 'read') ? undefined : { status: 403, retryAfter: null }
  } catch (error) {
    const retryAfter = toConnectError(error).metadata.get('retry-after')
    return { status: retryAfter === null ? 401 : 429, retryAfter }
  }
}

function send(response: HttpResponse, status: number, contentType: string, body: string): void {
  response.statusCode = status
  response.setHeader('content-type', contentType)
  response.setHeader('content-length', Buffer.byteLength(body))
  response.setHeader('cache-control', 'no-store')
  response.setHeader('x-content-type-options', 'nosniff')
  if (status === 401) response.setHeader('www-authenticate', CHALLENGE)
  // Node leaves the body out of an answer to HEAD.
  response.end(body)
}
