import { closeSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DataLock, lockDataFolder } from '../../platform/database/data-lock.ts'
import type { PeerTask } from './storage-peer.ts'

/**
 * The second process of `doctor --storage`. It does what the first one asks for over the IPC channel,
 * and ends with it.
 */
const locks: DataLock[] = []

process.on('message', (task: PeerTask) => {
  process.send?.(perform(task))
})
process.on('disconnect', () => process.exit())

function perform(task: PeerTask): unknown {
  if (task.kind === 'create') return createEach(task.paths, task.startMs)
  if (task.kind === 'write') return write(task.path, task.text)
  if (task.kind === 'lock') return lock(task.folder)
  return replaceOften(task)
}

/** Creates the files that do not exist yet, and returns their paths. */
function createEach(paths: readonly string[], startMs: number): string[] {
  // Both processes begin at the same time.
  while (Date.now() < startMs);
  return paths.filter(createdNow)
}

function createdNow(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx'))
    return true
  } catch {
    return false
  }
}

function write(path: string, text: string): boolean {
  writeFileSync(path, text, { flush: true })
  return true
}

function lock(folder: string): boolean {
  try {
    locks.push(lockDataFolder(folder))
    return true
  } catch {
    return false
  }
}

/** Replaces a file many times by one with other content of the same size. */
function replaceOften({ path, times, bytes }: PeerTask & { readonly kind: 'replace' }): boolean {
  for (let i = 0; i < times; i++) {
    const draft = join(`${path}.${i}`)
    writeFileSync(draft, Buffer.alloc(bytes, i))
    renameSync(draft, path)
  }
  return true
}
