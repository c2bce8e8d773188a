import { readdirSync, readFileSync } from 'node:fs'
import { onTestFinished, vi } from 'vitest'
import { ProcessSpawner } from '../../src/platform/git/processes/process-spawner.ts'
import type { GitProcesses } from '../../src/platform/git/processes/running-processes.ts'
import { PROCESS_SPAWNER } from './process.ts'

/** What a busy machine takes to start one more process. */
const PATIENCE = { timeout: 60_000, interval: 5 }

/** Waits until something is so. */
export const eventually = <T>(check: () => T): Promise<T> => vi.waitFor(check, PATIENCE)

/** Starts a spawner for Git processes, and waits until it is ready. */
export async function readySpawner(
  processes: GitProcesses,
  warn: (message: string) => void = () => {},
): Promise<ProcessSpawner> {
  const spawner = new ProcessSpawner(PROCESS_SPAWNER, warn)
  await eventually(() => {
    if (spawner.idleConnections < 64) throw new Error('not ready')
  })
  processes.spawner = spawner
  return spawner
}

/** Starts a spawner that ends with the test. */
export async function testSpawner(
  processes: GitProcesses,
  warn?: (message: string) => void,
): Promise<ProcessSpawner> {
  const spawner = await readySpawner(processes, warn)
  onTestFinished(() => spawner.stop())
  return spawner
}

/** The children of a process, by their ids (proc(5)). */
export function childrenOf(pid: number): number[] {
  const tasks = readdirSync(`/proc/${pid}/task`)
  return tasks.flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
      .split(' ')
      .filter(Boolean)
      .map(Number),
  )
}

/** Whether there is such a process. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
