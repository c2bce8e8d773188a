import pg from 'pg'

/**
 * The types whose values differ from those of SQLite: 64-bit integers and sums are numbers, a
 * boolean is 0 or 1, and JSON is text. All numbers of the schema fit into 53 bits.
 */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [pg.types.builtins.BOOL]: (text) => (text === 't' ? 1 : 0),
  [pg.types.builtins.INT8]: Number,
  [pg.types.builtins.NUMERIC]: Number,
  [pg.types.builtins.TEXT]: decodeText,
  [pg.types.builtins.JSON]: (text) => text,
  [pg.types.builtins.JSONB]: (text) => text,
}

/** Returns the function that reads the values of a type. */
export function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  return PARSERS[oid] ?? (pg.types.getTypeParser(oid, format as 'text') as (v: string) => unknown)
}

/**
 * PostgreSQL has no texts with the character U+0000, so a noncharacter stands for it
 * (https://www.unicode.org/faq/private_use.html#noncharacters), and twice for itself.
 */
const STAND_IN = '\uFDD0'

function encodeText(text: string): string {
  if (!text.includes('\0') && !text.includes(STAND_IN)) return text
  return text.replaceAll(STAND_IN, STAND_IN + STAND_IN).replaceAll('\0', `${STAND_IN}0`)
}

function decodeText(text: string): string {
  if (!text.includes(STAND_IN)) return text
  return text.replace(/\uFDD0(.)/gs, (_, next: string) => (next === '0' ? '\0' : STAND_IN))
}

/**
 * Returns a value as PostgreSQL takes it. SQLite compares any two numbers. PostgreSQL refuses one
 * beyond 64 bits, so the last number in 64 bits, which no row has either, takes its place.
 */
export function encodeValue(value: unknown): unknown {
  if (typeof value === 'string') return encodeText(value)
  if (typeof value !== 'number' && typeof value !== 'bigint') return value
  if (value >= MAX_BIGINT) return MAX_BIGINT
  return value <= MIN_BIGINT ? MIN_BIGINT : value
}

const MAX_BIGINT = 2n ** 63n - 1n
const MIN_BIGINT = -(2n ** 63n)

/** A parameter as it is sent: a text, or the bytes of a `bytea`. */
export type SentValue = string | Buffer | null

/** Returns parameters as they are sent; undefined when one has a type that only `pg` can send. */
export function sentValues(values: readonly unknown[]): SentValue[] | undefined {
  const sent: SentValue[] = []
  for (const value of values) {
    const encoded = encodeValue(value)
    if (typeof encoded === 'string' || encoded === null || Buffer.isBuffer(encoded))
      sent.push(encoded)
    else if (typeof encoded === 'number' || typeof encoded === 'bigint') sent.push(String(encoded))
    else return undefined
  }
  return sent
}
