import { type Binding, rpcName } from './binding.ts'
import {
  decodeMulti,
  decodeSingle,
  type MixedPart,
  type Segment,
  type Template,
} from './template.ts'

/** A binding and the value that the caller attached to it. */
export interface Route<T> {
  readonly binding: Binding
  readonly target: T
}

/** The route of a request. */
export interface Match<T> {
  readonly kind: 'match'
  readonly route: Route<T>
  /** Decoded values of the variables of the template, in its order. */
  readonly values: string[]
}

/** The reason why a request has no route. */
export type Miss =
  /** No template matches the path: 404. */
  | { readonly kind: 'notFound' }
  /** Templates match the path, but not the HTTP method: 405. */
  | { readonly kind: 'notAllowed'; readonly allow: string[] }
  /** A route matches, but a segment has a malformed escape: 400. */
  | { readonly kind: 'badPath'; readonly message: string }

/** Finds routes. Requests do not change the router. */
export interface Router<T> {
  /**
   * Returns the route for an HTTP method and a request target, ignoring the query. GET routes serve
   * HEAD unless the same template has a HEAD rule. OPTIONS matches only rules that name it, not
   * `*`; the server answers it by `allowed`.
   */
  match(httpMethod: string, target: string): Match<T> | Miss
  /**
   * Returns the value of `Allow` for a request target: the sorted HTTP methods of the most specific
   * template that matches and of those with the same shape, OPTIONS, and HEAD if there is GET.
   * Returns undefined if no template matches.
   */
  allowed(target: string): string[] | undefined
}

/** Routes that end at one node, by HTTP method. */
type Leaf<T> = Map<string, Route<T>>

/**
 * One segment of one or more templates. The depth of a node is the index of a path segment, so that
 * backtracking never visits a node twice. Literals are keys of a `Map`, where `__proto__` is a
 * normal name.
 */
interface Node<T> {
  readonly literals: Map<string, Node<T>>
  /** The most specific first. */
  readonly mixed: {
    readonly parts: readonly MixedPart[]
    readonly shape: string
    readonly node: Node<T>
  }[]
  single: Node<T> | undefined
  /** Templates that continue with `**`. */
  multi: Tail<T> | undefined
  readonly leaf: Leaf<T>
}

/** Literals after `**`, from the last to the first. The root is the empty tail. */
interface Tail<T> {
  readonly literals: Map<string, Tail<T>>
  readonly leaf: Leaf<T>
}

/** Trees by verb. A verb belongs to the whole route. */
type Forest<T> = Map<string, Node<T>>

/** Collects routes for a router. The order of additions does not matter. */
export class RouteTree<T> {
  readonly #forest: Forest<T> = new Map()
  /** Routes of services that accept superfluous slashes. */
  readonly #lenient: Forest<T> = new Map()
  readonly #problems: string[] = []

  /**
   * Adds a route. If another route has the same HTTP method and shape, that one stays and
   * `problems` names both.
   */
  add(binding: Binding, target: T): void {
    const route = { binding, target }
    const existing = insert(this.#forest, route)
    if (existing !== undefined) this.#problems.push(duplicate(existing.binding, binding))
    else if (binding.dialect.slashes === 'lenient') insert(this.#lenient, route)
  }

  /** Returns the duplicates, one sentence each. */
  problems(): string[] {
    return [...this.#problems]
  }

  /** Returns a router for the added routes. The router owns the tree, so add no more routes. */
  freeze(): Router<T> {
    return new TreeRouter(this.#forest, this.#lenient)
  }
}

function duplicate(a: Binding, b: Binding): string {
  const [first, second] = [a, b]
    .map((binding) => `${rpcName(binding.rpc)} ${binding.template.text}`)
    .sort()
  return `${a.httpMethod} ${a.template.text}: the same requests match two rules, ${first} and ${second}`
}

/** Adds a route. If the route exists, returns the existing one and changes nothing. */
function insert<T>(forest: Forest<T>, route: Route<T>): Route<T> | undefined {
  const { template, httpMethod } = route.binding
  const leaf = leafOf(forest, template)
  const existing = leaf.get(httpMethod)
  if (existing === undefined) leaf.set(httpMethod, route)
  return existing
}

function leafOf<T>(forest: Forest<T>, { segments, verb, multiAt }: Template): Leaf<T> {
  let node = getOrAdd(forest, verb, newNode<T>)
  for (const segment of multiAt < 0 ? segments : segments.slice(0, multiAt))
    node = childOf(node, segment)
  if (multiAt < 0) return node.leaf

  node.multi ??= newTail()
  let tail = node.multi
  for (const segment of segments.slice(multiAt + 1).reverse()) {
    if (segment.kind === 'literal') tail = getOrAdd(tail.literals, segment.text, newTail<T>)
  }
  return tail.leaf
}

function childOf<T>(node: Node<T>, segment: Segment): Node<T> {
  if (segment.kind === 'literal') return getOrAdd(node.literals, segment.text, newNode<T>)
  if (segment.kind === 'mixed') return mixedChildOf(node, segment.parts)
  node.single ??= newNode()
  return node.single
}

function mixedChildOf<T>({ mixed }: Node<T>, parts: readonly MixedPart[]): Node<T> {
  const shape = mixedShape(parts)
  const existing = mixed.find((child) => child.shape === shape)
  if (existing !== undefined) return existing.node
  const node = newNode<T>()
  mixed.push({ parts, shape, node })
  mixed.sort((a, b) => compareMixed(a.parts, b.parts))
  return node
}

function newNode<T>(): Node<T> {
  return { literals: new Map(), mixed: [], single: undefined, multi: undefined, leaf: new Map() }
}

function newTail<T>(): Tail<T> {
  return { literals: new Map(), leaf: new Map() }
}

function getOrAdd<V>(map: Map<string, V>, key: string, make: () => V): V {
  const existing = map.get(key)
  if (existing !== undefined) return existing
  const value = make()
  map.set(key, value)
  return value
}

/** Visits the routes of a template that matches a path. A returned route ends the walk. */
type Visit<T> = (leaf: Leaf<T>, path: SegmentedPath) => Route<T> | undefined

/** A route and its path without the verb. */
interface Found<T> {
  readonly route: Route<T>
  readonly path: SegmentedPath
}

class TreeRouter<T> implements Router<T> {
  readonly #forest: Forest<T>
  readonly #lenient: Forest<T>

  constructor(forest: Forest<T>, lenient: Forest<T>) {
    this.#forest = forest
    this.#lenient = lenient
  }

  match(httpMethod: string, target: string): Match<T> | Miss {
    const path = pathOf(target)
    if (path === undefined) return { kind: 'notFound' }
    const strict = matchIn(this.#forest, httpMethod, path)
    if (strict.kind !== 'notFound' || this.#lenient.size === 0) return strict
    const merged = mergeSlashes(path)
    return merged === path ? strict : matchIn(this.#lenient, httpMethod, merged)
  }

  allowed(target: string): string[] | undefined {
    const path = pathOf(target)
    if (path === undefined) return undefined
    return allowedIn(this.#forest, path) ?? allowedIn(this.#lenient, mergeSlashes(path))
  }
}

function matchIn<T>(forest: Forest<T>, httpMethod: string, path: string): Match<T> | Miss {
  const found =
    walk(forest, path, (leaf, segments) => numberedRouteFor(leaf, httpMethod, segments)) ??
    walk(forest, path, (leaf) => routeFor(leaf, httpMethod))
  if (found === undefined) {
    const allow = allowedIn(forest, path)
    return allow === undefined ? { kind: 'notFound' } : { kind: 'notAllowed', allow }
  }
  // A literal matches decoded text only, so a wildcard has matched the malformed segment.
  const malformedAt = found.path.malformedAt()
  if (malformedAt >= 0)
    return {
      kind: 'badPath',
      message: `malformed escape in segment ${malformedAt + 1} of the path`,
    }
  return { kind: 'match', route: found.route, values: valuesOf(found.route.binding, found.path) }
}

/**
 * Returns the route for a method if all its numeric segments are integers. A template that accepts
 * other text as 0 thereby yields to one that accepts text.
 */
function numberedRouteFor<T>(
  leaf: Leaf<T>,
  httpMethod: string,
  path: SegmentedPath,
): Route<T> | undefined {
  const route = routeFor(leaf, httpMethod)
  return route && hasNumbers(route, path) ? route : undefined
}

const integer = /^-?[0-9]+$/

function hasNumbers<T>({ binding }: Route<T>, path: SegmentedPath): boolean {
  return binding.numberSegments.every((index) => integer.test(path.text(index) ?? ''))
}

function routeFor<T>(leaf: Leaf<T>, httpMethod: string): Route<T> | undefined {
  const exact = leaf.get(httpMethod)
  if (exact !== undefined || httpMethod === 'OPTIONS') return exact
  return (httpMethod === 'HEAD' ? leaf.get('GET') : undefined) ?? leaf.get('*')
}

/** The methods in `Allow` for a rule of any method, for which there is no header value. */
const commonMethods = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT']

function allowedIn<T>(forest: Forest<T>, path: string): string[] | undefined {
  return allowedBy(forest, path, hasNumbers) ?? allowedBy(forest, path, () => true)
}

function allowedBy<T>(
  forest: Forest<T>,
  path: string,
  fits: (route: Route<T>, path: SegmentedPath) => boolean,
): string[] | undefined {
  const methods = new Set<string>()
  const found = walk<T>(forest, path, (leaf, segments) => {
    const routes = [...leaf].filter(([, route]) => fits(route, segments))
    for (const [httpMethod] of routes) {
      for (const name of httpMethod === '*' ? commonMethods : [httpMethod]) methods.add(name)
    }
    return routes[0]?.[1]
  })
  if (found === undefined) return undefined
  if (methods.has('GET')) methods.add('HEAD')
  methods.add('OPTIONS')
  return [...methods].sort()
}

/**
 * Visits all templates that match a path until a visit returns a route. The most specific come
 * first: those with the verb at the end of the path before those without a verb, which take the
 * colon as text.
 */
function walk<T>(forest: Forest<T>, path: string, visit: Visit<T>): Found<T> | undefined {
  const colon = path.lastIndexOf(':')
  if (colon > path.lastIndexOf('/')) {
    const verb = decodeSingle(path.slice(colon + 1))
    const found = verb && walkTree(forest.get(verb), path.slice(0, colon), visit)
    if (found) return found
  }
  return walkTree(forest.get(''), path, visit)
}

function walkTree<T>(
  root: Node<T> | undefined,
  text: string,
  visit: Visit<T>,
): Found<T> | undefined {
  if (root === undefined) return undefined
  const path = new SegmentedPath(text)
  const route = walkNode(root, 0, path, visit)
  return route && { route, path }
}

/** The depth of the recursion is limited by the longest template, not by the path. */
function walkNode<T>(
  node: Node<T>,
  depth: number,
  path: SegmentedPath,
  visit: Visit<T>,
): Route<T> | undefined {
  let route: Route<T> | undefined
  if (depth < path.count) {
    route = walkChildren(node, depth, path, visit)
  } else if (!path.trailingSlash) {
    route = visit(node.leaf, path)
  }
  if (route !== undefined || node.multi === undefined) return route
  if (depth === path.count) return visit(node.multi.leaf, path)
  return path.nonEmptyFrom(depth)
    ? walkTail(node.multi, depth, path.count - 1, path, visit)
    : undefined
}

function walkChildren<T>(
  node: Node<T>,
  depth: number,
  path: SegmentedPath,
  visit: Visit<T>,
): Route<T> | undefined {
  const text = path.text(depth)
  if (text === '') return undefined
  const literal = text === undefined ? undefined : node.literals.get(text)
  let route = literal && walkNode(literal, depth + 1, path, visit)
  for (let i = 0; route === undefined && i < node.mixed.length; i++) {
    const mixed = node.mixed[i]
    // A segment that cannot be decoded is matched as received, to find the route that rejects it.
    if (mixed !== undefined && splitMixed(mixed.parts, text ?? path.raw(depth)) !== undefined) {
      route = walkNode(mixed.node, depth + 1, path, visit)
    }
  }
  return route ?? (node.single && walkNode(node.single, depth + 1, path, visit))
}

/**
 * Follows literals backwards from the segment `last`. At least the segment `first` is left for
 * `**`.
 */
function walkTail<T>(
  tail: Tail<T>,
  first: number,
  last: number,
  path: SegmentedPath,
  visit: Visit<T>,
): Route<T> | undefined {
  const text = last > first ? path.text(last) : undefined
  const longer = text === undefined ? undefined : tail.literals.get(text)
  return (longer && walkTail(longer, first, last - 1, path, visit)) ?? visit(tail.leaf, path)
}

/** The path matches the template and has only well-formed escapes. */
function valuesOf({ dialect, template }: Binding, path: SegmentedPath): string[] {
  const { segments, variables, multiAt } = template
  // Segments after `**` are counted from the end of the path.
  const shift = multiAt < 0 ? 0 : path.count - segments.length
  const indexInPath = (index: number) => (multiAt >= 0 && index > multiAt ? index + shift : index)
  const values: string[] = []
  for (const { start, end, multi, part } of variables) {
    const first = indexInPath(start)
    if (multi) {
      const decode = dialect.slashes === 'lenient' ? decodeSingle : decodeMulti
      values.push(decode(path.rawRange(first, indexInPath(end))) ?? '')
    } else {
      const text = path.text(first) ?? ''
      const segment = segments[start]
      values.push(
        segment?.kind === 'mixed' ? (splitMixed(segment.parts, text)?.[part] ?? '') : text,
      )
    }
  }
  return values
}

/**
 * Splits the decoded text of a segment at the parts of a mixed segment. Returns the values of its
 * variables in order, or undefined if the text does not match. No value is empty, and a variable
 * with alternatives has one of them. Each literal matches as far right as possible, the last
 * literal first.
 *
 * The search starts at the right end and tries the positions of a literal from right to left. A
 * position that has failed is not tried again, so the time is linear in the length of the text.
 */
export function splitMixed(parts: readonly MixedPart[], text: string): string[] | undefined {
  const search = new MixedSearch(parts, text)
  return search.fits(parts.length - 1, text.length) ? search.values : undefined
}

class MixedSearch {
  /** Values of the variables found so far, in order. */
  readonly values: string[] = []
  readonly #parts: readonly MixedPart[]
  readonly #text: string
  /** By part: the largest end at which a variable without alternatives is known not to match. */
  readonly #hopeless: number[]

  constructor(parts: readonly MixedPart[], text: string) {
    this.#parts = parts
    this.#text = text
    this.#hopeless = parts.map(() => 0)
  }

  /**
   * Returns whether the parts up to `last` match the text up to `end`, and stores their values if
   * so.
   */
  fits(last: number, end: number): boolean {
    const part = this.#parts[last]
    if (part === undefined) return end === 0
    if (part.kind === 'literal') {
      return this.#text.endsWith(part.text, end) && this.fits(last - 1, end - part.text.length)
    }
    return part.alternatives.length > 0
      ? this.#alternativeFits(part.alternatives, last, end)
      : this.#freeTextFits(last, end)
  }

  #alternativeFits(alternatives: readonly string[], last: number, end: number): boolean {
    for (const alternative of alternatives) {
      if (this.#text.endsWith(alternative, end) && this.fits(last - 1, end - alternative.length)) {
        this.values.push(alternative)
        return true
      }
    }
    return false
  }

  #freeTextFits(last: number, end: number): boolean {
    const hopeless = this.#hopeless[last] ?? 0
    if (end <= hopeless) return false
    const before = this.#parts[last - 1]
    if (before?.kind !== 'literal') {
      this.values.push(this.#text.slice(0, end))
      return true
    }
    const { length } = before.text
    // The variable has at least one character and starts after all positions that an earlier,
    // shorter end has tried.
    for (let start = end - 1; start >= length && start >= hopeless; start--) {
      const at = this.#text.lastIndexOf(before.text, start - length)
      if (at < 0) break
      start = at + length
      if (start < hopeless) break
      if (this.fits(last - 2, at)) {
        this.values.push(this.#text.slice(start, end))
        return true
      }
    }
    this.#hopeless[last] = end
    return false
  }
}

/**
 * Returns a text that is equal for two mixed segments if and only if they match the same texts in
 * the same way. Names of variables and the order of alternatives do not matter.
 */
export function mixedShape(parts: readonly MixedPart[]): string {
  return JSON.stringify(
    parts.map((part) => (part.kind === 'literal' ? part.text : part.alternatives)),
  )
}

/**
 * Compares mixed segments from the most to the least specific: with alternatives first, then with
 * more literal characters, then by shape. The order of declaration does not matter.
 */
export function compareMixed(a: readonly MixedPart[], b: readonly MixedPart[]): number {
  const byAlternatives = Number(hasAlternatives(b)) - Number(hasAlternatives(a))
  const byLiterals = literalLength(b) - literalLength(a)
  return byAlternatives || byLiterals || (mixedShape(a) < mixedShape(b) ? -1 : 1)
}

function hasAlternatives(parts: readonly MixedPart[]): boolean {
  return parts.some((part) => part.kind === 'variable' && part.alternatives.length > 0)
}

function literalLength(parts: readonly MixedPart[]): number {
  return parts.reduce((sum, part) => sum + (part.kind === 'literal' ? part.text.length : 0), 0)
}

/** The scheme of an absolute-form request target (RFC 3986 3.1). */
const scheme = /^[A-Za-z][A-Za-z0-9+\-.]*$/

/**
 * Returns the path of a request target as received (RFC 9112 3.2), without query, scheme and
 * authority. An absolute form without a path has the path `/`. Returns undefined for the forms `*`
 * and `host:port`.
 */
export function pathOf(target: string): string | undefined {
  const query = target.indexOf('?')
  const text = query < 0 ? target : target.slice(0, query)
  if (text.startsWith('/')) return text
  const authority = text.indexOf('://')
  if (authority < 0 || !scheme.test(text.slice(0, authority))) return undefined
  const slash = text.indexOf('/', authority + 3)
  return slash < 0 ? '/' : text.slice(slash)
}

/** Returns a path without trailing and doubled slashes. */
export function mergeSlashes(path: string): string {
  return `/${path.split('/').filter(Boolean).join('/')}`
}

/** A path that was split at its slashes before decoding. */
export class SegmentedPath {
  /** Number of segments without the empty one after a trailing slash. */
  readonly count: number
  /** Whether the path has a trailing slash. The root path has none. */
  readonly trailingSlash: boolean
  readonly #raw: string[] = []
  /**
   * Decoded segments: the raw ones if the path has no escapes, otherwise decoded when first used.
   */
  readonly #texts: (string | undefined)[]

  /** @param path a path that starts with a slash. */
  constructor(path: string) {
    let start = 1
    for (let slash = path.indexOf('/', 1); slash >= 0; slash = path.indexOf('/', start)) {
      this.#raw.push(path.slice(start, slash))
      start = slash + 1
    }
    if (start < path.length) this.#raw.push(path.slice(start))
    this.count = this.#raw.length
    this.trailingSlash = start === path.length && start > 1
    this.#texts = path.includes('%') ? [] : this.#raw
  }

  /** Returns whether there are segments at and after an index, all of them non-empty. */
  nonEmptyFrom(index: number): boolean {
    return index < this.count && !this.trailingSlash && !this.#raw.includes('', index)
  }

  /** Returns a segment as received. */
  raw(index: number): string {
    return this.#raw[index] ?? ''
  }

  /** Returns the segments from `start` up to `end`, exclusive, as received with their slashes. */
  rawRange(start: number, end: number): string {
    return this.#raw.slice(start, end).join('/')
  }

  /** Returns a segment decoded; undefined if it has a malformed escape. */
  text(index: number): string | undefined {
    if (index in this.#texts) return this.#texts[index]
    const text = decodeSingle(this.raw(index))
    this.#texts[index] = text
    return text
  }

  /** Returns the index of the first segment with a malformed escape, or -1. */
  malformedAt(): number {
    if (this.#texts === this.#raw) return -1
    for (let i = 0; i < this.count; i++) if (this.text(i) === undefined) return i
    return -1
  }
}
