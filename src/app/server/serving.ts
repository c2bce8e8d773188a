import { setMaxListeners } from 'node:events'
import type { Socket } from 'node:net'
import { createRegistry, type DescMethod } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node'
import { file_branchline_v1_error_reason } from '#gen/branchline/v1/error_reason_pb.ts'
import { comments } from '#gen/comments.ts'
import { failures } from '#gen/failures.ts'
import { file_google_rpc_code } from '#gen/google/rpc/code_pb.ts'
import { file_google_rpc_error_details } from '#gen/google/rpc/error_details_pb.ts'
import { file_google_rpc_status } from '#gen/google/rpc/status_pb.ts'
import { Health } from '#gen/health/v1/health_pb.ts'
import { file_rest_v1_rest } from '#gen/rest/v1/rest_pb.ts'
import { accessInterceptor, accessProblems } from '../../edge/authentication/access-rules.ts'
import { createPeers, type Peers } from '../../edge/authentication/peers.ts'
import { createProxySignIn, type ProxySignIn } from '../../edge/authentication/proxy-sign-in.ts'
import { contextValuesOf } from '../../edge/call-limits/context-values.ts'
import {
  answerRoomInterceptor,
  deadlineInterceptor,
  readingInterceptor,
  roomFor,
  streamRoomInterceptor,
} from '../../edge/call-limits/limits.ts'
import { observeInterceptor } from '../../edge/call-limits/observation.ts'
import { answerHeaders, createDispatch } from '../../edge/dispatch.ts'
import { explainError, restStatusOf } from '../../edge/errors.ts'
import { authorizeGit } from '../../edge/git-http/authorize.ts'
import { createGitHttp, gitHttpLimits } from '../../edge/git-http/index.ts'
import { observeGit } from '../../edge/git-http/observe.ts'
import { createGitLfs } from '../../edge/git-lfs/index.ts'
import { createHealth } from '../../edge/grpc/health.ts'
import { registerReflection } from '../../edge/grpc/reflection.ts'
import { createOAuth2 } from '../../edge/oauth2/index.ts'
import { createOpenApi } from '../../edge/openapi/index.ts'
import { createGoImport } from '../../edge/operator-pages/go-import.ts'
import { createMetrics, type Metrics, metricOf } from '../../edge/operator-pages/metrics.ts'
import {
  operatorPages,
  type Readiness,
  readinessProblem,
} from '../../edge/operator-pages/operator-pages.ts'
import { createUnsubscribePage } from '../../edge/unsubscribe.ts'
import { readWebBundle } from '../../edge/web-shell/bundle.ts'
import { createWebPages } from '../../edge/web-shell/index.ts'
import type { App } from '../../forge/app.ts'
import { VERSION } from '../../forge/core/version.ts'
import {
  bytesByKind,
  countDueMaintenance,
} from '../../forge/repositories/maintenance/maintenance-requests.ts'
import { waitingIndexes } from '../../forge/repositories/search/code-index-checks.ts'
import { registerServices, services } from '../../forge/service-registry.ts'
import type { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import { checkDatabase } from '../../platform/database/database.ts'
import { databaseBytes } from '../../platform/database/maintenance.ts'
import { packCacheFigures } from '../../platform/git/packs/pack-cache.ts'
import { createCors } from '../../platform/http/cors.ts'
import { type Listener, listen } from '../../platform/http/listener/index.ts'
import type { HttpRequest } from '../../platform/http/requests.ts'
import type { RequestFigures } from '../../platform/objects/s3/s3-client.ts'
import { createRpc, type Rpc } from '../../platform/rpc/index.ts'
import type { Config } from '../config.ts'
import type { WorkerSurroundings } from './primary-process.ts'

/** The schemas of all services. */
const SERVICES = [...services.map(({ descriptor }) => descriptor), Health]

/** The types of error details, which no method names. Reflection has to offer them too. */
const ERROR_DETAIL_FILES = [
  file_google_rpc_error_details,
  file_branchline_v1_error_reason,
  file_rest_v1_rest,
]

/** The schema that clients generate code from, without health and reflection. */
const SCHEMA_FILES = [
  ...services.map(({ descriptor }) => descriptor.file),
  ...ERROR_DETAIL_FILES,
  file_google_rpc_code,
  file_google_rpc_status,
]

/** What the listener shares with other parts of the server. */
interface ListenerSurroundings {
  /** Gets the URL of the listener when it is empty. */
  readonly base: { url: string }
  /** Of Git requests, which Git over SSH shares. */
  readonly slots: FairSlots
  /** Slots of transfers of Git LFS, over HTTP and SSH together. */
  readonly lfsSlots: FairSlots
  /** The requests to the object storage. */
  readonly figures: RequestFigures
  /** Takes connections of SSH. */
  readonly onSsh: ((socket: Socket, begun: Buffer) => void) | undefined
}

/**
 * Starts the listener with all protocols, and adds it to `parts`.
 *
 * @param workers set where the server is one of several worker processes.
 * @returns the URL of the listener, the metrics, and what reports that the server is not ready any more.
 */
export async function serve(
  config: Config,
  app: App,
  { base, slots, lfsSlots, figures, onSsh }: ListenerSurroundings,
  parts: StartedParts,
  workers?: WorkerSurroundings,
): Promise<{
  readonly url: string
  readonly metrics: Metrics
  readonly announceStop: () => void
  readonly leave: () => void
}> {
  const shutdown = new AbortController()
  // Every call in flight listens. Node's warning about many listeners would be about many clients.
  setMaxListeners(0, shutdown.signal)
  let serving = true
  let listener: Listener | undefined

  const metrics = metricsOf(app, figures, () => listener?.figures(), workers)
  const readiness: Readiness = {
    serving: () => serving,
    checkDatabase: () => checkDatabase(app.db),
    isDiskFull: () => app.disk.isFull(),
    isStorageAway: () => app.objects.current.isAway,
  }
  const health = createHealth(
    SERVICES.map(({ typeName }) => typeName),
    async () => (await readinessProblem(readiness)) === undefined,
  )
  const trustedOrigins = () => [new URL(app.publicUrl()).origin, ...config.corsOrigins]
  const peers = createPeers({ ...config, publicUrl: app.publicUrl })
  const proxy =
    config.proxyAuth && createProxySignIn(app, { ...config, ...config.proxyAuth }, trustedOrigins)
  const protocols = createProtocols(config, app, {
    metrics,
    health,
    peers,
    proxy,
    shutdownSignal: shutdown.signal,
  })
  const served = {
    ...{ metrics, readiness, peers, protocols, slots, lfsSlots },
    trustedOrigins,
    proxy,
  }
  const destinations = await destinationsOf(config, app, served)
  listener = await listen({
    ...config.listen,
    ...(config.tls && { tls: config.tls }),
    passed: workers?.connections,
    handler: createDispatch(destinations, app.log),
    onSsh,
    limits: { limitLoopback: config.limitLoopback, uncountedAddresses: config.trustedProxies },
    networkOf: (request) => peers.peerOf(request).network,
    onConnectionError: (err: unknown) => app.log.debug({ err }, 'a connection failed'),
  })
  const { url, close, leave } = listener
  const announceStop = () => {
    serving = false
    health.setServing(false)
  }
  parts.add(async (graceMs) => {
    announceStop()
    shutdown.abort(new ConnectError('the server is stopping', Code.Unavailable))
    await close(graceMs)
    metrics.stop()
  })
  // Without the default port of the scheme, as clients write the address.
  base.url ||= new URL(url).origin
  health.setServing(true)
  return { url, metrics, announceStop, leave }
}

/** What the destinations of requests need. */
interface Served extends Pick<ListenerSurroundings, 'slots' | 'lfsSlots'> {
  readonly metrics: Metrics
  readonly readiness: Readiness
  readonly peers: ReturnType<typeof createPeers>
  readonly protocols: ReturnType<typeof createProtocols>
  readonly trustedOrigins: () => string[]
  readonly proxy: ReturnType<typeof createProxySignIn> | undefined
}

/** Returns what answers the requests of the listener. */
async function destinationsOf(config: Config, app: App, served: Served) {
  const { metrics, readiness, peers, protocols, slots, lfsSlots, trustedOrigins, proxy } = served
  const { peerOf } = peers
  const pages = operatorPages(app, {
    metrics,
    peerOf,
    ...readiness,
    openApi: () => printOpenApi(config, app, protocols),
    schema: SCHEMA_FILES,
  })
  const bundle = config.webFolder === undefined ? undefined : await readWebBundle(config.webFolder)
  return {
    cors: createCors(trustedOrigins),
    pages,
    unsubscribe: createUnsubscribePage(app),
    oauth2: createOAuth2(app, { peers, publicSecure: isPublicSecure(config) }),
    git: createGitHttp({
      authorize: authorizeGit(app, peerOf),
      log: app.log,
      slots,
      observe: observeGit(app.log, metrics, peerOf),
      limits: gitHttpLimits(config.settings.maxPushBytes),
    }),
    lfs: createGitLfs({ app, peerOf, slots: lfsSlots, metrics }),
    goImport: createGoImport(app.publicUrl),
    web: bundle && createWebPages(app, { bundle, peerOf, proxySignsIn: proxy !== undefined }),
    ...protocols.handlers(),
  }
}

/** Returns the figures of the server, of all its processes. */
function metricsOf(
  app: App,
  figures: RequestFigures,
  ofListener: Parameters<typeof createMetrics>[0],
  workers: WorkerSurroundings | undefined,
): Metrics {
  const metrics = createMetrics(ofListener, () => databaseBytes(app.db), workers?.metrics, {
    codeIndex: () => waitingIndexes(app),
    maintenance: {
      get steps() {
        return app.maintenance.figures.all
      },
      due: () => countDueMaintenance(app),
      bytes: () => bytesByKind(app),
    },
    objectStorage: {
      isAway: () => app.objects.current.isAway,
      requests: () => figures.all,
    },
    packCache: () => packCacheFigures(app.git),
    quotaRefusals: () => app.quotaRefusals.all,
  })
  app.metrics.onRead(async () => (await metrics.read()).map(metricOf))
  return metrics
}

/** Returns whether browsers reach this server by https. */
function isPublicSecure({ publicUrl }: Config): boolean {
  return publicUrl?.startsWith('https:') ?? false
}

/** Returns the OpenAPI document, which takes as long to create as a tenth of the start. */
function printOpenApi(config: Config, app: App, protocols: Rpc<HttpRequest>): string {
  const bindings = protocols.routes().map(({ binding }) => binding)
  return JSON.stringify(
    createOpenApi(bindings, {
      comments,
      failures,
      statusOf: restStatusOf,
      title: 'Branchline',
      version: VERSION,
      publicUrl: app.publicUrl(),
      isPrivateInstance: config.settings.privateInstance,
    }),
  )
}

/** State that the handlers of calls share with the rest of the server. */
interface ProtocolParts {
  readonly metrics: Metrics
  readonly health: ReturnType<typeof createHealth>
  readonly peers: Peers
  readonly proxy: ProxySignIn | undefined
  /** Aborts calls in flight when the server stops. */
  readonly shutdownSignal: AbortSignal
}

/** Registers all services with gRPC, gRPC-Web, Connect and REST. */
function createProtocols(
  config: Config,
  app: App,
  { metrics, health, peers, proxy, shutdownSignal }: ProtocolParts,
): Rpc<HttpRequest> {
  const publicSecure = isPublicSecure(config)
  const rpc = createRpc<HttpRequest>({
    interceptors: [
      observeInterceptor(app.log, metrics),
      deadlineInterceptor,
      answerRoomInterceptor(isStandard),
      accessInterceptor(app, isStandard, proxy),
      streamRoomInterceptor,
      readingInterceptor(),
    ],
    readMaxBytes: config.maxMessageBytes,
    acceptCompression: [compressionGzip, compressionBrotli],
    shutdownSignal,
    registry: createRegistry(...ERROR_DETAIL_FILES),
    contextValues: (request, protocolName) =>
      contextValuesOf(request, protocolName, peers, publicSecure),
    headers: answerHeaders,
    publicUrl: app.publicUrl,
    completeError: explainError,
    roomFor,
    onError: (err: unknown) => app.log.error({ err }, 'a response failed'),
  })
  registerServices(rpc.router, app)
  rpc.router.service(Health, health.service)
  if (config.reflection) registerReflection(rpc.router, SERVICES, ERROR_DETAIL_FILES)
  checkAccessOptions(rpc.methods())
  return rpc
}

/** Returns whether a method belongs to health or reflection, which are open to everyone. */
function isStandard(method: DescMethod): boolean {
  return method.parent.file.proto.package.startsWith('grpc.')
}

/** @throws Error when a method has no valid access option. */
function checkAccessOptions(methods: readonly DescMethod[]): void {
  const problems = accessProblems(methods.filter((method) => !isStandard(method)))
  if (problems.length > 0) throw new Error(`methods that cannot be served:\n${problems.join('\n')}`)
}

/** Stops a part of the server. `graceMs` is the time that calls in flight have to finish. */
type StopPart = (graceMs: number) => unknown

/**
 * The parts of a server, in the order of their start. A shutdown and a start that fails halfway
 * stop the same list.
 */
export class StartedParts {
  readonly #stops: StopPart[] = []
  #stopped: Promise<void> | undefined

  /** Adds a part that has just been started. */
  add(stop: StopPart): void {
    this.#stops.push(stop)
  }

  /**
   * Stops the parts, the last one first. A part that fails to stop does not prevent the others from
   * stopping. Later calls wait for the first.
   *
   * @throws the first failure, after all parts have stopped.
   */
  stop(graceMs: number): Promise<void> {
    this.#stopped ??= this.#stopAll(graceMs)
    return this.#stopped
  }

  async #stopAll(graceMs: number): Promise<void> {
    const failures: unknown[] = []
    for (const stop of this.#stops.reverse()) {
      try {
        await stop(graceMs)
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
