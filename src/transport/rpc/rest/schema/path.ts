import { decodeSingle } from './percent.ts'

/** RFC 3986 3.1, the scheme of an absolute-form request target. */
const scheme = /^[A-Za-z][A-Za-z0-9+\-.]*$/

/**
 * The path of a request target as received (RFC 9112 3.2): without query, and without scheme and
 * authority of an absolute form, which has the path `/` if it names none. `undefined` for the other
 * forms, `*` and `host:port`.
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

/** A path without trailing slashes and with doubled ones merged. */
export function mergeSlashes(path: string): string {
  return `/${path.split('/').filter(Boolean).join('/')}`
}

/** A path cut into segments at its slashes, which are cut before anything is decoded. */
export class SegmentedPath {
  /** Number of segments, without the empty one after a trailing slash. */
  readonly count: number
  /**
   * Whether an empty segment follows the last one. The slash of the root path is not a trailing
   * one.
   */
  readonly trailingSlash: boolean
  readonly #raw: string[] = []
  /**
   * Decoded segments: the raw ones if nothing is escaped, otherwise filled in as they are asked
   * for.
   */
  readonly #texts: (string | undefined)[]

  /** Takes a path that starts with a slash. */
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

  /** Whether there are segments from an index on, all of them with at least one character. */
  nonEmptyFrom(index: number): boolean {
    return index < this.count && !this.trailingSlash && !this.#raw.includes('', index)
  }

  /** The segment as received. */
  raw(index: number): string {
    return this.#raw[index] ?? ''
  }

  /**
   * The segments from `start` up to `end`, exclusive, as received, with the slashes between them.
   */
  rawRange(start: number, end: number): string {
    return this.#raw.slice(start, end).join('/')
  }

  /** The segment decoded; `undefined` if it has a malformed escape. */
  text(index: number): string | undefined {
    if (index in this.#texts) return this.#texts[index]
    const text = decodeSingle(this.raw(index))
    this.#texts[index] = text
    return text
  }

  /** Index of the first segment with a malformed escape, or -1. */
  malformedAt(): number {
    if (this.#texts === this.#raw) return -1
    for (let i = 0; i < this.count; i++) if (this.text(i) === undefined) return i
    return -1
  }
}
