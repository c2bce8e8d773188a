import { expect, it } from 'vitest'
import { opening } from '../../../src/platform/concurrency/daily-window.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
const NIGHT = { start: 90, end: 300 }
const MIDNIGHT = { start: 22 * 60, end: 2 * 60 }

it.each([
  ['before it', NIGHT, HOUR_MS, 1.5 * HOUR_MS],
  ['at its start', NIGHT, 1.5 * HOUR_MS, 1.5 * HOUR_MS],
  ['in it', NIGHT, 4.9 * HOUR_MS, 4.9 * HOUR_MS],
  ['at its end', NIGHT, 5 * HOUR_MS, DAY_MS + 1.5 * HOUR_MS],
  ['before midnight', MIDNIGHT, 23 * HOUR_MS, 23 * HOUR_MS],
  ['after midnight', MIDNIGHT, HOUR_MS, HOUR_MS],
  ['between two nights', MIDNIGHT, 2 * HOUR_MS, 22 * HOUR_MS],
  ['without hours', undefined, 3 * HOUR_MS, 3 * HOUR_MS],
])('a window opens for a time %s', (_what, window, fromMs, expected) => {
  expect(opening(window, fromMs)).toBe(expected)
  expect(opening(window, 20_000 * DAY_MS + fromMs)).toBe(20_000 * DAY_MS + expected)
})
