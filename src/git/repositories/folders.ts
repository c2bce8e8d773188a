import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { hasCode } from '../core/system-errors.ts'

/** What is in a folder; nothing in one that is not there. */
export function entriesOf(folder: string): Promise<Dirent[]> {
  return unlessGone(() => readdir(folder, { withFileTypes: true }))
}

/**
 * What work on the disk finds; nothing when what it looks at has been removed, as refs are while
 * others delete them.
 */
export async function unlessGone<T>(work: () => Promise<T[]>): Promise<T[]> {
  try {
    return await work()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}
