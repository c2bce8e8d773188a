import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { DomainError } from '../../domain/core/errors.ts'

/** The fields of a resource, by proto name, as far as an update may name them. */
export interface UpdatableFields<Field extends string> {
  /** What a mask may change. */
  readonly mutable: readonly Field[]
  /** Identifier and output-only fields: accepted in a mask, without effect (AIP-203). */
  readonly fixed: readonly string[]
}

/** The fields that an update changes. */
export interface UpdatePaths<Field extends string> {
  readonly fields: ReadonlySet<Field>
  /** The mask was `*`: every mutable field, rather than fields that the caller named. */
  readonly all: boolean
}

/**
 * Reads an update mask: paths in snake_case or lowerCamelCase, in any order; `*` for every mutable
 * field.
 *
 * @throws EMPTY_MASK without a single path, UNKNOWN_MASK_PATH for a path that is no field.
 */
export function readUpdateMask<Field extends string>(
  mask: FieldMask | undefined,
  known: UpdatableFields<Field>,
): UpdatePaths<Field> {
  const paths = normalise(mask)
  if (paths.length === 0) throw new DomainError('EMPTY_MASK')
  const fields = new Set<Field>()
  for (const path of paths) {
    if (path === '*') for (const field of known.mutable) fields.add(field)
    else {
      const field = known.mutable.find((name) => name === path)
      if (field) fields.add(field)
      else if (!known.fixed.includes(path)) throw new DomainError('UNKNOWN_MASK_PATH', { path })
    }
  }
  return { fields, all: paths.includes('*') }
}

/**
 * Reads a read mask: the fields to fill, or undefined for all.
 *
 * @throws UNKNOWN_MASK_PATH for a path that is no readable field.
 */
export function readReadMask(
  mask: FieldMask | undefined,
  readable: readonly string[],
): ReadonlySet<string> | undefined {
  const paths = normalise(mask)
  for (const path of paths) {
    if (path !== '*' && !readable.includes(path))
      throw new DomainError('UNKNOWN_MASK_PATH', { path })
  }
  return paths.length === 0 || paths.includes('*') ? undefined : new Set(paths)
}

/**
 * Paths in snake_case, without blanks and empty ones. Masks arrive in lowerCamelCase from JSON
 * clients that know the mapping, and in snake_case from those that do not.
 */
function normalise(mask: FieldMask | undefined): string[] {
  return (mask?.paths ?? [])
    .flatMap((path) => path.split(','))
    .map((path) => path.trim().replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
    .filter((path) => path !== '')
}
