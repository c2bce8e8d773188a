import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { DomainError } from '../errors.ts'

/** The fields of a resource that update masks may name, by proto name. */
export interface UpdatableFields<Field extends string> {
  /** The fields that an update can change. */
  readonly mutable: readonly Field[]
  /** Identifier and output-only fields: accepted in a mask, without effect (AIP-203). */
  readonly fixed: readonly string[]
}

/** The fields that an update changes. */
export interface UpdatePaths<Field extends string> {
  readonly fields: ReadonlySet<Field>
  /** Whether the mask was `*`: every mutable field, rather than fields that the caller named. */
  readonly all: boolean
}

/**
 * Parses an update mask: paths in snake_case or lowerCamelCase in any order, or `*` for every
 * mutable field.
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
 * Parses a read mask.
 *
 * @returns the fields to fill, or undefined for all.
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
 * Returns the paths in snake_case, trimmed and without empty ones. Masks arrive in lowerCamelCase
 * from JSON clients that convert them, and in snake_case from others.
 */
function normalise(mask: FieldMask | undefined): string[] {
  return (mask?.paths ?? [])
    .flatMap((path) => path.split(','))
    .map((path) => path.trim().replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
    .filter((path) => path !== '')
}
