import type { DescEnum } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { enumTexts } from './enum-text.ts'
import type { JsonDialect } from './json-dialect.ts'
import { isInt64 } from './scalar-text.ts'

/** Prints what protobuf-es stores for a value as JSON text. */
export type Print = (value: unknown) => string

/**
 * Up to this length, looking for characters to escape by regular expression beats calling
 * JSON.stringify.
 */
const SHORT_STRING = 64

// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 8259 section 7 has them escaped.
const escaped = /[\u0000-\u001f"\\\ud800-\udfff]/

/** Prints a JSON string. */
export function quote(text: string): string {
  return text.length <= SHORT_STRING && !escaped.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** The printer of a scalar in proto3 JSON; the dialect decides on 64-bit integers. */
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
  // String() drops the sign of zero, which is a value of its own: fields at negative zero are not
  // at their default.
  if (Object.is(value, -0)) return '-0'
  return Number.isFinite(value) ? String(value) : printQuoted(value)
}

/** Prints bytes in padded standard base64. */
export function printBytes(bytes: Uint8Array): string {
  return `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}"`
}

/**
 * The printer of an enum: REST text or name, the number where no value has it, `null` for the one
 * NullValue.
 */
export function enumPrinter(desc: DescEnum): Print {
  if (desc.typeName === 'google.protobuf.NullValue') return () => 'null'
  const texts = new Map([...enumTexts(desc)].map(([number, text]) => [number, quote(text)]))
  return (value) => texts.get(value as number) ?? String(value)
}

/** Beyond 2^53-1 most readers lose digits of numbers, so the text is quoted again. */
function printInt64AsNumber(value: unknown): string {
  return Number.isSafeInteger(Number(value)) ? String(value) : printQuoted(value)
}

function printQuoted(value: unknown): string {
  return `"${value}"`
}
