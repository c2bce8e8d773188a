import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { entriesOf, unlessGone } from '../repositories/folders.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'

/** Folders with files that Git derives from objects and packs, and the names of these files. */
const DERIVED = [
  ['objects/pack', /^multi-pack-index$|\.bitmap$/],
  ['objects/info', /^commit-graph$/],
  ['objects/info/commit-graphs', /^graph-.*\.graph$/],
] as const

/** The locks that Git takes to write them, in the same folders (lockfile.h of Git). */
const LOCK = /^(multi-pack-index|commit-graph|commit-graph-chain)\.lock$/

/**
 * Enough to write the objects of several GiB again at the lowest priority. A step has locks while it
 * writes one file, so an older lock is that of a killed process.
 */
export const STEP_TIMEOUT_MS = 60 * 60_000

/** Each of the files ends with the SHA-1 of what comes before (gitformat-pack(5) and others). */
const CHECKSUM_BYTES = 20

/**
 * Returns the derived files of a repository whose content does not have their checksum, as paths
 * within the repository: common indexes of packs, bitmaps and commit-graphs. Git trusts these files
 * and would answer wrongly, or fail.
 */
export async function damagedFiles(repositories: Repositories, id: number): Promise<string[]> {
  const root = repositoryPath(repositories, id)
  const damaged: string[] = []
  for (const [folder, names] of DERIVED) {
    for (const { name } of await entriesOf(join(root, folder))) {
      const path = join(folder, name)
      if (names.test(name) && (await isDamaged(join(root, path)))) damaged.push(path)
    }
  }
  return damaged
}

/** Removes damaged files with those that need them. Steps of maintenance write them again. */
export async function removeDamaged(
  repositories: Repositories,
  id: number,
  path: string,
): Promise<void> {
  const root = repositoryPath(repositories, id)
  const remove = (part: string) => rm(join(root, part), { recursive: true, force: true })
  // A layer of a commit-graph is of no use without the others.
  if (path.startsWith('objects/info/commit-graphs')) return remove('objects/info/commit-graphs')
  await remove(path)
  if (!path.endsWith('/multi-pack-index')) return
  for (const { name } of await entriesOf(join(root, 'objects/pack')))
    if (name.startsWith('multi-pack-index-')) await remove(join('objects/pack', name))
}

/**
 * Removes the locks of derived files that killed Git processes have left. Without this, each later
 * step would fail. The caller has the lock of maintenance, so that no step runs.
 *
 * @param nowMs Unix milliseconds.
 */
export async function removeStaleLocks(
  repositories: Repositories,
  id: number,
  nowMs: number,
): Promise<void> {
  const root = repositoryPath(repositories, id)
  for (const [folder] of DERIVED) {
    for (const { name } of await entriesOf(join(root, folder))) {
      if (!LOCK.test(name)) continue
      const path = join(root, folder, name)
      const [lock] = await unlessGone(async () => [await stat(path)])
      if (lock && nowMs - lock.mtimeMs > STEP_TIMEOUT_MS) await rm(path, { force: true })
    }
  }
}

/** A file that Git replaces meanwhile is not damaged: an open file keeps its content. */
async function isDamaged(path: string): Promise<boolean> {
  const [intact = true] = await unlessGone(async () => {
    const hash = createHash('sha1')
    let tail = Buffer.alloc(0)
    for await (const chunk of createReadStream(path)) {
      const known = Buffer.concat([tail, chunk])
      const end = Math.max(0, known.length - CHECKSUM_BYTES)
      hash.update(known.subarray(0, end))
      tail = known.subarray(end)
    }
    return [hash.digest().equals(tail)]
  })
  return !intact
}
