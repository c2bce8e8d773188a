import { watch } from 'node:fs'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { LOCK_FILE } from '../../platform/database/data-lock.ts'

/**
 * A command wakes the server of a data folder by the time of the file `lock`, after it has written
 * rows. SQLite tells no other process of changes; with PostgreSQL, all signals are given every few
 * seconds.
 */

/** Calls a function when a command wakes this server, until the returned watcher is closed. */
export function watchForWakes(folder: string, wake: () => void): { close(): void } {
  return watch(join(folder, LOCK_FILE), { persistent: false }, wake)
}

/** Wakes the server of a data folder. */
export async function wakeServer(folder: string): Promise<void> {
  const now = new Date()
  await utimes(join(folder, LOCK_FILE), now, now)
}
