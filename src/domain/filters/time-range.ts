import type { OrderOperator } from './schema.ts'

/** Moments in Unix seconds, maybe fractions, both included; undefined where there is no bound. */
export interface TimeRange {
  readonly min: number | undefined
  readonly max: number | undefined
}

/**
 * The range outside of which no moment meets all terms. Inside of it the terms themselves still
 * decide.
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
