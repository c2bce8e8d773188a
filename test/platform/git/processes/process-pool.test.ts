import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ProcessPool } from '../../../../src/platform/git/processes/process-pool.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const process = () => ({ end: vi.fn(async () => {}) })

describe('idle processes', () => {
  it('are taken by one caller', () => {
    const kept = new ProcessPool(2, 1000)
    const one = process()
    kept.add(1, one)
    expect(kept.take(2)).toBeUndefined()
    expect(kept.take(1)).toBe(one)
    expect(kept.take(1)).toBeUndefined()
    vi.advanceTimersByTime(5000)
    expect(one.end).not.toHaveBeenCalled()
  })

  it('end after the time limit, which starts again after each use', () => {
    const kept = new ProcessPool(2, 1000)
    const one = process()
    kept.add(1, one)
    vi.advanceTimersByTime(900)
    kept.add(1, kept.take(1) ?? process())
    vi.advanceTimersByTime(900)
    expect(one.end).not.toHaveBeenCalled()
    vi.advanceTimersByTime(100)
    expect(one.end).toHaveBeenCalledTimes(1)
    expect(kept.take(1)).toBeUndefined()
  })

  it('are limited to one for each repository, the most recently used ones', () => {
    const kept = new ProcessPool(2, 1000)
    const [first, second, other, third] = [process(), process(), process(), process()]
    kept.add(1, first)
    kept.add(1, second)
    expect(first.end).toHaveBeenCalledTimes(1)
    kept.add(2, other)
    kept.add(1, kept.take(1) ?? process())
    kept.add(3, third)
    expect(other.end).toHaveBeenCalledTimes(1)
    expect([second, third].map(({ end }) => end.mock.calls.length)).toEqual([0, 0])
  })

  it('end with the repository and with the server, even when one fails to clean up', async () => {
    const kept = new ProcessPool(3, 1000)
    const [one, two, three] = [process(), process(), process()]
    two.end.mockRejectedValue(new Error('EACCES'))
    kept.add(1, one)
    kept.add(2, two)
    kept.add(3, three)
    await kept.drop(1)
    expect(one.end).toHaveBeenCalledTimes(1)
    await kept.dropAll()
    expect([two, three].map(({ end }) => end.mock.calls.length)).toEqual([1, 1])
  })
})
