import { expect, it } from 'vitest'
import { Pace } from '../../../src/platform/concurrency/pace.ts'

const LIMITS = { windowMs: 1000, minBytesPerSecond: 100 }

it('judges a reader to whom another process sends', () => {
  const pace = new Pace(LIMITS)
  pace.note(10, 900)
  expect(pace.isTooSlow()).toBe(false)
  pace.note(0, 200)
  expect(pace.isTooSlow()).toBe(true)
})

it('begins a new window after one in which the reader was fast', () => {
  const pace = new Pace(LIMITS)
  pace.note(1000, 1100)
  pace.note(0, 900)
  expect(pace.isTooSlow()).toBe(false)
  pace.note(0, 200)
  expect(pace.isTooSlow()).toBe(true)
})

it('takes a process that computes for no slow reader', () => {
  const pace = new Pace(LIMITS)
  for (let i = 0; i < 10; i++) pace.note(1, 0)
  expect(pace.isTooSlow()).toBe(false)
})
