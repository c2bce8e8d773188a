import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const RETRY_MS = 200

/**
 * Does `work` while no other process does work under the same lock, a file that holds the owner's
 * process id. A lock whose owner is gone is taken over.
 * @template T
 * @param {string} path
 * @param {(owner: number) => void} onWait called once, with the process id of the owner, when there
 *   is something to wait for
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
 * Links a file that is already written, because one created empty and filled later looks like one
 * whose owner is gone.
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

/**
 * The process id in a lock; 0, which no process has, when it holds none; undefined when the lock is
 * gone.
 */
function ownerOf(/** @type {string} */ path) {
  try {
    return Number.parseInt(readFileSync(path, 'utf8'), 10) || 0
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function isAlive(/** @type {number} */ pid) {
  // A container often gives every run the same process id: a lock with this one's was left by an
  // earlier run.
  if (pid === 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return isCode(error, 'EPERM')
  }
}

/**
 * Two waiters may see the same stale lock, and the slower one would remove the lock that the faster
 * one has just taken: it puts it back.
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
