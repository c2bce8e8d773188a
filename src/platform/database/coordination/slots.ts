import type { Limited } from '../../concurrency/limited.ts'
import type { SharedLock, SharedLocks } from './locks.ts'

/**
 * Creates a semaphore of all servers for each key. A call that finds no free slot fails at once.
 *
 * @param name differs between semaphores.
 * @param limit the number of slots of each key, each of which is a lock.
 * @param full creates the error of a call that finds no slot.
 */
export function createSharedSlots(
  locks: SharedLocks,
  name: string,
  limit: number,
  full: () => Error,
): Limited {
  return async (key, work) => {
    const slot = await findSlot(locks, `${name} ${key}`, limit)
    if (!slot) throw full()
    try {
      return await work()
    } finally {
      slot.release()
    }
  }
}

async function findSlot(
  locks: SharedLocks,
  key: string,
  limit: number,
): Promise<SharedLock | undefined> {
  for (let slot = 0; slot < limit; slot++) {
    const lock = await locks.tryTake(`${key} ${slot}`)
    if (lock) return lock
  }
  return undefined
}
