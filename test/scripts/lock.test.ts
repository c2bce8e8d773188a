import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run } from '../../scripts/setup/child-process.mjs'
import { withLock } from '../../scripts/setup/lock.mjs'

/**
 * Takes the lock in argv[1], then makes and removes the folder argv[2] some times: two at once
 * would trip over each other's folder.
 */
const visitor = `
const { mkdirSync, rmdirSync } = require('node:fs')
const [, module, lock, folder] = process.argv
import(module).then(async ({ withLock }) => {
  for (let i = 0; i < 20; i++) {
    await withLock(lock, () => {}, async () => {
      mkdirSync(folder)
      await new Promise(setImmediate)
      rmdirSync(folder)
    })
  }
})`

const lockModule = new URL('../../scripts/setup/lock.mjs', import.meta.url).href
const refuseToWait = (owner: number) => {
  throw new Error(`waits for ${owner}`)
}

describe('withLock', () => {
  let folder: string
  let lock: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'branchline-lock-'))
    lock = join(folder, 'lock')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it('returns what the work returns and leaves nothing behind', async () => {
    expect(await withLock(lock, refuseToWait, async () => 'result')).toBe('result')
    expect(readdirSync(folder)).toEqual([])
  })

  it('is released when the work throws', async () => {
    const work = withLock(lock, refuseToWait, async () => {
      throw new Error('broken')
    })
    await expect(work).rejects.toThrow('broken')
    expect(readdirSync(folder)).toEqual([])
  })

  it('is held by one process at a time', async () => {
    const args = ['-e', visitor, lockModule, lock, join(folder, 'busy')]
    const visits = await Promise.all([1, 2, 3].map(() => run(process.execPath, args)))
    expect(visits).toEqual([1, 2, 3].map(() => ({ code: 0, output: '' })))
  })

  it('waits for a process that is alive, and names it', async () => {
    writeFileSync(lock, String(process.ppid))
    await expect(withLock(lock, refuseToWait, async () => 'result')).rejects.toThrow(
      `waits for ${process.ppid}`,
    )
  })

  it.each([
    ['has ended', String(spawnSync(process.execPath, ['-e', '']).pid)],
    ['had the id of this process', String(process.pid)],
    ['left no process id', ''],
  ])('is taken over from an owner that %s', async (_, contents) => {
    writeFileSync(lock, contents)
    expect(await withLock(lock, refuseToWait, async () => 'result')).toBe('result')
  })
})
