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

/** A filter is malformed, or its list does not support it. */
export class InvalidFilterError extends Error {
  /** The beginning of the filter. */
  readonly filter: string

  constructor(filter: string) {
    super('INVALID_FILTER')
    this.name = 'InvalidFilterError'
    this.filter = filter.slice(0, MAX_ECHOED_CHARACTERS)
  }
}
