import type { Condition } from './conditions.ts'

/** How terms of a list are merged, and what they cost. */
export interface TermRules<Term> {
  /** Returns the one term that means `a or b`, or undefined when there is none. */
  readonly either: (a: Term, b: Term) => Term | undefined
  /** Returns the maximum cost of the term for one row, in the unit of `searchBounds`. */
  readonly workOf: (term: Term) => number
}

/**
 * Returns an equivalent condition that costs less: without repeated terms, with alternatives merged
 * into one term where possible, and with cheap operands first, because SQL stops at the first
 * operand that decides.
 */
export function simplify<Term>(
  condition: Condition<Term>,
  rules: TermRules<Term>,
): Condition<Term> {
  switch (condition.kind) {
    case 'term':
      return condition
    case 'not': {
      const inner = simplify(condition.condition, rules)
      return inner.kind === 'not' ? inner.condition : { kind: 'not', condition: inner }
    }
    case 'or':
      return joined(
        'or',
        mergeAlternatives(operandsOf(condition.conditions, 'or', rules), rules),
        rules,
      )
    case 'and':
      return joined(
        'and',
        mergeExclusions(operandsOf(condition.conditions, 'and', rules), rules),
        rules,
      )
  }
}

/** Returns the maximum cost of a condition for one row, in the unit of its terms. */
export function workOf<Term>(condition: Condition<Term>, rules: TermRules<Term>): number {
  if (condition.kind === 'term') return rules.workOf(condition.term)
  if (condition.kind === 'not') return 1 + workOf(condition.condition, rules)
  return condition.conditions.reduce((sum, inner) => sum + workOf(inner, rules), 1)
}

/** Returns the simplified operands without duplicates, including those of nested conditions. */
function operandsOf<Term>(
  conditions: readonly Condition<Term>[],
  kind: 'and' | 'or',
  rules: TermRules<Term>,
): Condition<Term>[] {
  const flat = conditions.flatMap((inner) => {
    const simple = simplify(inner, rules)
    return simple.kind === kind ? simple.conditions : [simple]
  })
  return [...new Map(flat.map((inner) => [JSON.stringify(inner), inner])).values()]
}

function mergeAlternatives<Term>(
  operands: readonly Condition<Term>[],
  rules: TermRules<Term>,
): Condition<Term>[] {
  const terms: Term[] = []
  const others: Condition<Term>[] = []
  for (const operand of operands) {
    if (operand.kind !== 'term') others.push(operand)
    else if (!mergeInto(terms, operand.term, rules)) terms.push(operand.term)
  }
  return [...terms.map((term): Condition<Term> => ({ kind: 'term', term })), ...others]
}

function mergeInto<Term>(terms: Term[], added: Term, { either }: TermRules<Term>): boolean {
  for (const [i, term] of terms.entries()) {
    const merged = either(term, added)
    if (merged === undefined) continue
    terms[i] = merged
    return true
  }
  return false
}

/** Merges negated operands: `not a and not b` is `not (a or b)`. */
function mergeExclusions<Term>(
  operands: readonly Condition<Term>[],
  rules: TermRules<Term>,
): Condition<Term>[] {
  const excluded = operands.flatMap((operand) =>
    operand.kind === 'not' ? [operand.condition] : [],
  )
  if (excluded.length < 2) return [...operands]
  const others = operands.filter(({ kind }) => kind !== 'not')
  return [
    ...others,
    { kind: 'not', condition: joined('or', mergeAlternatives(excluded, rules), rules) },
  ]
}

function joined<Term>(
  kind: 'and' | 'or',
  operands: readonly Condition<Term>[],
  rules: TermRules<Term>,
): Condition<Term> {
  const [only, ...more] = operands
  if (only && more.length === 0) return only
  return { kind, conditions: [...operands].sort((a, b) => workOf(a, rules) - workOf(b, rules)) }
}
