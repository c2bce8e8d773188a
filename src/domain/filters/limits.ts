import { DomainError } from '../core/errors.ts'

/** Longest filter read. What people and clients write is far shorter. */
export const MAX_FILTER_CHARACTERS = 2048

/**
 * Longest string in a filter: looking for one in a text may take as many steps as both have
 * characters, multiplied.
 */
export const MAX_STRING_CHARACTERS = 256

/** How deep parentheses, lists and negations may be nested; what reads them recurses. */
export const MAX_DEPTH = 256

/**
 * Most operators, names and values in one filter, since each may be work for every row that a list
 * goes through.
 */
export const MAX_NODES = 256

/** Characters of a refused filter that the error gives back. */
const MAX_ECHOED_CHARACTERS = 512

/**
 * @returns the error for a filter that cannot be read, or that says something which its list does
 *   not support.
 */
export function invalidFilter(filter: string): DomainError {
  return new DomainError('INVALID_FILTER', { filter: filter.slice(0, MAX_ECHOED_CHARACTERS) })
}
