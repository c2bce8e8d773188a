import type { SourcePerson } from '../project-records.ts'

/** JSON of another server. */
export type SourceValue =
  | string
  | number
  | boolean
  | null
  | readonly SourceValue[]
  | { readonly [key: string]: SourceValue }

/**
 * An object in a response of another server. A property with another type than the documented one counts
 * as missing, so that one strange value does not lose the rest.
 */
export class SourceObject {
  readonly #value: { readonly [key: string]: SourceValue }

  private constructor(value: { readonly [key: string]: SourceValue }) {
    this.#value = value
  }

  static of(value: SourceValue | undefined): SourceObject {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return new SourceObject(isObject ? (value as { readonly [key: string]: SourceValue }) : {})
  }

  static listOf(value: SourceValue | undefined): readonly SourceObject[] {
    return Array.isArray(value) ? value.map((one) => SourceObject.of(one)) : []
  }

  /** Returns whether a property has a value. */
  has(key: string): boolean {
    return (this.#value[key] ?? null) !== null
  }

  /** Returns a text without null bytes, which PostgreSQL does not store; empty if it is missing. */
  text(key: string): string {
    const value = this.#value[key]
    return typeof value === 'string' ? value.replaceAll('\0', '') : ''
  }

  /** Returns a whole number from 0; 0 if it is missing. */
  number(key: string): number {
    const value = this.#value[key]
    return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : 0
  }

  flag(key: string): boolean {
    return this.#value[key] === true
  }

  /** Returns a time in Unix seconds; null if it is missing, or a date that means none. */
  time(key: string): number | null {
    const ms = Date.parse(this.text(key))
    return ms > 0 ? Math.floor(ms / 1000) : null
  }

  part(key: string): SourceObject {
    return SourceObject.of(this.#value[key])
  }

  parts(key: string): readonly SourceObject[] {
    return SourceObject.listOf(this.#value[key])
  }

  /** Returns the texts of a list. */
  texts(key: string): readonly string[] {
    const value = this.#value[key]
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
  }

  /** Returns the whole numbers above 0 of a list. */
  numbers(key: string): readonly number[] {
    const value = this.#value[key]
    if (!Array.isArray(value)) return []
    return value.filter((one) => typeof one === 'number' && Number.isSafeInteger(one) && one > 0)
  }

  /** Returns the id of the object as a text. */
  get id(): string {
    return String(this.number('id'))
  }

  /** Returns an account, whose properties for login and name differ among servers. */
  person(key: string, login: string, name: string): SourcePerson {
    const account = this.part(key)
    return { id: account.number('id'), login: account.text(login), name: account.text(name) }
  }
}

const COMMIT = /^[0-9a-f]{40}$/

/** Returns the id of a commit; empty for another text. */
export function commitIn(text: string): string {
  return COMMIT.test(text) ? text : ''
}

/** Returns a UUID; empty for another text. */
export function uuidIn(text: string): string {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : ''
}

/**
 * Returns the results of some work for each item, in their order. At most four run at a time, which
 * servers accept from one client.
 */
export async function* resultsInOrder<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const waiting: Promise<R>[] = []
  let begun = 0
  const begin = () => {
    const item = items[begun]
    if (item === undefined) return
    begun += 1
    const result = work(item)
    // The consumer may stop before it reads the failure.
    result.catch(() => {})
    waiting.push(result)
  }
  while (begun < Math.min(items.length, MAX_PARALLEL)) begin()
  for (let first = waiting.shift(); first; first = waiting.shift()) {
    yield await first
    begin()
  }
}

const MAX_PARALLEL = 4
