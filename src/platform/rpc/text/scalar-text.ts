import {
  type DescEnum,
  type DescEnumValue,
  getOption,
  hasOption,
  ScalarType,
} from '@bufbuild/protobuf'
import { enum_value as enumValueOption } from '#gen/rest/v1/rest_pb.ts'

/** The largest finite value of a 32-bit float (IEEE 754 binary32). */
const FLOAT32_MAX = 3.4028234663852886e38

/** Digits of the longest 64-bit integer, 18446744073709551615. */
const MAX_INT64_DIGITS = 20

/** The text form of a scalar type. */
interface ScalarText {
  readonly expected: string
  readonly parse: (text: string) => unknown
}

const int32 = intervalOf('a 32-bit integer', -(2n ** 31n), 2n ** 31n - 1n, Number)
const uint32 = intervalOf('an unsigned 32-bit integer', 0n, 2n ** 32n - 1n, Number)
const int64 = intervalOf('a 64-bit integer', -(2n ** 63n), 2n ** 63n - 1n, (value) => value)
const uint64 = intervalOf('an unsigned 64-bit integer', 0n, 2n ** 64n - 1n, (value) => value)

const byType: Readonly<Record<ScalarType, ScalarText>> = {
  [ScalarType.STRING]: { expected: 'a string', parse: (text) => text },
  [ScalarType.BOOL]: { expected: 'true or false', parse: parseBool },
  [ScalarType.BYTES]: { expected: 'base64', parse: parseBase64 },
  [ScalarType.FLOAT]: {
    expected: 'a 32-bit number',
    parse: (text) => parseFloating(text, FLOAT32_MAX),
  },
  [ScalarType.DOUBLE]: {
    expected: 'a number',
    parse: (text) => parseFloating(text, Number.MAX_VALUE),
  },
  [ScalarType.INT32]: int32,
  [ScalarType.SINT32]: int32,
  [ScalarType.SFIXED32]: int32,
  [ScalarType.UINT32]: uint32,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.INT64]: int64,
  [ScalarType.SINT64]: int64,
  [ScalarType.SFIXED64]: int64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.FIXED64]: uint64,
}

/**
 * Returns the text form of a scalar type in paths, queries and map keys. Integers are decimal
 * digits with an optional minus: 32-bit ones parse to numbers, 64-bit ones to bigints. Floats are
 * JSON numbers, `NaN` and `±Infinity`. Bytes are base64 in either alphabet, with or without
 * padding.
 */
export function scalarText(type: ScalarType): ScalarText {
  return byType[type]
}

/**
 * Returns whether a scalar type is a 64-bit integer, which is a bigint or a decimal string in
 * memory.
 */
export function isInt64(type: ScalarType): boolean {
  return byType[type] === int64 || byType[type] === uint64
}

/** Returns whether a scalar type is an integer of any size. */
export function isIntegerType(type: ScalarType): boolean {
  return isInt64(type) || byType[type] === int32 || byType[type] === uint32
}

function intervalOf<T>(
  expected: string,
  min: bigint,
  max: bigint,
  convert: (value: bigint) => T,
): ScalarText {
  return {
    expected,
    parse: (text) => {
      const value = parseInteger(text)
      return value === undefined || value < min || value > max ? undefined : convert(value)
    },
  }
}

function parseInteger(text: string): bigint | undefined {
  if (!/^-?[0-9]+$/.test(text)) return undefined
  const negative = text.startsWith('-')
  const digits = text.slice(negative ? 1 : 0).replace(/^0+(?=[0-9])/, '')
  // BigInt() takes quadratic time, so text that is too long for the range is rejected first.
  if (digits.length > MAX_INT64_DIGITS) return undefined
  return negative ? -BigInt(digits) : BigInt(digits)
}

function parseBool(text: string): boolean | undefined {
  switch (text.toLowerCase()) {
    case 'true':
    case '1':
      return true
    case 'false':
    case '0':
      return false
    default:
      return undefined
  }
}

/** Returns whether text is a JSON number (RFC 8259 section 6). */
export function isJsonNumber(text: string): boolean {
  return /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(text)
}

function parseFloating(text: string, max: number): number | undefined {
  if (text === 'NaN') return Number.NaN
  if (text === 'Infinity') return Number.POSITIVE_INFINITY
  if (text === '-Infinity') return Number.NEGATIVE_INFINITY
  if (!isJsonNumber(text)) return undefined
  const value = Number(text)
  return Math.abs(value) > max ? undefined : value
}

function parseBase64(text: string): Uint8Array | undefined {
  const match = /^([A-Za-z0-9+/_-]*)(={0,2})$/.exec(text)
  if (match === null) return undefined
  const [, digits = '', padding = ''] = match
  // RFC 4648 section 4: four characters encode three bytes. A single remaining character encodes no
  // byte.
  if (digits.length % 4 === 1 || (padding !== '' && text.length % 4 !== 0)) return undefined
  // Copied, because small buffers of Node share one pool.
  return new Uint8Array(Buffer.from(digits, 'base64'))
}

const numbersByEnum = new WeakMap<DescEnum, ReadonlyMap<string, number>>()

/**
 * Returns the numbers of an enum by the names and the REST texts of its values. A name takes
 * precedence over the text of another value.
 */
export function enumNumbers(desc: DescEnum): ReadonlyMap<string, number> {
  let numbers = numbersByEnum.get(desc)
  if (numbers === undefined) {
    numbers = new Map([
      ...desc.values.map((value) => [restText(value), value.number] as const),
      ...desc.values.map((value) => [value.name, value.number] as const),
    ])
    numbersByEnum.set(desc, numbers)
  }
  return numbers
}

/**
 * Returns the texts of an enum by number: the REST text of the first value with the number, or else
 * its name.
 */
export function enumTexts(desc: DescEnum): ReadonlyMap<number, string> {
  return new Map(Object.values(desc.value).map((value) => [value.number, restText(value)]))
}

/**
 * Returns whether an enum field can store a number: any 32-bit integer in an open enum, a declared
 * value in a closed one.
 */
export function isEnumNumber(desc: DescEnum, number: number): boolean {
  return desc.open ? number === (number | 0) : desc.value[number] !== undefined
}

function restText(value: DescEnumValue): string {
  // `getOption` builds a message type, and most values have no option.
  const text = hasOption(value, enumValueOption) ? getOption(value, enumValueOption).text : ''
  return text || value.name
}
