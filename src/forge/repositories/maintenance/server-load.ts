import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Repositories } from '../../../platform/git/repositories/repositories.ts'

/** Time for which the delay of the event loop is measured before a step. */
const MEASURE_MS = 200
const RESOLUTION_MS = 10

/** Mean delay of the event loop above which callers wait for this process. */
const MAX_DELAY_MS = 50

/**
 * Returns what the server is busy with, so that maintenance should wait; undefined for nothing. The
 * measurement takes a moment, so that an idle server has no timer for it.
 *
 * @param neededBytes memory that a step takes.
 */
export async function busyWith(
  { readers, streams, transfers, processes }: Repositories,
  neededBytes: number,
): Promise<'requests of Git' | 'other Git processes' | 'other work' | undefined> {
  if ([readers, streams, transfers].some((slots) => slots.isHalfTaken)) return 'requests of Git'
  if (processes.freeMemoryBytes < neededBytes) return 'other Git processes'
  return (await eventLoopDelayMs()) > MAX_DELAY_MS ? 'other work' : undefined
}

async function eventLoopDelayMs(): Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  await pause(MEASURE_MS)
  delays.disable()
  // Not a number when the timer has not fired.
  return delays.mean > 0 ? delays.mean / 1e6 - RESOLUTION_MS : 0
}
