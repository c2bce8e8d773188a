import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** `auto`: as many as the machine has cores, see `workersOf`. */
export type Workers = number | 'auto'

/** Each worker process takes some 150 MB of memory, and Git needs cores too. */
const MAX_AUTOMATIC = 8

/** Returns the number of server processes. */
export function workersOf(workers: Workers): number {
  return workers === 'auto' ? Math.min(coresOf(readQuota()), MAX_AUTOMATIC) : workers
}

/**
 * Returns the number of cores that this process may use, at least 1.
 *
 * @param quota the content of `cpu.max` of the control group; empty without one.
 */
export function coresOf(quota: string, cores: number = availableParallelism()): number {
  const [time, period] = quota.trim().split(' ').map(Number)
  const share = Math.floor(Number(time) / Number(period))
  return Number.isFinite(share) ? Math.max(1, Math.min(cores, share)) : cores
}

/** Reads the limit of a container (https://docs.kernel.org/admin-guide/cgroup-v2.html, `cpu.max`). */
function readQuota(): string {
  try {
    return readFileSync('/sys/fs/cgroup/cpu.max', 'utf8')
  } catch {
    // Not in a container, or a system without control groups.
    return ''
  }
}
