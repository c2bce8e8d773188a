import type { DescFile, DescService, Registry } from '@bufbuild/protobuf'
import { createRegistry } from '@bufbuild/protobuf'
import type { ConnectError, ConnectRouter, ContextValues } from '@connectrpc/connect'
import { file_google_rpc_error_details } from '#gen/google/rpc/error_details_pb.ts'
import { OpenCalls } from '../exchange/cancellation.ts'
import {
  createMethodImplSpec,
  createServiceImplSpec,
  type MethodImplSpec,
  type UniversalHandlerOptions,
} from '../exchange/connect-internals.ts'
import type { NodeServerRequest } from '../exchange/node.ts'
import { type CallOptions, type CallSettings, callSettings } from '../exchange/settings.ts'
import type { Endpoint } from './endpoint.ts'
import { compileEndpoint } from './endpoint.ts'
import type { RestHandler } from './handler.ts'
import { createHandler } from './handler.ts'
import { type Binding, rpcName } from './schema/binding.ts'
import type { Dialect } from './schema/dialect.ts'
import { dialectProblems, standardDialect } from './schema/dialect.ts'
import { bindingsOf } from './schema/rules.ts'
import type { RouteEntry } from './schema/table.ts'
import { buildRouter, routeEntries } from './schema/table.ts'
import type { Route } from './schema/tree.ts'

/** Request targets are mostly paths and filters. Longer values belong in the content. */
const DEFAULT_MAX_TARGET_BYTES = 16 * 1024

/** Options of REST. Options that Connect's adapter also has should have the same values there. */
export interface RestOptions extends CallOptions {
  /** Creates the context values of a call from its request. */
  contextValues?: (request: NodeServerRequest) => ContextValues
  /** Returns the default headers of a response, with names in lower case. A call may replace them. */
  headers?: (request: NodeServerRequest) => string[]
  /** Aborts the signals of all calls. */
  shutdownSignal?: AbortSignal
  /**
   * Types in google.protobuf.Any and in error details, in addition to those of the recorded
   * services.
   */
  registry?: Registry
  /** Base of the URLs in `Link`. Default scheme and authority of the request. */
  publicUrl?: string | (() => string)
  /** Dialect of errors for paths that match no route. Default the standard dialect. */
  defaultDialect?: Dialect
  /**
   * Longest request target. Default 16 KiB. The `maxHeaderSize` of Node includes the target and
   * should be larger.
   */
  maxTargetBytes?: number
  /** Shows the messages of internal errors in dialects that hide them. */
  development?: boolean
  /** Changes an error before it is written, for example to add details to errors of this module. */
  completeError?: (error: ConnectError) => void
  /** Returns an error to send instead of content of this size if the server has no room for it. */
  roomFor?: (request: NodeServerRequest, bytes: number) => ConnectError | undefined
  /** Reports a thrown value that is not a ConnectError. Clients receive "internal error". */
  onError?: (error: unknown, request: NodeServerRequest) => void
}

/** The REST side of a server. */
export interface Rest {
  /** Returns a Connect router that serves every service registered on it over REST too. */
  record(router: ConnectRouter): ConnectRouter
  /**
   * Compiles the recorded services and returns their request handler. Call it once, after
   * registration. Throws RouteTableError with all mistakes in the schema.
   */
  nodeHandler(): RestHandler
  /** Returns the recorded routes, sorted by template and method. */
  routes(): RouteEntry[]
}

interface Recorded {
  readonly spec: MethodImplSpec
  readonly options: Partial<UniversalHandlerOptions> | undefined
}

/** Creates the REST side of a server. Throws for limits out of range. */
export function createRest(options: RestOptions = {}): Rest {
  // As in Connect's adapter, the last registration of an RPC counts.
  const recorded = new Map<string, Recorded>()
  const add = (spec: MethodImplSpec, serviceOptions: Recorded['options']) => {
    recorded.set(rpcName(spec.method), { spec, options: serviceOptions })
  }
  const settings = callSettings(options)
  return {
    record: (router) => recordingRouter(router, add),
    nodeHandler: () => compileHandler([...recorded.values()], options, settings),
    routes: () => {
      const services = servicesOf(recorded.values())
      return routeEntries(
        [...recorded.values()].flatMap(({ spec }) => bindingsOf(spec.method, services).bindings),
      )
    },
  }
}

function recordingRouter(
  router: ConnectRouter,
  add: (spec: MethodImplSpec, options: Recorded['options']) => void,
): ConnectRouter {
  const recording: ConnectRouter = {
    handlers: router.handlers,
    service(service, implementation, options) {
      router.service(service, implementation, options)
      for (const spec of Object.values(createServiceImplSpec(service, implementation).methods))
        add(spec, options)
      return recording
    },
    rpc(method, implementation, options) {
      router.rpc(method, implementation, options)
      add(createMethodImplSpec(method, implementation), options)
      return recording
    },
  }
  return recording
}

function compileHandler(
  recorded: readonly Recorded[],
  options: RestOptions,
  settings: CallSettings,
): RestHandler {
  const services = servicesOf(recorded)
  const registry = registryOf(services, options.registry)
  const style = {
    registry,
    development: options.development ?? false,
    completeError: options.completeError,
  }
  const { publicUrl, contextValues, headers, roomFor, onError } = options
  const problems: string[] = []
  const routes: { binding: Binding; recorded: Recorded }[] = []
  for (const entry of recorded) {
    const { bindings, problems: found } = bindingsOf(entry.spec.method, services)
    problems.push(...found)
    for (const binding of bindings) routes.push({ binding, recorded: entry })
  }
  for (const service of services) problems.push(...dialectProblems(service, services))
  // Reports mistakes before compilation.
  buildRouter(
    routes.map(({ binding }) => ({ binding, target: undefined })),
    problems,
  )
  const endpoints = routes.map(({ binding, recorded: { spec, options: own } }): Route<Endpoint> => {
    const ownSettings = own === undefined ? settings : callSettings({ ...options, ...own })
    return { binding, target: compileEndpoint(binding, spec, ownSettings, style) }
  })
  return createHandler({
    router: buildRouter(endpoints, []),
    errorStyle: { ...style, dialect: options.defaultDialect ?? standardDialect },
    openCalls: new OpenCalls(options.shutdownSignal),
    maxTargetBytes: options.maxTargetBytes ?? DEFAULT_MAX_TARGET_BYTES,
    contextValues,
    headers,
    publicUrl: typeof publicUrl === 'string' ? () => publicUrl : publicUrl,
    roomFor,
    onError: onError ?? (() => {}),
  })
}

function servicesOf(recorded: Iterable<Recorded>): Set<DescService> {
  return new Set(Array.from(recorded, ({ spec }) => spec.method.parent))
}

/** Returns all types that the services can refer to, and the standard error details. */
function registryOf(services: Iterable<DescService>, own: Registry | undefined): Registry {
  const files = new Set<DescFile>()
  const visit = (file: DescFile) => {
    if (files.has(file)) return
    files.add(file)
    file.dependencies.forEach(visit)
  }
  visit(file_google_rpc_error_details)
  for (const { file } of services) visit(file)
  return createRegistry(...files, ...(own === undefined ? [] : [own]))
}
