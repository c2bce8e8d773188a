import { readFilter } from '../../filters/conditions.ts'
import type { FilterSchema } from '../../filters/schema.ts'

/** Its one term is the username. */
const USER_FILTER: FilterSchema<string> = {
  logic: [],
  fields: {
    username: { type: 'string', operators: ['='], term: ([username]) => username || undefined },
  },
}

/** No field of accounts is a moment, so that `now` is refused whatever it is. */
const NO_TIME = 0

/**
 * Reads the filter of ListUsers: `username == '<username>'`, operands in either order, in any
 * number of parentheses.
 *
 * @returns the username, or undefined for a blank filter.
 * @throws INVALID_FILTER for everything else that CEL could say, an empty username included.
 */
export function parseUserFilter(filter: string): string | undefined {
  const condition = readFilter(filter, USER_FILTER, NO_TIME)
  return condition?.kind === 'term' ? condition.term : undefined
}
