import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import { expect, it } from 'vitest'
import { archiveEntries } from '../../../src/forge/administration/archive.ts'

const mtime = new Date(0)

/** An archive with the kinds of entries that a backup has. */
function sampleArchive(): Promise<Buffer> {
  const archive = pack()
  archive.entry({ name: 'small', mtime }, 'x'.repeat(100))
  archive.entry({ name: 'folder', type: 'directory', mtime })
  archive.entry({ name: 'large', mtime }, Buffer.alloc(700, 1))
  archive.entry({ name: 'last', mtime }, 'y')
  archive.finalize()
  return buffer(archive)
}

/** Reads an archive as a restore does, and returns the number of its entries. */
async function countEntries(input: Readable, folder: string): Promise<number> {
  let count = 0
  for await (const entry of archiveEntries(input)) {
    if (entry.head.type === 'directory') await entry.skip()
    else await entry.writeTo(join(folder, String(count)))
    count += 1
  }
  return count
}

it('an archive that ends too early is refused, wherever it ends', async () => {
  const whole = await sampleArchive()
  const read = async (bytes: number) => {
    const folder = await mkdtemp(join(tmpdir(), 'branchline-archive-'))
    try {
      return await countEntries(Readable.from([whole.subarray(0, bytes)]), folder)
    } finally {
      await rm(folder, { recursive: true })
    }
  }
  expect(await read(whole.length)).toBe(4)
  // Not between two blocks of 512 bytes: the last entry of a backup says whether it is complete.
  for (let bytes = 7; bytes < whole.length; bytes += 50)
    if (bytes % 512 !== 0) await expect(read(bytes)).rejects.toThrow('Unexpected end of data')
})
