import type { Expression } from './parse.ts'
import type { OrderOperator } from './schema.ts'

/** RFC 3339 section 5.6 as CEL reads it: upper case, and any number of fractional digits. */
const TIMESTAMP = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** Seconds per unit of a duration. */
const UNITS_S: Readonly<Record<string, number>> = {
  h: 3600,
  m: 60,
  s: 1,
  ms: 1e-3,
  us: 1e-6,
  ns: 1e-9,
}
const DURATION = /^[+-]?(?:\d+(?:\.\d+)?(?:h|ms|m|s|us|ns))+$/
const DURATION_PART = /(\d+(?:\.\d+)?)(h|ms|m|s|us|ns)/g

/** The range of google.protobuf.Duration, which is the duration type of CEL. */
const MAX_DURATION_S = 315_576_000_000

/**
 * Evaluates an expression to a time: an integer (Unix seconds), `now` or `timestamp("…")`, plus or
 * minus durations.
 *
 * @param nowSeconds the value of `now`, in Unix seconds.
 * @returns Unix seconds, possibly a fraction; undefined when the expression is not a time.
 */
export function momentOf(expression: Expression, nowSeconds: number): number | undefined {
  switch (expression.kind) {
    case 'integer':
      return expression.value
    case 'identifier':
      return expression.name === 'now' ? nowSeconds : undefined
    case 'call':
      return parseTimestamp(onlyText(expression, 'timestamp'))
    case 'sum': {
      const start = momentOf(expression.left, nowSeconds)
      const duration = parseDuration(onlyText(expression.right, 'duration'))
      return start === undefined || duration === undefined
        ? undefined
        : start + expression.sign * duration
    }
    default:
      return undefined
  }
}

function onlyText(expression: Expression, name: string): string | undefined {
  if (expression.kind !== 'call' || expression.target || expression.name !== name) return undefined
  const [argument, ...more] = expression.args
  return argument?.kind === 'string' && more.length === 0 ? argument.text : undefined
}

function parseTimestamp(text: string | undefined): number | undefined {
  const [, date] = TIMESTAMP.exec(text ?? '') ?? []
  // Date.parse reads 30 February as 2 March.
  if (text === undefined || date === undefined || !isDate(date)) return undefined
  const milliseconds = Date.parse(text)
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000
}

function isDate(date: string): boolean {
  const midnight = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date)
}

function parseDuration(text: string | undefined): number | undefined {
  if (text === undefined || !DURATION.test(text)) return undefined
  let seconds = 0
  for (const [, count, unit] of text.matchAll(DURATION_PART))
    seconds += Number(count) * (UNITS_S[unit ?? ''] ?? 0)
  if (seconds > MAX_DURATION_S) return undefined
  return text.startsWith('-') ? -seconds : seconds
}

/**
 * A range of times in Unix seconds, possibly fractions. Both bounds are inclusive; undefined means
 * no bound.
 */
interface TimeRange {
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
