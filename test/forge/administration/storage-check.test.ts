import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  checkStorage,
  type StorageOutcome,
} from '../../../src/forge/administration/storage-check.ts'
import { runCommand } from '../../support/commands.ts'
import { branchline, STORAGE_PEER, withFolder } from '../../support/process.ts'

async function outcomesOf(folder: string, peer: string): Promise<StorageOutcome[]> {
  const outcomes: StorageOutcome[] = []
  for await (const outcome of checkStorage(folder, peer)) outcomes.push(outcome)
  return outcomes
}

describe('doctor --storage', { timeout: 120_000 }, () => {
  it('finds on this file system all that Git and Branchline need, and leaves nothing behind', () =>
    withFolder(async (folder) => {
      const { code, stdout, stderr } = await branchline(['doctor', '--storage', '--data', folder])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const lines = stdout.trimEnd().split('\n')
      expect(lines.pop()).toBe('nothing is missing')
      expect(lines.filter((line) => !line.startsWith('ok: '))).toEqual([])
      expect(lines).toHaveLength(14)
      expect(await readdir(folder)).toEqual([])
    }))

  it('names what could not be shown, and leaves nothing behind', () =>
    withFolder(async (folder) => {
      const peer = join(folder, 'peer.mjs')
      // Ignores the other process: creates nothing, and takes no lock.
      await writeFile(peer, `process.on('message', () => process.send(false))`)
      const outcomes = await outcomesOf(folder, peer)
      const missing = outcomes.filter(({ isMissing }) => isMissing)
      expect(missing.map(({ text }) => text)).toEqual(
        expect.arrayContaining(['a new file was not seen', 'a lock cannot be taken']),
      )
      expect(await readdir(folder)).toEqual(['peer.mjs'])
    }))

  it('says when the second process ends', () =>
    withFolder(async (folder) => {
      const peer = join(folder, 'peer.mjs')
      await writeFile(peer, `process.on('message', () => process.exit())`)
      const outcomes = await outcomesOf(folder, peer)
      expect(outcomes.filter(({ text }) => text === 'the second process has ended')).toHaveLength(4)
    }))

  it('accepts the second process that is shipped', () =>
    withFolder(async (folder) => {
      const outcomes = await outcomesOf(folder, STORAGE_PEER)
      expect(outcomes.filter(({ isMissing }) => isMissing)).toEqual([])
    }))

  it('needs an existing folder', async () => {
    const { code, stderr } = await runCommand(['doctor', '--storage', '--data', '/nowhere/at/all'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('there is no /nowhere/at/all')])
  })
})
