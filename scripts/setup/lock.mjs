import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const RETRY_MS = 200

/**
 * Runs `work` while no other process runs work under the same lock, a file with the process id of
 * its owner. Takes over a lock whose owner has ended.
 * @template T
 * @param {string} path
 * @param {(owner: number) => void} onWait called once, with the process id of the owner, before
 *   waiting
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(path, onWait, work) {
  mkdirSync(dirname(path), { recursive: true })
  let told = false
  while (!take(path)) {
    const owner = ownerOf(path)
    if (owner === undefined || !isAlive(owner)) {
      removeStale(path, owner)
      continue
    }
    if (!told) onWait(owner)
    told = true
    await delay(RETRY_MS)
  }
  try {
    return await work()
  } finally {
    rmSync(path, { force: true })
  }
}

/**
 * Links a complete file: a file that is created empty and written later would look like the lock of
 * an ended process.
 */
function take(/** @type {string} */ path) {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, String(process.pid))
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Returns the process id in a lock, 0 if it has none, or undefined if the lock does not exist. */
function ownerOf(/** @type {string} */ path) {
  try {
    return Number.parseInt(readFileSync(path, 'utf8'), 10) || 0
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function isAlive(/** @type {number} */ pid) {
  // Containers often use the same process ids in each run: a lock with the id of this process is
  // from an earlier run.
  if (pid === 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return isCode(error, 'EPERM')
  }
}

/**
 * Two waiting processes may find the same stale lock. The slower one would then remove the new lock
 * of the faster one, and restores it.
 */
function removeStale(/** @type {string} */ path, /** @type {number | undefined} */ owner) {
  if (owner === undefined) return
  const aside = `${path}.stale-${process.pid}`
  try {
    renameSync(path, aside)
    if (ownerOf(aside) !== owner) linkSync(aside, path)
  } catch (error) {
    if (!isCode(error, 'ENOENT') && !isCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

function isCode(/** @type {unknown} */ error, /** @type {string} */ code) {
  return error instanceof Error && 'code' in error && error.code === code
}
