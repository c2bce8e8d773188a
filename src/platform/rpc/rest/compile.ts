import type { DescMethod } from '@bufbuild/protobuf'
import type { CallServer } from '../exchange/call.ts'
import type { RpcMethod } from '../exchange/method.ts'
import { compileEndpoint, type Endpoint } from './endpoint.ts'
import { createHandler, type RestHandler } from './handler.ts'
import type { Binding } from './schema/binding.ts'
import { type Dialect, dialectProblems, standardDialect } from './schema/dialect.ts'
import { bindingsOf } from './schema/rules.ts'
import { buildRouter, type RouteEntry, routeEntries } from './schema/table.ts'
import type { Route } from './schema/tree.ts'

/** Request targets are mostly paths and filters. Longer values belong in the content. */
const DEFAULT_MAX_TARGET_BYTES = 16 * 1024

/** The options of a server that only REST has. */
export interface RestOptions {
  readonly publicUrl?: string | (() => string)
  readonly defaultDialect?: Dialect
  readonly maxTargetBytes?: number
  readonly development?: boolean
}

/**
 * Compiles the handler of the REST bindings of methods. Throws RouteTableError with all mistakes in
 * the schema.
 */
export function compileRest(
  server: CallServer,
  methods: readonly RpcMethod[],
  options: RestOptions,
): RestHandler {
  const { publicUrl, development = false, defaultDialect = standardDialect } = options
  const { registry, completeError } = server
  const style = { registry, development, completeError }
  const services = new Set(methods.map(({ method }) => method.parent))
  const problems: string[] = []
  const routes: { binding: Binding; rpc: RpcMethod }[] = []
  for (const rpc of methods) {
    const { bindings, problems: found } = bindingsOf(rpc.method, services)
    problems.push(...found)
    for (const binding of bindings) routes.push({ binding, rpc })
  }
  for (const service of services) problems.push(...dialectProblems(service, services))
  // Reports mistakes before compilation.
  buildRouter(
    routes.map(({ binding }) => ({ binding, target: undefined })),
    problems,
  )
  const endpoints = routes.map(({ binding, rpc }): Route<Endpoint> => {
    return { binding, target: compileEndpoint(binding, rpc, style) }
  })
  return createHandler({
    ...server,
    router: buildRouter(endpoints, []),
    errorStyle: { ...style, dialect: defaultDialect },
    maxTargetBytes: options.maxTargetBytes ?? DEFAULT_MAX_TARGET_BYTES,
    publicUrl: typeof publicUrl === 'string' ? () => publicUrl : publicUrl,
  })
}

/** Returns the REST routes of methods, sorted by template and method. */
export function routesOf(methods: readonly DescMethod[]): RouteEntry[] {
  const services = new Set(methods.map((method) => method.parent))
  return routeEntries(methods.flatMap((method) => bindingsOf(method, services).bindings))
}
