import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for work, but no longer than `maxMs`. The work goes on afterwards. */
export async function waitAtMost(work: Promise<unknown>, maxMs: number): Promise<void> {
  const timer = new AbortController()
  const timeout = sleep(maxMs, undefined, { signal: timer.signal }).catch(() => {})
  try {
    await Promise.race([work, timeout])
  } finally {
    timer.abort()
  }
}
