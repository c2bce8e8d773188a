import { expect, it } from 'vitest'
import { createCopyPlaces } from '../../../../src/domain/repos/lifecycle/copy-places.ts'

const tooMany = (limit: string) =>
  expect.objectContaining({ reason: 'TOO_MANY_COPIES', metadata: { limit } })

it('places are few for one account, and come back', () => {
  const places = createCopyPlaces()
  const leave = places.take(1)
  places.take(1)
  expect(() => places.take(1)).toThrow(tooMany('2'))
  places.take(2)
  leave()
  places.take(1)
  expect(() => places.take(1)).toThrow(tooMany('2'))
})

it('places are few for all accounts together', () => {
  const places = createCopyPlaces()
  const taken = Array.from({ length: 16 }, (_, i) => places.take(Math.floor(i / 2)))
  expect(() => places.take(99)).toThrow(tooMany('16'))
  taken[0]?.()
  places.take(99)
  expect(() => places.take(98)).toThrow(tooMany('16'))
})
