import { DomainError } from '../../forge/core/errors.ts'

/** The maximum length of a filter. Filters of people and clients are much shorter. */
export const MAX_FILTER_CHARACTERS = 2048

/**
 * The maximum length of a string in a filter. The search for a string in a text may take time
 * proportional to the product of their lengths.
 */
export const MAX_STRING_CHARACTERS = 256

/** The maximum nesting of parentheses, lists and negations. The parser is recursive. */
export const MAX_DEPTH = 256

/**
 * The maximum number of operators, names and values in one filter. Each of them may be evaluated
 * for every row of a list.
 */
export const MAX_NODES = 256

/** The maximum number of characters of an invalid filter that the error repeats. */
const MAX_ECHOED_CHARACTERS = 512

/** Returns the error for a filter that is malformed, or that its list does not support. */
export function invalidFilter(filter: string): DomainError {
  return new DomainError('INVALID_FILTER', { filter: filter.slice(0, MAX_ECHOED_CHARACTERS) })
}
