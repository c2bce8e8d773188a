import { readdirSync, readFileSync } from 'node:fs'
import { onTestFinished, vi } from 'vitest'
import { type GitStarter, startGitStarter } from '../../src/git/processes/process-spawner.ts'
import { GIT_STARTER } from './process.ts'

/** What a busy machine takes to start one more process. */
const PATIENCE = { timeout: 20_000, interval: 5 }

/** Waits until something is so. */
export const eventually = <T>(check: () => T): Promise<T> => vi.waitFor(check, PATIENCE)

/** Starts what starts gits for this process, and waits until it does. */
export async function readyGitStarter(
  warn: (message: string) => void = () => {},
): Promise<GitStarter> {
  const starter = startGitStarter(GIT_STARTER, warn)
  await eventually(() => {
    if (starter.readyLines < 64) throw new Error('not ready')
  })
  return starter
}

/** One that ends with the test. */
export async function testGitStarter(warn?: (message: string) => void): Promise<GitStarter> {
  const starter = await readyGitStarter(warn)
  onTestFinished(() => starter.stop())
  return starter
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
