import { expect, it } from 'vitest'
import { coresOf, workersOf } from '../../src/app/config/workers.ts'

it.each([
  ['', 4, 4],
  ['max 100000\n', 4, 4],
  ['200000 100000\n', 4, 2],
  ['250000 100000\n', 4, 2],
  ['50000 100000\n', 4, 1],
  ['800000 100000\n', 4, 4],
])('a control group with the limit %j leaves of %d cores %d', (quota, cores, left) => {
  expect(coresOf(quota, cores)).toBe(left)
})

it('servers have the number of processes that the operator names', () => {
  expect(workersOf(12)).toBe(12)
})

it('servers have up to 8 processes by themselves', () => {
  const count = workersOf('auto')
  expect(count).toBeGreaterThanOrEqual(1)
  expect(count).toBeLessThanOrEqual(8)
})
