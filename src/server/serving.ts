import { setMaxListeners } from 'node:events'
import type { DescMethod } from '@bufbuild/protobuf'
import { createRegistry } from '@bufbuild/protobuf'
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect'
import { compressionBrotli, compressionGzip, connectNodeAdapter } from '@connectrpc/connect-node'
import { file_branchline_rest_v1_rest } from '#gen/branchline/rest/v1/rest_pb.ts'
import { file_branchline_v1_error_reason } from '#gen/branchline/v1/error_reason_pb.ts'
import { comments } from '#gen/comments.ts'
import { file_google_rpc_code } from '#gen/google/rpc/code_pb.ts'
import { file_google_rpc_error_details } from '#gen/google/rpc/error_details_pb.ts'
import { file_google_rpc_status } from '#gen/google/rpc/status_pb.ts'
import { Health } from '#gen/health/v1/health_pb.ts'
import type { Config } from '../config.ts'
import type { App } from '../domain/app.ts'
import { registerServices, services } from '../services/registry.ts'
import { checkDatabase } from '../storage/database/database.ts'
import { accessInterceptor, accessProblems } from '../transport/callers/access.ts'
import { createPeers, type Peers } from '../transport/callers/peers.ts'
import { createProxySignIn, type ProxySignIn } from '../transport/callers/proxy-sign-in.ts'
import { sudoOfQuery, sudoQueryKey } from '../transport/callers/sudo.ts'
import {
  answerRoomInterceptor,
  readingInterceptor,
  roomFor,
} from '../transport/calls/answer-limits.ts'
import { readConnectJsonStrictly } from '../transport/calls/connect-json.ts'
import { contextValuesOf } from '../transport/calls/context-values.ts'
import { deadlineInterceptor } from '../transport/calls/deadlines.ts'
import { explainRestError, explainRpcErrors } from '../transport/calls/early-responses.ts'
import { observeInterceptor } from '../transport/calls/observation.ts'
import { answerHeaders, createDispatch } from '../transport/dispatch.ts'
import { restStatusOf } from '../transport/errors/index.ts'
import { authorizeGit } from '../transport/git-http/authorize.ts'
import { createGitHttp, gitHttpLimits } from '../transport/git-http/index.ts'
import { observeGit } from '../transport/git-http/observe.ts'
import { createHealth } from '../transport/grpc/health.ts'
import { registerReflection } from '../transport/grpc/reflection.ts'
import { createCors } from '../transport/http/cors.ts'
import type { HttpRequest } from '../transport/http/requests.ts'
import { type Listener, listen } from '../transport/listener/index.ts'
import { createOpenApi } from '../transport/openapi/index.ts'
import { createGoImport } from '../transport/pages/go-import.ts'
import { createMetrics, type Metrics } from '../transport/pages/metrics.ts'
import { operatorPages } from '../transport/pages/operator-pages.ts'
import { createRest } from '../transport/rpc/rest/index.ts'
import { VERSION } from '../version.ts'
import type { StartedParts } from './started-parts.ts'

/** The schemas of all services. */
const SERVICES = [...services.map(({ descriptor }) => descriptor), Health]

/** The types of error details, which no method names. Reflection has to offer them too. */
const ERROR_DETAIL_FILES = [
  file_google_rpc_error_details,
  file_branchline_v1_error_reason,
  file_branchline_rest_v1_rest,
]

/** The schema that clients generate code from, without health and reflection. */
const SCHEMA_FILES = [
  ...services.map(({ descriptor }) => descriptor.file),
  ...ERROR_DETAIL_FILES,
  file_google_rpc_code,
  file_google_rpc_status,
]

/**
 * Starts the listener with all protocols, and adds it to `parts`.
 *
 * @param base gets the URL of the listener when it is empty.
 * @returns the URL of the listener.
 */
export async function serve(
  config: Config,
  app: App,
  base: { url: string },
  parts: StartedParts,
): Promise<string> {
  const shutdown = new AbortController()
  // Every call in flight listens. Node's warning about many listeners would be about many clients.
  setMaxListeners(0, shutdown.signal)
  let serving = true
  let openApi = ''
  let listener: Listener | undefined

  const metrics = createMetrics(() => listener?.figures())
  const health = createHealth(SERVICES.map(({ typeName }) => typeName))
  const trustedOrigins = () => [new URL(app.publicUrl()).origin, ...config.corsOrigins]
  const peers = createPeers({ ...config, publicUrl: app.publicUrl })
  const { peerOf } = peers
  const proxy =
    config.proxyAuth && createProxySignIn(app, { ...config, ...config.proxyAuth }, trustedOrigins)
  const { rpcs, rpcPaths, rest } = createProtocols(config, app, {
    metrics,
    health,
    peers,
    proxy,
    shutdownSignal: shutdown.signal,
  })
  const pages = operatorPages(app, {
    metrics,
    peerOf,
    serving: () => serving,
    checkDatabase: () => checkDatabase(app.db),
    openApi: () => openApi,
    schema: SCHEMA_FILES,
  })
  const git = createGitHttp({
    authorize: authorizeGit(app, peerOf),
    log: app.log,
    observe: observeGit(app.log, metrics, peerOf),
    limits: gitHttpLimits(config.settings.maxPushBytes),
  })
  const destinations = {
    cors: createCors(trustedOrigins),
    pages,
    rpcPaths,
    rpcs,
    git,
    goImport: createGoImport(app.publicUrl),
    rest: rest.nodeHandler(),
  }
  listener = await listen({
    ...config.listen,
    ...(config.tls && { tls: config.tls }),
    handler: createDispatch(destinations, app.log),
    limits: { limitLoopback: config.limitLoopback, uncountedAddresses: config.trustedProxies },
    networkOf: (request) => peerOf(request).network,
    onConnectionError: (err: unknown) => app.log.debug({ err }, 'a connection failed'),
  })
  const { url, close } = listener
  parts.add((graceMs) => {
    serving = false
    health.setServing(false)
    shutdown.abort(new ConnectError('the server is stopping', Code.Unavailable))
    return close(graceMs)
  })
  base.url ||= url
  const bindings = rest.routes().map(({ binding }) => binding)
  openApi = JSON.stringify(
    createOpenApi(bindings, {
      comments,
      statusOf: restStatusOf,
      title: 'Branchline',
      version: VERSION,
      publicUrl: app.publicUrl(),
      isPrivateInstance: config.settings.privateInstance,
    }),
  )
  health.setServing(true)
  return url
}

/** What the handlers of calls share with the rest of the server. */
interface ProtocolParts {
  readonly metrics: Metrics
  readonly health: ReturnType<typeof createHealth>
  readonly peers: Peers
  readonly proxy: ProxySignIn | undefined
  /** Aborts calls in flight when the server stops. */
  readonly shutdownSignal: AbortSignal
}

/** Creates the handlers of gRPC, gRPC-Web, Connect and REST. */
function createProtocols(
  config: Config,
  app: App,
  { metrics, health, peers, proxy, shutdownSignal }: ProtocolParts,
) {
  const registry = createRegistry(...ERROR_DETAIL_FILES)
  const options = {
    interceptors: [
      observeInterceptor(app.log, metrics),
      deadlineInterceptor,
      answerRoomInterceptor(isStandard),
      accessInterceptor(app, isStandard, proxy),
      readingInterceptor(),
    ],
    readMaxBytes: config.maxMessageBytes,
    acceptCompression: [compressionGzip, compressionBrotli],
    shutdownSignal,
    jsonOptions: { registry },
  }
  const publicSecure = config.publicUrl?.startsWith('https:') ?? false
  const contextValues = (request: HttpRequest) => contextValuesOf(request, peers, publicSecure)
  const rest = createRest({
    ...options,
    contextValues: (request: HttpRequest) =>
      contextValues(request).set(sudoQueryKey, sudoOfQuery(request)),
    headers: answerHeaders,
    publicUrl: app.publicUrl,
    completeError: explainRestError,
    roomFor,
    onError: (err: unknown) => app.log.error({ err }, 'a REST answer failed'),
  })
  let rpcPaths: ReadonlySet<string> = new Set()
  const rpcs = connectNodeAdapter({
    ...options,
    contextValues,
    routes(router: ConnectRouter) {
      registerServices(rest.record(router), app)
      router.service(Health, health.service)
      if (config.reflection) registerReflection(router, SERVICES, ERROR_DETAIL_FILES)
      checkAccessOptions(router)
      readConnectJsonStrictly(router, { ...options, registry })
      explainRpcErrors(router)
      rpcPaths = new Set(router.handlers.map(({ requestPath }) => requestPath))
    },
  })
  return { rpcs, rpcPaths, rest }
}

/** Returns whether a method belongs to health or reflection, which are open to everyone. */
function isStandard(method: DescMethod): boolean {
  return method.parent.file.proto.package.startsWith('grpc.')
}

/** @throws Error when a method has no valid access option. */
function checkAccessOptions(router: ConnectRouter): void {
  const methods = router.handlers
    .map((handler) => handler.method)
    .filter((method) => !isStandard(method))
  const problems = accessProblems(methods)
  if (problems.length > 0) throw new Error(`methods that cannot be served:\n${problems.join('\n')}`)
}
