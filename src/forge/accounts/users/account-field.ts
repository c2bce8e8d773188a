import type { EqualityOperator, Field } from '../../../platform/filters/schema.ts'
import { nameKey } from '../../core/names.ts'

/**
 * A field that holds accounts by resource name, `users/{user}`. Any other text makes the filter
 * invalid. Whether the accounts exist is not checked.
 *
 * @param term receives the name keys of the accounts.
 */
export function accountField<Term>(
  operators: readonly EqualityOperator[],
  term: (keys: readonly string[]) => Term,
): Field<Term> {
  const termOf = (names: readonly string[]) => {
    const keys = names.flatMap((name) => /^users\/([^/]+)$/.exec(name)?.[1] ?? []).map(nameKey)
    return keys.length === names.length ? term(keys) : undefined
  }
  return { type: 'string', operators, term: termOf }
}
