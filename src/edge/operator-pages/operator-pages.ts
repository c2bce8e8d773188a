import type { DescFile } from '@bufbuild/protobuf'
import type { App } from '../../forge/app.ts'
import { actsAsAdministrator } from '../../forge/core/access.ts'
import { answerTo } from '../../platform/http/listener/answers.ts'
import { RETRY_AFTER_SECONDS } from '../../platform/http/listener/limits.ts'
import type { HttpRequest, HttpResponse } from '../../platform/http/requests.ts'
import { authenticate } from '../authentication/authenticate.ts'
import type { PeerOf } from '../authentication/peers.ts'
import { CHALLENGE, toConnectError } from '../errors.ts'
import { constantPage } from './constant-page.ts'
import type { Metrics } from './metrics.ts'
import { schemaPages } from './schema-pages.ts'

/** The port of SSH (RFC 4253, section 4.1), which clients leave out of `known_hosts`. */
const SSH_PORT = 22

/** Pages for operators and tools, by path. */
export type Pages = ReadonlyMap<
  string,
  (request: HttpRequest, response: HttpResponse) => Promise<void>
>

/** What decides whether this server is ready. */
export interface Readiness {
  /** Returns false once the server is shutting down. */
  readonly serving: () => boolean
  /** Rejects when the database does not answer. */
  readonly checkDatabase: () => Promise<unknown>
  readonly isDiskFull: () => Promise<boolean>
  /** Whether the object storage does not answer. Only calls about files need the storage. */
  readonly isStorageAway: () => boolean
}

/** Sources of the pages besides the application. */
interface PageSources extends Readiness {
  readonly metrics: Metrics
  readonly peerOf: PeerOf
  /** Returns the OpenAPI document as text. */
  readonly openApi: () => string
  /** The schema that clients generate code from. */
  readonly schema: readonly DescFile[]
}

/**
 * Creates the pages for liveness, readiness, metrics, the OpenAPI document and the schema.
 *
 * Metrics show the load of an instance. They are for callers on the machine itself and for
 * administrators, whose token Prometheus can send.
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
        else send(response, 200, 'text/plain; charset=utf-8', readyText(sources))
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
    ['/-/known_hosts', async (_request, response) => sendKnownHosts(app, response)],
    ['/openapi.json', constantPage('application/json', sources.openApi)],
    ...schemaPages(sources.schema),
  ])
}

/** Sends the host keys of SSH as lines of `known_hosts` (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). */
function sendKnownHosts({ ssh }: App, response: HttpResponse): void {
  const served = ssh.host()
  if (!served) {
    send(response, 404, 'text/plain; charset=utf-8', 'the server does not serve Git over SSH\n')
    return
  }
  const { host, port, keys } = served
  const name = port === SSH_PORT ? host : `[${host}]:${port}`
  response.setHeader('cache-control', 'public, max-age=300')
  const lines = keys.map(({ type, key }) => `${name} ${type} ${key}\n`)
  send(response, 200, 'text/plain; charset=utf-8', lines.join(''))
}

function readyText({ isStorageAway }: Readiness): string {
  return isStorageAway() ? 'ready\nstorage: away\n' : 'ready\n'
}

/** Returns why this server should get no calls now; undefined if it is ready. */
export async function readinessProblem({
  serving,
  checkDatabase,
  isDiskFull,
}: Readiness): Promise<string | undefined> {
  if (!serving()) return 'shutting down'
  try {
    await checkDatabase()
  } catch {
    return 'the database does not answer'
  }
  return (await isDiskFull()) ? 'the disk is full' : undefined
}

/** A refusal to show metrics. */
interface MetricsRefusal {
  readonly status: 401 | 403 | 429
  /** The header `Retry-After`, or null. */
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
  // Node omits the body of a response to HEAD.
  response.end(body)
}
