import { writeFileSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

/**
 * Git processes have a lower priority than the server, which answers all callers in one thread: no
 * call waits until a process that works for another one leaves it a core.
 *
 * A `call` waits for short work. A `transfer` may last minutes, such as a clone or a push.
 */
export type Priority = 'call' | 'transfer'

/** Added to the niceness of the server (setpriority(2)). */
const SPAWNER_NICENESS = 5

/** Added to the niceness of the spawner, or of the server where the server starts a process. */
export const NICENESS: Readonly<Record<Priority, number>> = { call: 0, transfer: 10 }

/** The kernel lets a user without privileges change one autogroup in 100 ms. */
const RETRY_MS = 150
const MAX_TRIES = 20

/**
 * Lowers the priority of this process, the spawner, which its Git processes inherit. A lower
 * priority after their start would miss what they have started until then.
 */
export function lowerOwnPriority(): void {
  setPriority(Math.min(getPriority() + SPAWNER_NICENESS, constants.priority.PRIORITY_LOW))
  lowerSession(process.pid, 'call')
}

/**
 * Lowers the priority of a session. Where the kernel has autogroups, each session is one, and the
 * niceness of a process counts only within its session (sched(7), "The autogroup feature"). A
 * failure is ignored: the session runs with a higher priority.
 *
 * @param pid a child process that leads a session.
 */
export function lowerSession(pid: number, priority: Priority): void {
  const niceness = Math.min(getPriority() + NICENESS[priority], constants.priority.PRIORITY_LOW)
  // A new session has the niceness 0.
  if (niceness > 0) writeAutogroup(pid, niceness, 1)
}

function writeAutogroup(pid: number, niceness: number, tries: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness), { flag: 'r+' })
  } catch (error) {
    const isBusy = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
    if (!isBusy || tries === MAX_TRIES) return
    setTimeout(() => writeAutogroup(pid, niceness, tries + 1), RETRY_MS).unref()
  }
}
