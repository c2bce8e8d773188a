import { type Binding, rpcName } from './binding.ts'
import type { Route, Router } from './tree.ts'
import { RouteTree } from './tree.ts'

/**
 * The schema has mistakes, so the server does not start. The message lists all of them, one per
 * line.
 */
export class RouteTableError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(
      `the REST rules of the schema have mistakes:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    )
    this.name = 'RouteTableError'
    this.problems = problems
  }
}

/**
 * Builds the router for all bindings of a server. Throws RouteTableError with `problems` and with
 * all duplicate routes.
 *
 * @param problems mistakes in rules and dialects.
 */
export function buildRouter<T>(
  bindings: Iterable<Route<T>>,
  problems: Iterable<string>,
): Router<T> {
  const tree = new RouteTree<T>()
  for (const { binding, target } of bindings) tree.add(binding, target)
  const all = [...problems, ...tree.problems()]
  if (all.length > 0) throw new RouteTableError(all)
  return tree.freeze()
}

/** One line of the route table. */
export interface RouteEntry {
  /** An HTTP method in upper case, or `*`. */
  readonly method: string
  /** The path template as written. */
  readonly template: string
  /** `package.Service/Method`. */
  readonly rpc: string
  /** Success status. */
  readonly status: number
  readonly binding: Binding
}

/** Returns the routes sorted by template, then method. */
export function routeEntries(bindings: Iterable<Binding>): RouteEntry[] {
  const entries = Array.from(bindings, (binding) => ({
    method: binding.httpMethod,
    template: binding.template.text,
    rpc: rpcName(binding.rpc),
    status: binding.successStatus,
    binding,
  }))
  return entries.sort(
    (a, b) =>
      compareText(a.template, b.template) ||
      compareText(a.method, b.method) ||
      compareText(a.rpc, b.rpc),
  )
}

/** Compares by code unit, independent of the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
