import type { ListValue } from '@bufbuild/protobuf/wkt'
import { DomainError } from '../../domain/core/errors.ts'

/**
 * What a list holds that is a value because no list is something else than an empty one: texts.
 * @throws INVALID_FIELD
 */
export function textsOf(field: string, { values }: ListValue): string[] {
  return values.map(({ kind }) => {
    if (kind.case !== 'stringValue') throw new DomainError('INVALID_FIELD', { field })
    return kind.value
  })
}

/** The same where it holds whole numbers. */
export function numbersOf(field: string, { values }: ListValue): number[] {
  return values.map(({ kind }) => {
    if (kind.case !== 'numberValue' || !Number.isInteger(kind.value))
      throw new DomainError('INVALID_FIELD', { field })
    return kind.value
  })
}
