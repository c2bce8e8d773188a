import { describe, expect, it } from 'vitest'
import type { Condition } from '../../../src/platform/filters/conditions.ts'
import { simplify, workOf } from '../../../src/platform/filters/simplify.ts'

/** A term that any of some words meets. A term without words is met by nothing, and expensive. */
type Term = readonly string[]

const rules = {
  either: (a: Term, b: Term) =>
    a.length * b.length === 0 ? undefined : [...new Set([...a, ...b])],
  workOf: (term: Term) => (term.length === 0 ? 100 : 1),
}
const DEAR: Condition<Term> = { kind: 'term', term: [] }
const is = (...term: string[]): Condition<Term> => ({ kind: 'term', term })
const not = (condition: Condition<Term>): Condition<Term> => ({ kind: 'not', condition })
const and = (...conditions: Condition<Term>[]): Condition<Term> => ({ kind: 'and', conditions })
const or = (...conditions: Condition<Term>[]): Condition<Term> => ({ kind: 'or', conditions })

describe('a simplified condition', () => {
  it.each([
    ['a term as it is', is('a'), is('a')],
    ['alternatives as one term', or(is('a'), is('b'), is('c')), is('a', 'b', 'c')],
    [
      'those of inner alternatives as well',
      or(is('a'), or(is('b'), or(is('c')))),
      is('a', 'b', 'c'),
    ],
    [
      'exclusions as one term',
      and(is('x'), not(is('a')), not(is('b'))),
      and(is('x'), not(is('a', 'b'))),
    ],
    ['demands apart', and(is('a'), is('b')), and(is('a'), is('b'))],
    ['repeated demands once', and(is('a'), is('b'), is('a')), and(is('a'), is('b'))],
    ['two negations as none', not(not(not(is('a')))), not(is('a'))],
    ['what is cheap first', and(DEAR, is('a')), and(is('a'), DEAR)],
    ['alternatives inside of demands', and(or(is('a'), is('b')), DEAR), and(is('a', 'b'), DEAR)],
    [
      'nothing that cannot be put together',
      or(DEAR, and(is('a'), DEAR)),
      or(DEAR, and(is('a'), DEAR)),
    ],
  ])('has %s', (_, written, simple) => {
    expect(simplify(written, rules)).toEqual(simple)
    expect(workOf(simple, rules)).toBeLessThanOrEqual(workOf(written, rules))
  })
})
