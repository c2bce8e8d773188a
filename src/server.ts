import { setMaxListeners } from 'node:events'
import type { DescMethod } from '@bufbuild/protobuf'
import { createRegistry } from '@bufbuild/protobuf'
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect'
import { compressionBrotli, compressionGzip, connectNodeAdapter } from '@connectrpc/connect-node'
import type { Logger } from 'pino'
import { file_branchline_rest_v1_rest } from '#gen/branchline/rest/v1/rest_pb.ts'
import { file_branchline_v1_error_reason } from '#gen/branchline/v1/error_reason_pb.ts'
import { comments } from '#gen/comments.ts'
import { file_google_rpc_code } from '#gen/google/rpc/code_pb.ts'
import { file_google_rpc_error_details } from '#gen/google/rpc/error_details_pb.ts'
import { file_google_rpc_status } from '#gen/google/rpc/status_pb.ts'
import { Health } from '#gen/health/v1/health_pb.ts'
import type { Config } from './config.ts'
import { attachmentsOf, lockData, openData, repositoriesOf } from './data-folder.ts'
import { createGuessLimits } from './domain/accounts/credentials/guess-limits.ts'
import { loadInstanceKeys } from './domain/accounts/credentials/instance-keys.ts'
import { createResetRequests } from './domain/accounts/credentials/password-resets.ts'
import { createPasswordHasher } from './domain/accounts/credentials/passwords.ts'
import { createOAuth2Client } from './domain/accounts/sign-on/oauth2.ts'
import type { App } from './domain/app.ts'
import { createBackground } from './domain/core/background.ts'
import { createCoordination } from './domain/core/coordination.ts'
import type { Clock, Settings } from './domain/core/core.ts'
import { createSignal } from './domain/core/signal.ts'
import { startDeliveries } from './domain/deliveries/webhook-worker.ts'
import { startLeftoverSweeps } from './domain/maintenance/leftovers.ts'
import { forgetOldEvents } from './domain/memos/user-events.ts'
import { parseAllowedHosts } from './domain/outbound/allowed-hosts.ts'
import { boundAddresses } from './domain/outbound/destinations.ts'
import { createOutbound } from './domain/outbound/outbound.ts'
import { pullRefObserver } from './domain/pulls/branch-sync/ref-observer.ts'
import { startPullHeads } from './domain/pulls/heads/pull-heads.ts'
import { startAutoMerges } from './domain/pulls/merging/auto-merges.ts'
import { startFollowUps } from './domain/pulls/merging/merge-follow-ups.ts'
import { createMergeChecks } from './domain/pulls/merging/mergeability.ts'
import { forgetUnpublishedCopies } from './domain/repos/lifecycle/copies.ts'
import { createCopyPlaces } from './domain/repos/lifecycle/copy-places.ts'
import { startMirrors } from './domain/repos/lifecycle/mirrors.ts'
import { createCommitSigning } from './domain/repos/reading/commit-signing.ts'
import { createSignatureChecks } from './domain/repos/reading/commit-verification.ts'
import { healPendingUpdates } from './domain/repos/refs/ref-index.ts'
import { finishMeasuring } from './domain/repos/refs/repository-size.ts'
import { limitGitMemory } from './git/processes/running-processes.ts'
import { closeRepositories, prepareRepositories } from './git/repositories/repositories.ts'
import { openMailFolder } from './mail/folder.ts'
import { registerServices, services } from './services/registry.ts'
import { StartedParts } from './started-parts.ts'
import { checkDatabase } from './storage/database/database.ts'
import type { Db } from './storage/schema/schema.ts'
import { answerRoomInterceptor, readingInterceptor, roomFor } from './transport/answer-room.ts'
import { accessInterceptor, accessProblems } from './transport/callers/access.ts'
import { createPeers } from './transport/callers/peers.ts'
import { createProxySignIn } from './transport/callers/proxy-sign-in.ts'
import { sudoOfQuery, sudoQueryKey } from './transport/callers/sudo.ts'
import { readConnectJsonStrictly } from './transport/connect-json.ts'
import { contextValuesOf, type HttpRequest } from './transport/connection.ts'
import { createCors } from './transport/cors.ts'
import { deadlineInterceptor } from './transport/deadlines.ts'
import { answerHeaders, createDispatch } from './transport/dispatch.ts'
import { explainRestError, explainRpcErrors } from './transport/early-responses.ts'
import { restStatusOf } from './transport/errors/index.ts'
import { authorizeGit } from './transport/git-http/authorize.ts'
import { createGitHttp, gitHttpLimits } from './transport/git-http/index.ts'
import { observeGit } from './transport/git-http/observe.ts'
import { createHealth } from './transport/health.ts'
import { observeInterceptor } from './transport/interceptors.ts'
import { type Listener, listen } from './transport/listener/index.ts'
import { createOpenApi } from './transport/openapi/index.ts'
import { createGoImport } from './transport/pages/go-import.ts'
import { createMetrics } from './transport/pages/metrics.ts'
import { operatorPages } from './transport/pages/operator-pages.ts'
import { createPayloads } from './transport/payloads.ts'
import { registerReflection } from './transport/reflection.ts'
import { createRest } from './transport/rpc/rest/index.ts'
import { VERSION } from './version.ts'

/** The schemas of all services. */
const SERVICES = [...services.map(({ descriptor }) => descriptor), Health]

/** What error details are made of: clients that learn the schema by reflection need it too. */
const ERROR_DETAIL_FILES = [
  file_google_rpc_error_details,
  file_branchline_v1_error_reason,
  file_branchline_rest_v1_rest,
]

/** What clients generate code from. Health and reflection are left out: libraries have them. */
const SCHEMA_FILES = [
  ...SERVICES.map(({ file }) => file).filter(({ proto }) =>
    proto.package.startsWith('branchline.'),
  ),
  ...ERROR_DETAIL_FILES,
  file_google_rpc_code,
  file_google_rpc_status,
]

/** The system's time. */
export const systemClock: Clock = { now: () => Date.now() }

/** A server that serves. */
export interface Server {
  /** Base of its URLs, with the real port. */
  readonly url: string
  readonly app: App
  /**
   * Stops accepting, lets calls in flight finish for up to `graceMs`, then closes everything. Later
   * calls wait for the first.
   */
  close(graceMs: number): Promise<void>
}

/**
 * Puts the application together over an open database.
 *
 * @param folder the data folder, absolute.
 * @param outside what only a server has, and the command line does without.
 */
export async function createApp(
  db: Db,
  folder: string,
  settings: Settings,
  log: Logger,
  clock: Clock = systemClock,
  outside: Pick<App, 'mail' | 'publicUrl' | 'outbound'> = {
    mail: undefined,
    publicUrl: () => '',
    outbound: createOutbound({ allowedHosts: parseAllowedHosts(''), ownAddresses: () => [] }),
  },
): Promise<App> {
  const keys = await loadInstanceKeys(db, clock)
  return {
    db,
    git: repositoriesOf(folder),
    attachments: attachmentsOf(folder),
    clock,
    settings,
    log,
    keys,
    commitSigning: createCommitSigning(keys),
    refObservers: [pullRefObserver],
    mergeChecks: createMergeChecks(),
    runningUpdates: new Map(),
    sizeMeasurements: new Map(),
    passwords: createPasswordHasher(),
    guesses: createGuessLimits(clock),
    background: createBackground(log),
    coordination: createCoordination(),
    signals: {
      deliveries: createSignal(),
      events: createSignal(),
      mirrors: createSignal(),
      pullHeads: createSignal(),
      autoMerges: createSignal(),
      mergeFollowUps: createSignal(),
      repositoryEvents: createSignal(),
    },
    copies: createCopyPlaces(),
    signatureChecks: createSignatureChecks(),
    payloads: createPayloads(),
    resetRequests: createResetRequests(),
    oauth2: createOAuth2Client({ outbound: outside.outbound, userAgent: `branchline/${VERSION}` }),
    ...outside,
  }
}

/**
 * Starts a server: builds everything once, then listens. A start that fails leaves nothing running.
 *
 * @throws Error with a sentence for the operator when the data, the schema or the address is unfit.
 */
export async function startServer(
  config: Config,
  log: Logger,
  clock: Clock = systemClock,
): Promise<Server> {
  const started = new StartedParts()
  try {
    const { url, app } = await startParts(config, log, clock, started)
    return { url, app, close: (graceMs) => started.stop(graceMs) }
  } catch (error) {
    await started
      .stop(0)
      .catch((err: unknown) => log.error({ err }, 'a part of a failed start could not be stopped'))
    throw error
  }
}

/** Starts the parts of a server, and adds each to `started`. */
async function startParts(
  config: Config,
  log: Logger,
  clock: Clock,
  started: StartedParts,
): Promise<{ url: string; app: App }> {
  const lock = await lockData(config.data)
  started.add(() => lock.release())
  const db = await openData(config.data)
  started.add(() => db.destroy())
  // Known once the port is: until then nobody can ask.
  const base = { url: config.publicUrl ?? '' }
  const app = await createApp(db, config.data, config.settings, log, clock, {
    mail:
      config.mailDir === undefined
        ? undefined
        : await openMailFolder(config.mailDir, () => clock.now()),
    outbound: createOutbound({
      allowedHosts: config.webhookAllowedHosts,
      ownAddresses: () => boundAddresses(config.listen.host),
    }),
    publicUrl: () => base.url,
  })
  started.add(() => closeRepositories(app.git))
  started.add(async () => {
    await app.background.settled()
    await finishMeasuring(app)
  })
  limitGitMemory(config.gitMemoryBytes, (facts, message) => log.warn(facts, message))
  await prepareRepositories(app.git)
  if (app.settings.gitHooks) await prepareGitHooks(app)
  await forgetUnpublishedCopies(app)
  await healPendingUpdates(app)
  // Workers start once the address is known, and stop after the last call: calls give them work
  // until then.
  const workers: { stop(): unknown }[] = []
  started.add(() => Promise.all(workers.map((worker) => worker.stop())))
  const url = await serve(config, app, base, started)
  workers.push(startDeliveries(app, `branchline-webhook/${VERSION}`))
  workers.push(startMirrors(app))
  workers.push(startPullHeads(app))
  workers.push(await startAutoMerges(app))
  workers.push(await startFollowUps(app))
  workers.push(startLeftoverSweeps(app))
  app.background.run('forget old events', () => forgetOldEvents(app))
  return { url, app }
}

/** Says how the hooks of repositories are going to run: whoever switches them on has to know. */
async function prepareGitHooks({ git, log }: App): Promise<void> {
  const { kind, failures } = await git.hooks.prepare()
  if (kind === 'plain') log.warn({ failures }, 'Git hooks run without a sandbox')
  else log.info({ sandbox: kind }, 'Git hooks run in a sandbox')
}

/**
 * Starts to listen, and adds that to `started`.
 *
 * @param base of links, which gets its URL from the address listened on unless it has one.
 * @returns the URL listened on.
 */
async function serve(
  config: Config,
  app: App,
  base: { url: string },
  started: StartedParts,
): Promise<string> {
  const shutdown = new AbortController()
  // Every call in flight listens; the usual warning about many listeners would be about many
  // clients.
  setMaxListeners(0, shutdown.signal)
  let serving = true
  let openApi = ''
  let listener: Listener | undefined

  const metrics = createMetrics(() => listener?.figures())
  const health = createHealth(SERVICES.map(({ typeName }) => typeName))
  const isOpen = (method: DescMethod) => method.parent.file.proto.package.startsWith('grpc.')
  const trustedOrigins = () => [new URL(app.publicUrl()).origin, ...config.corsOrigins]
  const proxy =
    config.proxyAuth && createProxySignIn(app, { ...config, ...config.proxyAuth }, trustedOrigins)
  const options = {
    interceptors: [
      observeInterceptor(app.log, metrics),
      deadlineInterceptor,
      answerRoomInterceptor(isOpen),
      accessInterceptor(app, isOpen, proxy),
      readingInterceptor(),
    ],
    readMaxBytes: config.maxMessageBytes,
    acceptCompression: [compressionGzip, compressionBrotli],
    shutdownSignal: shutdown.signal,
    jsonOptions: { registry: createRegistry(...ERROR_DETAIL_FILES) },
  }
  const publicSecure = config.publicUrl?.startsWith('https:') ?? false
  const peers = createPeers({ ...config, publicUrl: app.publicUrl })
  const { peerOf } = peers
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
      refuseUnguarded(router, isOpen)
      readConnectJsonStrictly(router, { ...options, registry: options.jsonOptions.registry })
      explainRpcErrors(router)
      rpcPaths = new Set(router.handlers.map(({ requestPath }) => requestPath))
    },
  })
  const pages = operatorPages(app, {
    metrics,
    peerOf,
    serving: () => serving,
    checkDatabase: () => checkDatabase(app.db),
    openApi: () => openApi,
    schema: SCHEMA_FILES,
  })
  const cors = createCors(trustedOrigins)
  const git = createGitHttp({
    authorize: authorizeGit(app, peerOf),
    log: app.log,
    observe: observeGit(app.log, metrics, peerOf),
    limits: gitHttpLimits(config.settings.maxPushBytes),
  })
  listener = await listen({
    ...config.listen,
    ...(config.tls && { tls: config.tls }),
    handler: createDispatch(
      {
        cors,
        pages,
        rpcPaths,
        rpcs,
        git,
        goImport: createGoImport(app.publicUrl),
        rest: rest.nodeHandler(),
      },
      app.log,
    ),
    limits: { limitLoopback: config.limitLoopback, uncountedAddresses: config.trustedProxies },
    networkOf: (request) => peerOf(request).network,
    onConnectionError: (err: unknown) => app.log.debug({ err }, 'a connection failed'),
  })
  const { url, close } = listener
  started.add((graceMs) => {
    serving = false
    health.setServing(false)
    shutdown.abort(new ConnectError('the server is stopping', Code.Unavailable))
    return close(graceMs)
  })
  base.url ||= url
  openApi = JSON.stringify(
    createOpenApi(
      rest.routes().map(({ binding }) => binding),
      {
        comments,
        statusOf: restStatusOf,
        title: 'Branchline',
        version: VERSION,
        publicUrl: app.publicUrl(),
        isPrivateInstance: config.settings.privateInstance,
      },
    ),
  )
  health.setServing(true)
  return url
}

/** A method whose access option is missing or makes no sense must not be reachable for a moment. */
function refuseUnguarded(router: ConnectRouter, isOpen: (method: DescMethod) => boolean): void {
  const methods = router.handlers
    .map((handler) => handler.method)
    .filter((method) => !isOpen(method))
  const problems = accessProblems(methods)
  if (problems.length > 0) throw new Error(`methods that cannot be served:\n${problems.join('\n')}`)
}
