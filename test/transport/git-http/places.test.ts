import { describe, expect, it } from 'vitest'
import { createPlaces } from '../../../src/transport/git-http/places.ts'

describe('places for requests of git', () => {
  it.each([
    ['an account', 1, 2],
    ['everybody without one', undefined, 1],
  ])('are never all taken by %s', (_, greedy, other) => {
    const places = createPlaces(4)
    expect([1, 2, 3].map(() => places.take(greedy) !== undefined)).toEqual([true, true, false])
    expect([1, 2, 3].map(() => places.take(other) !== undefined)).toEqual([true, true, false])
    expect(places.take(3)).toBeUndefined()
  })

  it('can be taken again when they are given back', () => {
    const places = createPlaces(2)
    for (const _ of [1, 2, 3]) {
      const leave = places.take(1)
      expect(places.take(1)).toBeUndefined()
      leave?.()
    }
  })

  it('are there for one, if there is but one', () => {
    expect(createPlaces(1).take(undefined)).toBeDefined()
  })
})
