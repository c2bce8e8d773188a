import { describe, expect, it } from 'vitest'
import type { OrderOperator } from '../../../src/platform/filters/schema.ts'
import { timeRangeOf } from '../../../src/platform/filters/times.ts'

describe('a range of times', () => {
  it.each<[[OrderOperator, number][], number | undefined, number | undefined]>([
    [[], undefined, undefined],
    [[['>', 5]], 5, undefined],
    [[['<=', 5.5]], undefined, 5.5],
    [[['=', 5]], 5, 5],
    [[['!=', 5]], undefined, undefined],
    [
      [
        ['>=', 1],
        ['>', 3],
        ['<', 9],
        ['<=', 7],
      ],
      3,
      7,
    ],
    [
      [
        ['>', 9],
        ['<', 1],
      ],
      9,
      1,
    ],
  ])('of %j is from %s to %s', (terms, min, max) => {
    expect(timeRangeOf(terms.map(([operator, seconds]) => ({ operator, seconds })))).toEqual({
      min,
      max,
    })
  })
})
