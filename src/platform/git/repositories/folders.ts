import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { hasCode } from '../core/system-errors.ts'

/** Returns the entries of a folder, none when the folder does not exist. */
export function entriesOf(folder: string): Promise<Dirent[]> {
  return unlessGone(() => readdir(folder, { withFileTypes: true }))
}

/**
 * Returns the result of file system work, or an empty list when a file has been removed, such as a
 * ref by a concurrent process.
 */
export async function unlessGone<T>(work: () => Promise<T[]>): Promise<T[]> {
  try {
    return await work()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}
