import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileGuarantees } from './storage-files.ts'
import type { Guarantee } from './storage-guarantee.ts'
import { StoragePeer } from './storage-peer.ts'
import { sharedGuarantees } from './storage-sharing.ts'

export interface StorageOutcome {
  readonly name: string
  readonly isMissing: boolean
  /** Why the property is missing, or a remark. */
  readonly text: string | undefined
}

/**
 * Tests what Git and Branchline need from the file system of a folder, by this process and a second
 * one. Removes all files of the test.
 *
 * @param peerProgram path of the bundled `storage-peer-program.ts`.
 */
export async function* checkStorage(
  folder: string,
  peerProgram: string,
): AsyncGenerator<StorageOutcome> {
  const place = join(folder, `storage-check-${randomUUID()}`)
  await mkdir(place, { mode: 0o700 })
  try {
    for (const { name, test } of fileGuarantees) yield await outcomeOf(place, name, test)
    for (const { name, test } of sharedGuarantees) {
      const peer = new StoragePeer(peerProgram)
      yield await outcomeOf(place, name, (own) => test(own, peer)).finally(() => peer.kill())
    }
  } finally {
    await rm(place, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function outcomeOf(
  place: string,
  name: string,
  test: Guarantee['test'],
): Promise<StorageOutcome> {
  try {
    const own = join(place, randomUUID())
    await mkdir(own)
    return { name, isMissing: false, text: await test(own) }
  } catch (error) {
    return { name, isMissing: true, text: error instanceof Error ? error.message : String(error) }
  }
}
