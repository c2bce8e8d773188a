/** Hours of each day, in UTC. The end may be on the next day. */
export interface DailyWindow {
  /** Minutes after midnight. */
  readonly start: number
  /** Minutes after midnight, exclusive. Another value than `start`. */
  readonly end: number
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/**
 * Returns the first time from a time on at which a window is open.
 *
 * @param window undefined for one that is always open.
 * @param fromMs Unix milliseconds.
 */
export function opening(window: DailyWindow | undefined, fromMs: number): number {
  if (!window) return fromMs
  const midnight = fromMs - (fromMs % DAY_MS)
  const start = midnight + window.start * MINUTE_MS
  const end = midnight + window.end * MINUTE_MS
  const isOpen =
    window.start < window.end ? fromMs >= start && fromMs < end : fromMs >= start || fromMs < end
  if (isOpen) return fromMs
  return start > fromMs ? start : start + DAY_MS
}
