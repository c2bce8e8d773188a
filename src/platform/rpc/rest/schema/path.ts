import { decodeSingle } from './percent.ts'

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
