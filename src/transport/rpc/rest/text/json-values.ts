import type { DescEnum, JsonValue } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { enumNumbers, isEnumNumber } from './enum-text.ts'
import { FieldError } from './field-error.ts'
import { isInt64, isJsonNumber, scalarText } from './scalar-text.ts'

/** Converts a JSON value to what protobuf-es stores for it. Throws FieldError without a field. */
export type ReadValue = (json: JsonValue) => unknown

/**
 * The reader of a scalar in the proto3 JSON mapping; 64-bit integers become decimal strings with
 * `longAsString`.
 */
export function scalarReader(type: ScalarType, longAsString: boolean): ReadValue {
  switch (type) {
    case ScalarType.STRING:
      return (json) => (typeof json === 'string' ? json : refuse('expected a string'))
    case ScalarType.BOOL:
      return (json) => (typeof json === 'boolean' ? json : refuse('expected true or false'))
    case ScalarType.BYTES: {
      const { parse } = scalarText(type)
      return (json) =>
        (typeof json === 'string' ? parse(json) : undefined) ?? refuse('expected base64')
    }
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return floatingReader(type)
    default: {
      const read = integerReader(type)
      return longAsString && isInt64(type) ? (json) => String(read(json)) : read
    }
  }
}

function floatingReader(type: ScalarType): ReadValue {
  const { expected, parse } = scalarText(type)
  return (json) => {
    // The number itself, because its text has lost the sign of zero.
    if (typeof json === 'number' && parse(String(json)) !== undefined) return json
    const value = typeof json === 'string' ? parse(json) : undefined
    return value ?? refuse(`expected ${expected}`)
  }
}

/**
 * Integers may have a fraction of zero and an exponent, quoted or not: `1e3` and `"1.0"` are whole
 * numbers.
 */
function integerReader(type: ScalarType): ReadValue {
  const { expected, parse } = scalarText(type)
  const fromNumber = (number: number) =>
    Number.isSafeInteger(number) ? parse(String(number)) : undefined
  return (json) => {
    let value: unknown
    if (typeof json === 'string')
      value = parse(json) ?? (isJsonNumber(json) ? fromNumber(Number(json)) : undefined)
    if (typeof json === 'number') {
      // Digits beyond 2^53-1 are lost already: better no answer than one about another number.
      if (isInt64(type) && Math.abs(json) > Number.MAX_SAFE_INTEGER)
        refuse('expected a string for numbers beyond 2^53-1')
      value = fromNumber(json)
    }
    return value ?? refuse(`expected ${expected}`)
  }
}

/**
 * The reader of an enum: by name, REST text or number. `null` is the one value of
 * google.protobuf.NullValue.
 */
export function enumReader(desc: DescEnum): ReadValue {
  const numbers = enumNumbers(desc)
  const isNullValue = desc.typeName === 'google.protobuf.NullValue'
  return (json) => {
    let number: number | undefined
    if (typeof json === 'string') number = numbers.get(json)
    if (typeof json === 'number') number = json
    if (json === null && isNullValue) number = 0
    // Adding zero turns -0 into 0.
    return number !== undefined && isEnumNumber(desc, number)
      ? number + 0
      : refuse(`expected a value of ${desc.typeName}`)
  }
}

function refuse(reason: string): never {
  throw new FieldError('', reason)
}
