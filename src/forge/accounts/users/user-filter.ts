import { readFilter } from '../../../platform/filters/conditions.ts'
import type { FilterSchema } from '../../../platform/filters/schema.ts'

/** The only term is the username. */
const USER_FILTER: FilterSchema<string> = {
  logic: [],
  fields: {
    username: { type: 'string', operators: ['='], term: ([username]) => username || undefined },
  },
}

/** Unused, because no field of this filter is a time. */
const NO_TIME = 0

/**
 * Parses the filter of ListUsers: `username == '<username>'`, with the operands in either order and
 * optional parentheses.
 *
 * @returns the username, or undefined for a blank filter.
 * @throws INVALID_FILTER for any other CEL expression, and for an empty username.
 */
export function parseUserFilter(filter: string): string | undefined {
  const condition = readFilter(filter, USER_FILTER, NO_TIME)
  return condition?.kind === 'term' ? condition.term : undefined
}
