import { hash } from 'node:crypto'

/**
 * A row as text, in a form that belongs to neither database: a JSON array with the values of its
 * columns. Equal rows have equal texts.
 */
export type RowText = string

/**
 * A value of a row. Numbers are integers. The objects are what JSON has no form for: bytes, integers
 * beyond 53 bits and, in SQLite only, fractions.
 */
export type RowValue =
  | null
  | number
  | string
  | { readonly base64: string }
  | { readonly integer: string }
  | { readonly fraction: string }

/** Rows that cannot be moved. The message is a sentence for the operator. */
export class RowsRefusedError extends Error {
  override readonly name = 'RowsRefusedError'
}

/** Returns the value of an integer. */
export function integerValue(integer: bigint): RowValue {
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : { integer: integer.toString() }
}

/** Returns the value of bytes. */
export function bytesValue(bytes: Uint8Array): RowValue {
  return { base64: Buffer.from(bytes).toString('base64') }
}

/** Returns the value of a number that is not an integer. */
export function fractionValue(number: number): RowValue {
  return { fraction: String(number) }
}

export function rowText(values: readonly RowValue[]): RowText {
  return JSON.stringify(values)
}

/**
 * Returns the values of a row.
 *
 * @throws RowsRefusedError when the text is not that of a row with this number of columns.
 */
export function rowValues(text: RowText, columns: number): RowValue[] {
  const values = parsed(text)
  if (!Array.isArray(values) || values.length !== columns || !values.every(isRowValue))
    throw new RowsRefusedError('the archive contains a row that cannot be read')
  return values
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isRowValue(value: unknown): value is RowValue {
  if (value === null || typeof value === 'string') return true
  if (typeof value === 'number') return Number.isSafeInteger(value)
  if (typeof value !== 'object') return false
  const [entry, ...others] = Object.entries(value as object)
  if (!entry || others.length > 0) return false
  const [kind, text] = entry
  return typeof text === 'string' && FORMS.get(kind)?.test(text) === true
}

const FORMS: ReadonlyMap<string, RegExp> = new Map([
  ['base64', /^[A-Za-z0-9+/]*={0,2}$/],
  ['integer', /^-?\d{16,19}$/],
  ['fraction', /^-?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|Infinity)$/],
])

/** The number of rows of a table and a sum of their contents, for comparison. */
export interface RowSummary {
  readonly rows: number
  /** In hexadecimal. */
  readonly sum: string
}

/** The number of 32-bit words of SHA-256. */
const WORDS = 8

/**
 * A sum of the SHA-256 digests of rows. The order of the rows has no influence, because the two
 * databases sort texts with the character U+0000 differently.
 */
export class RowSum {
  readonly #words = new Uint32Array(WORDS)
  #rows = 0

  add(row: RowText): void {
    const digest = hash('sha256', row, 'buffer')
    // The elements of the array wrap around at 2^32.
    for (let i = 0; i < WORDS; i++)
      this.#words[i] = (this.#words[i] as number) + digest.readUInt32BE(4 * i)
    this.#rows += 1
  }

  get summary(): RowSummary {
    const sum = [...this.#words].map((word) => word.toString(16).padStart(8, '0')).join('')
    return { rows: this.#rows, sum }
  }
}
