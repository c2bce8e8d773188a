import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  ScalarType,
} from '@bufbuild/protobuf'
import {
  DurationSchema,
  FieldMaskSchema,
  isWrapperDesc,
  TimestampSchema,
} from '@bufbuild/protobuf/wkt'
import { isUnwrapped } from './message-fields.ts'
import { enumNumbers, isEnumNumber, isInt64, scalarText } from './scalar-text.ts'
import { parseDuration, parseFieldMask, parseTimestamp } from './well-known-text.ts'

/** The text form of a field, or of one element of a repeated field, in a path or query. */
export interface FieldText {
  /** The expected text, to complete the sentence `expected …`. */
  readonly expected: string
  /** The kind of value. Lenient dialects accept invalid text for numbers and booleans. */
  readonly kind: 'number' | 'bool' | 'other'
  /** Returns the value as protobuf-es stores it in the field; undefined for invalid text. */
  readonly parse: (text: string) => unknown
}

/**
 * Returns the text form of a field; undefined for maps and for messages other than wrappers,
 * Timestamp, Duration and FieldMask.
 */
export function fieldText(field: DescField): FieldText | undefined {
  if (field.fieldKind === 'map') return undefined
  if (field.enum !== undefined) return enumText(field.enum)
  if (field.message === undefined) return scalarFieldText(field.scalar, field.longAsString)
  return isWrapperDesc(field.message)
    ? wrapperText(field.message, isUnwrapped(field))
    : wellKnownText(field.message)
}

function scalarFieldText(type: ScalarType, longAsString: boolean): FieldText {
  const { expected, parse } = scalarText(type)
  const kind = kindOf(type)
  if (!longAsString || !isInt64(type)) return { expected, kind, parse }
  return { expected, kind, parse: (text) => parse(text)?.toString() }
}

function kindOf(type: ScalarType): FieldText['kind'] {
  if (type === ScalarType.BOOL) return 'bool'
  return type === ScalarType.STRING || type === ScalarType.BYTES ? 'other' : 'number'
}

function wrapperText(
  desc: DescMessage & { fields: [DescField & { fieldKind: 'scalar' }] },
  unwrapped: boolean,
): FieldText {
  const text = scalarFieldText(desc.fields[0].scalar, false)
  if (unwrapped) return text
  return { ...text, parse: messageParser(desc, (value) => wrap(text.parse(value))) }
}

function wrap(value: unknown): Record<string, unknown> | undefined {
  return value === undefined ? undefined : { value }
}

function enumText(desc: DescEnum): FieldText {
  const numbers = enumNumbers(desc)
  const { parse: parseNumber } = scalarText(ScalarType.INT32)
  return {
    expected: `a value of ${desc.typeName}`,
    kind: 'other',
    parse: (text) => {
      const number = numbers.get(text) ?? parseNumber(text)
      return typeof number === 'number' && isEnumNumber(desc, number) ? number : undefined
    },
  }
}

function wellKnownText(desc: DescMessage): FieldText | undefined {
  switch (desc.typeName) {
    case TimestampSchema.typeName:
      return messageText('an RFC 3339 timestamp', messageParser(desc, parseTimestamp))
    case DurationSchema.typeName:
      return messageText('seconds with the suffix s', messageParser(desc, parseDuration))
    case FieldMaskSchema.typeName:
      return messageText('field paths separated by commas', messageParser(desc, parseFieldMask))
    default:
      return undefined
  }
}

function messageText(expected: string, parse: (text: string) => unknown): FieldText {
  return { expected, kind: 'other', parse }
}

function messageParser(
  desc: DescMessage,
  parse: (text: string) => Record<string, unknown> | undefined,
): (text: string) => unknown {
  return (text) => {
    const init = parse(text)
    return init && create(desc, init)
  }
}
