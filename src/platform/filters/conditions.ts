import { InvalidFilterError } from './limits.ts'
import { type Expression, parseExpression, type RelationalOperator } from './parse.ts'
import type { Field, FilterSchema, OrderOperator } from './schema.ts'
import { momentOf } from './times.ts'

/**
 * The condition that a filter states, as plain data: terms about one field each, joined by logical
 * operators.
 */
export type Condition<Term> =
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition<Term>[] }
  | { readonly kind: 'not'; readonly condition: Condition<Term> }
  | { readonly kind: 'term'; readonly term: Term }

/** The operator that means the same with swapped operands. */
const MIRRORED: Readonly<Record<OrderOperator, OrderOperator>> = {
  '=': '=',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

/**
 * Parses the filter of a list.
 *
 * @param nowSeconds the value of `now`, in Unix seconds.
 * @returns the condition, or undefined for a blank filter.
 * @throws InvalidFilterError when the text is not in the subset of CEL that `parseExpression` reads, or
 *   when the schema does not support it.
 */
export function readFilter<Term>(
  text: string,
  schema: FilterSchema<Term>,
  nowSeconds: number,
): Condition<Term> | undefined {
  if (text.trim() === '') return undefined
  const condition = conditionOf(parseExpression(text), { schema, nowSeconds })
  if (condition === undefined) throw new InvalidFilterError(text)
  return condition
}

/** Returns the terms of a condition, in the order of the filter. */
export function termsOf<Term>(condition: Condition<Term>): Term[] {
  if (condition.kind === 'term') return [condition.term]
  return condition.kind === 'not'
    ? termsOf(condition.condition)
    : condition.conditions.flatMap(termsOf)
}

/** Returns the condition with each term replaced. */
export function mapTerms<From, To>(
  condition: Condition<From>,
  replace: (term: From) => To,
): Condition<To> {
  switch (condition.kind) {
    case 'term':
      return { kind: 'term', term: replace(condition.term) }
    case 'not':
      return { kind: 'not', condition: mapTerms(condition.condition, replace) }
    default:
      return {
        kind: condition.kind,
        conditions: condition.conditions.map((inner) => mapTerms(inner, replace)),
      }
  }
}

interface Context<Term> {
  readonly schema: FilterSchema<Term>
  readonly nowSeconds: number
}

/** Returns undefined for an expression that the schema does not support. */
function conditionOf<Term>(
  expression: Expression,
  context: Context<Term>,
): Condition<Term> | undefined {
  const { logic } = context.schema
  switch (expression.kind) {
    case 'and':
    case 'or': {
      const conditions = expression.operands.flatMap(
        (operand) => conditionOf(operand, context) ?? [],
      )
      const complete = conditions.length === expression.operands.length
      return complete && logic.includes(expression.kind)
        ? { kind: expression.kind, conditions }
        : undefined
    }
    case 'not':
      return logic.includes('not') ? negated(conditionOf(expression.operand, context)) : undefined
    case 'comparison':
      return expression.operator === 'in'
        ? membership(expression.left, expression.right, context)
        : comparison(expression.operator, expression.left, expression.right, context)
    case 'identifier': {
      const field = fieldOf(expression, context)
      return field?.type === 'flag' ? asCondition(field.term()) : undefined
    }
    case 'call': {
      const field = expression.target && fieldOf(expression.target, context)
      const [part, ...more] = expression.args
      if (field?.type !== 'text' || expression.name !== 'contains') return undefined
      return part?.kind === 'string' && more.length === 0
        ? asCondition(field.term(part.text))
        : undefined
    }
    default:
      return undefined
  }
}

function membership<Term>(
  left: Expression,
  right: Expression,
  context: Context<Term>,
): Condition<Term> | undefined {
  const collection = fieldOf(right, context)
  if (left.kind === 'string')
    return collection?.type === 'strings' ? asCondition(collection.term(left.text)) : undefined
  const field = fieldOf(left, context)
  if (field?.type !== 'string' || !field.operators.includes('in') || right.kind !== 'list')
    return undefined
  const values = right.items.flatMap((item) => (item.kind === 'string' ? item.text : []))
  return values.length === right.items.length ? asCondition(field.term(values)) : undefined
}

function comparison<Term>(
  spelling: Exclude<RelationalOperator, 'in'>,
  left: Expression,
  right: Expression,
  context: Context<Term>,
): Condition<Term> | undefined {
  const operator = spelling === '==' ? '=' : spelling
  const field = fieldOf(left, context)
  if (field) return compared(field, operator, right, context.nowSeconds)
  const swapped = fieldOf(right, context)
  return swapped && compared(swapped, MIRRORED[operator], left, context.nowSeconds)
}

function compared<Term>(
  field: Field<Term>,
  operator: OrderOperator,
  value: Expression,
  nowSeconds: number,
): Condition<Term> | undefined {
  if (field.type === 'time') {
    const seconds = momentOf(value, nowSeconds)
    return seconds === undefined ? undefined : asCondition(field.term(operator, seconds))
  }
  if (operator !== '=' && operator !== '!=') return undefined
  if (field.type === 'flag' && value.kind === 'boolean') {
    const flag = asCondition(field.term())
    return value.value === (operator === '=') ? flag : negated(flag)
  }
  if (field.type !== 'string' || value.kind !== 'string' || !field.operators.includes(operator))
    return undefined
  const term = asCondition(field.term([value.text]))
  return operator === '=' ? term : negated(term)
}

function asCondition<Term>(term: Term | undefined): Condition<Term> | undefined {
  return term === undefined ? undefined : { kind: 'term', term }
}

function negated<Term>(condition: Condition<Term> | undefined): Condition<Term> | undefined {
  return condition && { kind: 'not', condition }
}

function fieldOf<Term>(expression: Expression, { schema }: Context<Term>): Field<Term> | undefined {
  if (expression.kind !== 'identifier' || !Object.hasOwn(schema.fields, expression.name))
    return undefined
  return schema.fields[expression.name]
}
