import { checkBody, readTitle } from '../conversations/conversation-fields.ts'
import { DomainError } from '../core/errors.ts'
import type { ExchangeRecord, RecordValue } from './exchange-records.ts'

/**
 * Records of an import, in the form that an export has. Errors name the record by its position, from
 * 1.
 */
export class ImportRecord {
  readonly #value: ExchangeRecord
  readonly #where: string

  constructor(value: ExchangeRecord, where: string) {
    this.#value = value
    this.#where = where
  }

  /** @throws INVALID_FIELD */
  refuse(rule: string): never {
    throw new DomainError('INVALID_FIELD', { field: 'records', rule: `${this.#where}: ${rule}` })
  }

  /** Returns a text; empty if the property is missing. */
  text(key: string): string {
    const value = this.#value[key] ?? ''
    // PostgreSQL stores no null bytes.
    return typeof value === 'string' && !value.includes('\0')
      ? value
      : this.refuse(`${key} is a text without null bytes`)
  }

  /** Returns a text of at most 65,536 characters. */
  body(key: string): string {
    const text = this.text(key)
    checkBody(text)
    return text
  }

  title(key: string): string {
    return readTitle(this.text(key)) || this.refuse(`${key} is required`)
  }

  flag(key: string): boolean {
    return this.#value[key] === true
  }

  /** Returns a whole number from 1; 0 if the property is missing. */
  number(key: string): number {
    const value = this.#value[key] ?? 0
    const isNumber = Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31
    return isNumber ? Number(value) : this.refuse(`${key} is a number`)
  }

  /** Returns a time in Unix seconds; null if the property is missing. */
  time(key: string): number | null {
    const text = this.text(key)
    if (text === '') return null
    const ms = /^\d{4}-\d{2}-\d{2}[Tt]/.test(text) ? Date.parse(text) : Number.NaN
    return ms >= 0 ? Math.floor(ms / 1000) : this.refuse(`${key} is a time`)
  }

  /** Returns an object; undefined if the property is missing. */
  part(key: string): ImportRecord | undefined {
    const value = this.#value[key] ?? null
    return value === null ? undefined : this.#partOf(value, key)
  }

  /** Returns the objects of a list, of at most 10,000. */
  parts(key: string): ImportRecord[] {
    const value = this.#value[key] ?? []
    if (!Array.isArray(value) || value.length > 10_000) return this.refuse(`${key} is a list`)
    return value.map((one) => this.#partOf(one, key))
  }

  /** Returns the name of a label or the title of a milestone, which may stand for the object. */
  names(key: string, property: string): string[] {
    const value = this.#value[key] ?? []
    const all = Array.isArray(value) ? value : [value]
    return all
      .map((one) => (typeof one === 'string' ? one : this.#partOf(one, key).text(property)))
      .filter((name) => name !== '')
  }

  #partOf(value: RecordValue, key: string): ImportRecord {
    if (typeof value === 'string') return new ImportRecord({ login: value }, this.#where)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return new ImportRecord(value, this.#where)
    return this.refuse(`${key} has objects`)
  }
}
