import { DomainError } from '../../core/errors.ts'

/** Bounds the load on the other server. */
const MIN_INTERVAL_SECONDS = 10 * 60

/** A longer interval is a mistake. */
const MAX_INTERVAL_SECONDS = 366 * 24 * 60 * 60

/** The interval of mirrors whose creator names none, as in compatible systems. */
export const DEFAULT_INTERVAL_SECONDS = 8 * 60 * 60

/** The time until the first repetition of a failed synchronisation. */
const MIN_REST_MS = MIN_INTERVAL_SECONDS * 1000

/** The longest time between two repetitions. */
const MAX_REST_MS = 24 * 60 * 60 * 1000

/** Seconds in the units of Go's durations (https://pkg.go.dev/time#ParseDuration). */
const UNIT_SECONDS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-9],
  ['us', 1e-6],
  ['µs', 1e-6],
  ['ms', 1e-3],
  ['s', 1],
  ['m', 60],
  ['h', 60 * 60],
])

const DURATION = /^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/
const PART = /([\d.]+)([a-zµ]+)/g

const MAX_CHARACTERS = 50

/**
 * Parses the interval of a mirror in the format of Go's durations, such as `8h0m0s`.
 *
 * @returns whole seconds; 0 for no synchronisation.
 * @throws INVALID_MIRROR_INTERVAL when the text is not a duration, or is below ten minutes.
 */
export function parseMirrorInterval(text: string): number {
  const seconds = Math.floor(text.length > MAX_CHARACTERS ? Number.NaN : durationOf(text))
  const fits = seconds === 0 || (seconds >= MIN_INTERVAL_SECONDS && seconds <= MAX_INTERVAL_SECONDS)
  if (!fits)
    throw new DomainError('INVALID_MIRROR_INTERVAL', { interval: text.slice(0, MAX_CHARACTERS) })
  return seconds
}

function durationOf(text: string): number {
  if (text === '0') return 0
  if (!DURATION.test(text)) return Number.NaN
  const parts = [...text.matchAll(PART)]
  return parts.reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (UNIT_SECONDS.get(unit) ?? Number.NaN),
    0,
  )
}

/**
 * Returns how long a mirror rests after a failure: as long as it has failed, so that each rest is
 * twice as long as the one before.
 *
 * @param nowMs Unix milliseconds.
 * @param since the latest success, or the beginning, in Unix seconds.
 */
export function restAfterFailureMs(nowMs: number, since: number): number {
  return Math.min(Math.max(nowMs - since * 1000, MIN_REST_MS), MAX_REST_MS)
}

/** Formats seconds as Go formats durations. */
export function formatInterval(seconds: number): string {
  const [hours, minutes, rest] = [
    Math.floor(seconds / 3600),
    Math.floor((seconds % 3600) / 60),
    seconds % 60,
  ]
  if (hours > 0) return `${hours}h${minutes}m${rest}s`
  return minutes > 0 ? `${minutes}m${rest}s` : `${rest}s`
}
