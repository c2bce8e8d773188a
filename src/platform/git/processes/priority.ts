import { constants, getPriority, setPriority } from 'node:os'

/**
 * Git processes have a higher niceness than the server, which answers all callers in one thread: no
 * call waits until a process that works for another one leaves it a core.
 *
 * A `call` waits for short work. A `transfer` may last minutes, such as a clone or a push. Nobody waits
 * for `maintenance`, which gets the lowest priority.
 */
export type Priority = 'call' | 'transfer' | 'maintenance'

/** Added to the niceness of the server (setpriority(2)). */
const SPAWNER_NICENESS = 5

/** Added to the niceness of the spawner, or of the server where the server starts a process. */
export const NICENESS: Readonly<Record<Priority, number>> = {
  call: 0,
  transfer: 10,
  maintenance: 14,
}

/**
 * Raises the niceness of this process, the spawner, which its Git processes inherit. A change after
 * their start would miss what they have started until then.
 */
export function raiseOwnNiceness(): void {
  raiseNiceness(0, 'call')
}

/** Raises the niceness of a process that this process has started, as if the process ran Git. */
export function raiseNiceness(pid: number, priority: Priority): void {
  const niceness = getPriority() + SPAWNER_NICENESS + NICENESS[priority]
  setPriority(pid, Math.min(niceness, constants.priority.PRIORITY_LOW))
}
