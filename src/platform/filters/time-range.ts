import type { OrderOperator } from './schema.ts'

/**
 * A range of times in Unix seconds, possibly fractions. Both bounds are inclusive; undefined means
 * no bound.
 */
export interface TimeRange {
  readonly min: number | undefined
  readonly max: number | undefined
}

/**
 * Returns a range that contains every time that meets all terms. Not every time in the range meets
 * them.
 */
export function timeRangeOf(
  terms: readonly { readonly operator: OrderOperator; readonly seconds: number }[],
): TimeRange {
  const bounds = (operators: readonly OrderOperator[]) =>
    terms.filter(({ operator }) => operators.includes(operator)).map(({ seconds }) => seconds)
  const [lower, upper] = [bounds(['=', '>', '>=']), bounds(['=', '<', '<='])]
  return {
    min: lower.length > 0 ? Math.max(...lower) : undefined,
    max: upper.length > 0 ? Math.min(...upper) : undefined,
  }
}
