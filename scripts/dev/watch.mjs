import { readdirSync, watch } from 'node:fs'
import { join } from 'node:path'

/** Editors and Git write several files at a time. */
const SETTLE_MS = 100

/**
 * Calls `work` after files below the folders have changed. Changes during a call lead to one more
 * call afterwards. Each folder has a watcher of its own, because the recursive watchers of Node 20
 * lose files that an editor replaces by a rename.
 * @param {readonly string[]} roots
 * @param {() => Promise<void>} work must not throw
 * @returns {() => void} ends the watch
 */
export function watchFolders(roots, work) {
  /** @type {Map<string, import('node:fs').FSWatcher>} */
  const watchers = new Map()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let isWorking = false
  let hasChanged = false

  const onChange = () => {
    hasChanged = true
    if (isWorking) return
    clearTimeout(timer)
    timer = setTimeout(settle, SETTLE_MS)
  }
  const settle = async () => {
    isWorking = true
    while (hasChanged) {
      hasChanged = false
      follow()
      await work()
    }
    isWorking = false
  }
  /** Watches new folders, and forgets those that are gone. */
  const follow = () => {
    const present = new Set(roots.flatMap(foldersOf))
    for (const [folder, watcher] of watchers) {
      if (present.has(folder)) continue
      watcher.close()
      watchers.delete(folder)
    }
    for (const folder of present) {
      if (watchers.has(folder)) continue
      // A folder that disappears is reported by the watcher of the folder above.
      watchers.set(folder, watch(folder, onChange).on('error', onChange))
    }
  }
  follow()
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers.values()) watcher.close()
  }
}

/** @param {string} root @returns {string[]} */
function foldersOf(root) {
  const below = readdirSync(root, { withFileTypes: true, recursive: true })
  return [
    root,
    ...below.filter((entry) => entry.isDirectory()).map((e) => join(e.parentPath, e.name)),
  ]
}
