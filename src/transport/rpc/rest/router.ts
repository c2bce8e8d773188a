import type { DescFile, DescService, Registry } from '@bufbuild/protobuf'
import { createRegistry } from '@bufbuild/protobuf'
import type { ConnectError, ConnectRouter, ContextValues, Interceptor } from '@connectrpc/connect'
import { file_google_rpc_error_details } from '#gen/google/rpc/error_details_pb.ts'
import { OpenCalls } from '../exchange/cancellation.ts'
import { defaultCompressions } from '../exchange/compression.ts'
import type {
  Compression,
  MethodImplSpec,
  UniversalHandlerOptions,
} from '../exchange/connect-internals.ts'
import {
  createMethodImplSpec,
  createServiceImplSpec,
  validateReadWriteMaxBytes,
} from '../exchange/connect-internals.ts'
import { byPreference } from '../exchange/negotiate.ts'
import type { NodeServerRequest } from '../exchange/node.ts'
import type { CallSettings, Endpoint } from './endpoint.ts'
import { compileEndpoint } from './endpoint.ts'
import type { RestHandler } from './handler.ts'
import { createHandler } from './handler.ts'
import type { Dialect } from './schema/dialect.ts'
import { dialectProblems, standardDialect } from './schema/dialect.ts'
import type { Binding } from './schema/rules.ts'
import { bindingsOf, rpcName } from './schema/rules.ts'
import type { RouteEntry } from './schema/table.ts'
import { buildRouter, routeEntries } from './schema/table.ts'
import type { Route } from './schema/tree.ts'

/** Request targets are mostly paths and filters; longer ones belong into content. */
const DEFAULT_MAX_TARGET_BYTES = 16 * 1024

/** Options of REST. Those that Connect's adapter has too should have the same values there. */
export interface RestOptions {
  /** Run around each call, the first one outermost. */
  interceptors?: Interceptor[]
  /** Context values that come from the request. */
  contextValues?: (request: NodeServerRequest) => ContextValues
  /**
   * Headers of every answer to a request, names in lower case; those that a call sets itself win.
   */
  headers?: (request: NodeServerRequest) => string[]
  /** Largest request content, compressed and not. Default 4 GiB, as in Connect. */
  readMaxBytes?: number
  /** Largest response content, and largest message of a stream. Default 4 GiB, as in Connect. */
  writeMaxBytes?: number
  /**
   * Smallest content that is compressed. Default 1 KiB, as in Connect: less is hardly worth the
   * time.
   */
  compressMinBytes?: number
  /** Content codings. Default brotli and gzip. */
  acceptCompression?: Compression[]
  /** Longest timeout that a client may ask for. Default: any. */
  maxTimeoutMs?: number
  /** Aborts the signals of all calls. */
  shutdownSignal?: AbortSignal
  /**
   * Types that may occur in google.protobuf.Any and in error details, beside those of the recorded
   * services.
   */
  registry?: Registry
  /** Base of the URLs in `Link`. Default: scheme and authority of the request. */
  publicUrl?: string | (() => string)
  /** Error bodies for paths that match no route. Default: the standard one. */
  defaultDialect?: Dialect
  /** Longest request target, else 414. Default 16 KiB; Node's own `maxHeaderSize` counts it too. */
  maxTargetBytes?: number
  /** Shows the messages of 500s where a dialect hides them. */
  development?: boolean
  /**
   * Completes every error before it is written: the place for details that tell programs what this
   * module refused.
   */
  completeError?: (error: ConnectError) => void
  /**
   * The error to answer with in place of content of so many bytes, where there is no room for it.
   */
  roomFor?: (request: NodeServerRequest, bytes: number) => ConnectError | undefined
  /**
   * Told about everything that is thrown and is no ConnectError, and so about what "internal error"
   * stands for.
   */
  onError?: (error: unknown, request: NodeServerRequest) => void
}

/** The REST side of a server. */
export interface Rest {
  /**
   * Wraps a Connect router: everything that is registered on the result is served over REST too.
   */
  record(router: ConnectRouter): ConnectRouter
  /**
   * Compiles everything recorded so far and returns the handler of its requests. Throws
   * RouteTableError with all mistakes in the schema. Meant to be called once, after registration.
   */
  nodeHandler(): RestHandler
  /** The routes recorded so far, by template and method. */
  routes(): RouteEntry[]
}

interface Recorded {
  readonly spec: MethodImplSpec
  readonly options: Partial<UniversalHandlerOptions> | undefined
}

/** Creates the REST side of a server. Throws for limits out of range. */
export function createRest(options: RestOptions = {}): Rest {
  // By name, as in Connect's adapter: of two registrations of one RPC the last one counts.
  const recorded = new Map<string, Recorded>()
  const add = (spec: MethodImplSpec, serviceOptions: Recorded['options']) => {
    recorded.set(rpcName(spec.method), { spec, options: serviceOptions })
  }
  const settings = settingsOf(options)
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
  // Mistakes are reported before anything is compiled from them.
  buildRouter(
    routes.map(({ binding }) => ({ binding, target: undefined })),
    problems,
  )
  const endpoints = routes.map(({ binding, recorded: { spec, options: own } }): Route<Endpoint> => {
    const callSettings = own === undefined ? settings : settingsOf({ ...options, ...own })
    return { binding, target: compileEndpoint(binding, spec, callSettings, style) }
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

type SettingOptions = Pick<RestOptions, 'interceptors' | 'acceptCompression' | 'maxTimeoutMs'> &
  Pick<RestOptions, 'readMaxBytes' | 'writeMaxBytes' | 'compressMinBytes'>

function settingsOf(options: SettingOptions): CallSettings {
  return {
    interceptors: options.interceptors ?? [],
    ...validateReadWriteMaxBytes(
      options.readMaxBytes,
      options.writeMaxBytes,
      options.compressMinBytes,
    ),
    compressions: byPreference(options.acceptCompression ?? defaultCompressions),
    maxTimeoutMs: options.maxTimeoutMs ?? Number.MAX_SAFE_INTEGER,
  }
}

function servicesOf(recorded: Iterable<Recorded>): Set<DescService> {
  return new Set(Array.from(recorded, ({ spec }) => spec.method.parent))
}

/** All types that the files of the services can refer to, and the standard error details. */
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
