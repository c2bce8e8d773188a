import type { DescFile, DescMethod, DescService, Registry } from '@bufbuild/protobuf'
import { createRegistry } from '@bufbuild/protobuf'
import type { ConnectError, ConnectRouter, ContextValues } from '@connectrpc/connect'
import { file_google_rpc_error_details } from '#gen/google/rpc/error_details_pb.ts'
import type { CallServer } from './exchange/call.ts'
import { OpenCalls } from './exchange/cancellation.ts'
import {
  createMethodImplSpec,
  createServiceImplSpec,
  type MethodImplSpec,
  type UniversalHandlerOptions,
} from './exchange/connect-internals.ts'
import { formatsOf } from './exchange/formats.ts'
import type { RpcMethod } from './exchange/method.ts'
import type { NodeServerRequest, NodeServerResponse } from './exchange/node.ts'
import { type CallOptions, callSettings } from './exchange/settings.ts'
import { createRpcHandler, type RpcHandler, rpcPath } from './handler.ts'
import { compileRest, routesOf } from './rest/compile.ts'
import type { RestHandler } from './rest/handler.ts'
import type { Dialect } from './rest/schema/dialect.ts'
import type { RouteEntry } from './rest/schema/table.ts'

/** Options of a server. `Request` is the type of the requests that its handlers receive. */
export interface RpcOptions<Request extends NodeServerRequest = NodeServerRequest>
  extends CallOptions {
  /** Creates the context values of a call from its request and the name of its protocol. */
  contextValues?: (request: Request, protocolName: string) => ContextValues
  /** Returns the default headers of a response, with names in lower case. A call may replace them. */
  headers?: (request: Request) => string[]
  /** Aborts the signals of all calls. */
  shutdownSignal?: AbortSignal
  /**
   * Types in google.protobuf.Any and in error details, in addition to those of the registered
   * services.
   */
  registry?: Registry
  /** Changes an error before it is written, for example to add details to errors of this module. */
  completeError?: (error: ConnectError, protocolName: string) => void
  /** Returns an error to send instead of content of this size if the server has no room for it. */
  roomFor?: (request: Request, bytes: number) => ConnectError | undefined
  /** Reports a thrown value that is not a ConnectError. Clients receive "internal error". */
  onError?: (error: unknown, request: Request) => void
  /** Base of the URLs in the header `Link` over REST. Default scheme and authority of the request. */
  publicUrl?: string | (() => string)
  /** Dialect of REST errors for paths that match no route. Default the standard dialect. */
  defaultDialect?: Dialect
  /**
   * Longest request target over REST. Default 16 KiB. The `maxHeaderSize` of Node includes the
   * target and should be larger.
   */
  maxTargetBytes?: number
  /** Shows the messages of internal errors in dialects that hide them. */
  development?: boolean
}

/** The services of a server and their handlers. */
export interface Rpc<Request extends NodeServerRequest = NodeServerRequest> {
  /** Registers services. As in Connect's adapter, the last registration of a method counts. */
  readonly router: ConnectRouter
  /** Returns the registered methods. */
  methods(): DescMethod[]
  /** Returns the REST routes of the registered methods, sorted by template and method. */
  routes(): RouteEntry[]
  /**
   * Compiles the registered services. Call it once, after registration. Throws RouteTableError with
   * all mistakes in the schema.
   */
  handlers(): RpcHandlers<Request>
}

/** The handlers of requests. They never throw. */
export interface RpcHandlers<Request extends NodeServerRequest = NodeServerRequest> {
  /** Answers gRPC, gRPC-Web and Connect. */
  readonly rpc: RpcHandler<Request>
  readonly rest: RestHandler<Request>
  /** Answers every protocol: requests to the path of a method, and REST for any other path. */
  readonly all: (request: Request, response: NodeServerResponse) => void
}

interface Registered {
  readonly spec: MethodImplSpec
  readonly options: Partial<UniversalHandlerOptions> | undefined
}

/** Creates a server without services. Throws for limits out of range. */
export function createRpc<Request extends NodeServerRequest = NodeServerRequest>(
  ownOptions: RpcOptions<Request> = {},
): Rpc<Request> {
  // The handlers are only called with requests of this type.
  const options = ownOptions as RpcOptions
  const registered = new Map<string, Registered>()
  const settings = callSettings(options)
  const compile = () => {
    const services = servicesOf(registered.values())
    const registry = registryOf(services, options.registry)
    const methods = Array.from(registered.values(), ({ spec, options: own }): RpcMethod => {
      const { method } = spec
      const ownSettings = own === undefined ? settings : callSettings({ ...options, ...own })
      return { method, spec, settings: ownSettings, formats: formatsOf(method, registry) }
    })
    const server = callServer(options, registry)
    const rpc = createRpcHandler(server, methods)
    const rest = compileRest(server, methods, options)
    return {
      rpc,
      rest,
      all: (request: NodeServerRequest, response: NodeServerResponse) => {
        if (!rpc(targetPath(request), request, response)) rest(request, response)
      },
    }
  }
  return {
    router: registeringRouter((spec, own) => {
      registered.set(rpcPath(spec), { spec, options: own })
    }),
    methods: () => Array.from(registered.values(), ({ spec }) => spec.method),
    routes: () => routesOf(Array.from(registered.values(), ({ spec }) => spec.method)),
    handlers: compile,
  }
}

function targetPath({ url = '' }: NodeServerRequest): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

function registeringRouter(
  add: (spec: MethodImplSpec, options: Registered['options']) => void,
): ConnectRouter {
  const router: ConnectRouter = {
    handlers: [],
    service(service, implementation, options) {
      for (const spec of Object.values(createServiceImplSpec(service, implementation).methods))
        add(spec, options)
      return router
    },
    rpc(method, implementation, options) {
      add(createMethodImplSpec(method, implementation), options)
      return router
    },
  }
  return router
}

function callServer(options: RpcOptions, registry: Registry): CallServer {
  const { contextValues, headers, roomFor, completeError, shutdownSignal, onError } = options
  return {
    openCalls: new OpenCalls(shutdownSignal),
    contextValues,
    headers,
    roomFor,
    registry,
    completeError,
    onError: onError ?? (() => {}),
  }
}

function servicesOf(registered: Iterable<Registered>): Set<DescService> {
  return new Set(Array.from(registered, ({ spec }) => spec.method.parent))
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
