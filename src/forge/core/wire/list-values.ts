import type { ListValue } from '@bufbuild/protobuf/wkt'
import { DomainError } from '../errors.ts'

/**
 * Returns the strings of a ListValue. Requests use ListValue where an absent list differs from an
 * empty one.
 */
export function textsOf(field: string, { values }: ListValue): string[] {
  return values.map(({ kind }) => {
    if (kind.case !== 'stringValue') throw new DomainError('INVALID_FIELD', { field })
    return kind.value
  })
}

/** Returns the integers of a ListValue. */
export function numbersOf(field: string, { values }: ListValue): number[] {
  return values.map(({ kind }) => {
    if (kind.case !== 'numberValue' || !Number.isInteger(kind.value))
      throw new DomainError('INVALID_FIELD', { field })
    return kind.value
  })
}
