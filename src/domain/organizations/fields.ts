import type { Visibility } from '../../storage/organizations.ts'
import { DomainError } from '../errors.ts'

const VISIBILITIES: readonly Visibility[] = ['public', 'limited', 'private']

/**
 * Reads who may know of an organisation or team.
 *
 * @returns undefined for a text that is missing or empty.
 * @throws INVALID_FIELD
 */
export function readVisibility(text: string | undefined): Visibility | undefined {
  if (text === undefined || text === '') return undefined
  const visibility = VISIBILITIES.find((known) => known === text)
  if (!visibility) throw new DomainError('INVALID_FIELD', { field: 'visibility' })
  return visibility
}
