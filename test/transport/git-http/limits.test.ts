import { describe, expect, it } from 'vitest'
import { createPlaces, type PlaceHolder } from '../../../src/transport/git-http/limits.ts'

const holder = (key: string, more: Partial<PlaceHolder> = {}): PlaceHolder => ({
  key,
  isTooSlow: () => false,
  evict: () => {},
  ...more,
})

describe('places for requests of git', () => {
  it('are never all taken by one, nor by a few', () => {
    const places = createPlaces(8)
    const taken = ['peer a', 'peer b', 'peer c', 'peer d'].map(
      (key) => [1, 2, 3, 4, 5, 6, 7, 8].filter(() => places.take(holder(key)) !== undefined).length,
    )
    expect(taken).toEqual([4, 2, 1, 1])
  })

  it('can be taken again when they are given back', () => {
    const places = createPlaces(2)
    for (const _ of [1, 2, 3]) {
      const leave = places.take(holder('account 1'))
      expect(places.take(holder('account 1'))).toBeUndefined()
      leave?.()
      leave?.()
    }
  })

  it('are there for one, if there is but one', () => {
    expect(createPlaces(1).take(holder('account 1'))).toBeDefined()
  })

  it('pass from who reads too slowly to who finds none, and to nobody before', () => {
    const evicted: string[] = []
    let isSlow = false
    const places = createPlaces(2)
    for (const key of ['peer a', 'peer b']) {
      places.take(
        holder(key, {
          isTooSlow: () => isSlow && key === 'peer a',
          evict: () => evicted.push(key),
        }),
      )
    }
    expect(places.take(holder('peer c'))).toBeUndefined()
    expect(evicted).toEqual([])
    isSlow = true
    expect(places.take(holder('peer c'))).toBeDefined()
    expect(evicted).toEqual(['peer a'])
  })
})
