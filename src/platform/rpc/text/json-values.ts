import type { DescEnum, JsonValue } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { enumNumbers, isEnumNumber } from './enum-text.ts'
import { FieldError } from './field-error.ts'
import { isInt64, isJsonNumber, scalarText } from './scalar-text.ts'

/** Returns a JSON value as protobuf-es stores it. Throws FieldError without a field. */
export type ReadValue = (json: JsonValue) => unknown

/**
 * Returns the reader of a scalar in the proto3 JSON mapping.
 *
 * @param longAsString whether 64-bit integers become decimal strings.
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
    // Returns the number itself, because its text has lost the sign of zero.
    if (typeof json === 'number' && parse(String(json)) !== undefined) return json
    const value = typeof json === 'string' ? parse(json) : undefined
    return value ?? refuse(`expected ${expected}`)
  }
}

/**
 * Returns the reader of an integer. A fraction of zero and an exponent are valid, quoted or not:
 * `1e3`, `"1.0"`.
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
      // JSON.parse has lost digits of a number beyond 2^53-1, so the value may be wrong.
      if (isInt64(type) && Math.abs(json) > Number.MAX_SAFE_INTEGER)
        refuse('expected a string for numbers beyond 2^53-1')
      value = fromNumber(json)
    }
    return value ?? refuse(`expected ${expected}`)
  }
}

/**
 * Returns the reader of an enum by name, REST text or number. `null` is the value of
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
