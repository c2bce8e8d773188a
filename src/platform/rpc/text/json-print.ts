import type { DescEnum } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { enumTexts } from './enum-text.ts'
import type { JsonDialect } from './json-dialect.ts'
import { isInt64 } from './scalar-text.ts'

/** Prints a value that protobuf-es stores as JSON text. */
export type Print = (value: unknown) => string

/**
 * Longest string for which a regular expression finds characters to escape faster than
 * JSON.stringify.
 */
const SHORT_STRING = 64

// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 8259 section 7 has them escaped.
const escaped = /[\u0000-\u001f"\\\ud800-\udfff]/

/** Prints a JSON string. */
export function quote(text: string): string {
  return text.length <= SHORT_STRING && !escaped.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** Returns the printer of a scalar in proto3 JSON. */
export function scalarPrinter(type: ScalarType, dialect: JsonDialect): Print {
  if (isInt64(type)) return dialect.int64 === 'number' ? printInt64AsNumber : printQuoted
  switch (type) {
    case ScalarType.STRING:
      return (value) => quote(value as string)
    case ScalarType.BYTES:
      return (value) => printBytes(value as Uint8Array)
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return printFloating
    default:
      return String
  }
}

function printFloating(value: unknown): string {
  // String() drops the sign of zero. Negative zero is not the default value.
  if (Object.is(value, -0)) return '-0'
  return Number.isFinite(value) ? String(value) : printQuoted(value)
}

/** Prints bytes in padded standard base64. */
export function printBytes(bytes: Uint8Array): string {
  return `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}"`
}

/**
 * Returns the printer of an enum: the REST text or name, the number for an undeclared value, `null`
 * for NullValue.
 */
export function enumPrinter(desc: DescEnum): Print {
  if (desc.typeName === 'google.protobuf.NullValue') return () => 'null'
  const texts = new Map([...enumTexts(desc)].map(([number, text]) => [number, quote(text)]))
  return (value) => texts.get(value as number) ?? String(value)
}

/** Most JSON parsers lose digits of numbers beyond 2^53-1, so those are printed as strings. */
function printInt64AsNumber(value: unknown): string {
  return Number.isSafeInteger(Number(value)) ? String(value) : printQuoted(value)
}

function printQuoted(value: unknown): string {
  return `"${value}"`
}
