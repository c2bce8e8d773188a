import { describe, expect, it } from 'vitest'
import { createSessionSlots, type SlotHolder } from '../../../src/edge/git-http/limits.ts'

const holder = (key: string, more: Partial<SlotHolder> = {}): SlotHolder => ({
  key,
  isTooSlow: () => false,
  evict: () => {},
  ...more,
})

describe('slots of Git requests', () => {
  it('are never all held by one key or by a few', () => {
    const slots = createSessionSlots(8)
    const taken = ['peer a', 'peer b', 'peer c', 'peer d'].map(
      (key) => [1, 2, 3, 4, 5, 6, 7, 8].filter(() => slots.take(holder(key)) !== undefined).length,
    )
    expect(taken).toEqual([4, 2, 1, 1])
  })

  it('can be taken again after they are released', () => {
    const slots = createSessionSlots(2)
    for (const _ of [1, 2, 3]) {
      const release = slots.take(holder('account 1'))
      expect(slots.take(holder('account 1'))).toBeUndefined()
      release?.()
      release?.()
    }
  })

  it('include one for the first key, even if there is only one', () => {
    expect(createSessionSlots(1).take(holder('account 1'))).toBeDefined()
  })

  it('pass from slow readers to a new request only when none is free', () => {
    const evicted: string[] = []
    let isSlow = false
    const slots = createSessionSlots(2)
    for (const key of ['peer a', 'peer b']) {
      slots.take(
        holder(key, {
          isTooSlow: () => isSlow && key === 'peer a',
          evict: () => evicted.push(key),
        }),
      )
    }
    expect(slots.take(holder('peer c'))).toBeUndefined()
    expect(evicted).toEqual([])
    isSlow = true
    expect(slots.take(holder('peer c'))).toBeDefined()
    expect(evicted).toEqual(['peer a'])
  })
})
