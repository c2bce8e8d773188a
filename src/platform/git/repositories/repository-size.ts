import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { currentHolder } from '../processes/readers.ts'
import { entriesOf, unlessGone } from './folders.ts'
import { QUARANTINE } from './leftovers.ts'
import { readGit, textOf } from './reading.ts'
import { type Repositories, repositoryExists, repositoryPath } from './repositories.ts'

/** The sizes of the files of objects of a repository, in bytes. */
export interface RepositorySize {
  /** A file that forks share by links counts whole. */
  readonly bytes: number
  /** A file that forks share counts in parts, one for each link, rounded up. */
  readonly ownedBytes: number
  /** The part of `ownedBytes` that is in no pack. */
  readonly looseBytes: number
}

/** The folders of loose objects, by the first byte of their ids. */
const LOOSE = /^[0-9a-f]{2}$/

/** Files that are examined at a time, which leaves threads of libuv to other work. */
const FILES_AT_ONCE = 16

/**
 * Returns the size of a repository, or undefined when it does not exist. Pushes in progress do not
 * count.
 *
 * @throws GitError BUSY
 */
export async function measureRepository(
  repositories: Repositories,
  id: number,
): Promise<RepositorySize | undefined> {
  if (!(await repositoryExists(repositories, id))) return undefined
  const release = await repositories.readers.acquire({ holder: currentHolder() })
  try {
    return await sizeOf(join(repositoryPath(repositories, id), 'objects'))
  } finally {
    release()
  }
}

/** Returns the bytes of the objects in a folder, such as that of a push which Git has not accepted. */
export async function measureObjects(folder: string): Promise<number> {
  return (await sizeOf(folder)).bytes
}

/**
 * Returns the bytes of the stored objects that no ref needs yet, as they are on disk.
 *
 * @param tips ids of objects.
 * @throws GitError BUSY, TIMEOUT
 */
export async function measureNewObjects(
  repositories: Repositories,
  id: number,
  tips: readonly string[],
): Promise<number> {
  const args = ['rev-list', '--objects', '--disk-usage', ...tips, '--not', '--all']
  return Number(await textOf(readGit(repositories, id, args)))
}

async function sizeOf(folder: string): Promise<RepositorySize> {
  let [bytes, ownedBytes, looseBytes] = [0, 0, 0]
  const entries = await entriesOf(folder)
  const files = entries.filter((entry) => entry.isFile())
  for (let start = 0; start < files.length; start += FILES_AT_ONCE) {
    const batch = files.slice(start, start + FILES_AT_ONCE)
    const found = await Promise.all(
      batch.map(({ name }) => unlessGone(async () => [await lstat(join(folder, name))])),
    )
    for (const { size, nlink } of found.flat()) {
      bytes += size
      ownedBytes += Math.ceil(size / Math.max(nlink, 1))
    }
  }
  for (const entry of entries) {
    if (!entry.isDirectory() || QUARANTINE.test(entry.name)) continue
    const below = await sizeOf(join(folder, entry.name))
    bytes += below.bytes
    ownedBytes += below.ownedBytes
    if (LOOSE.test(entry.name)) looseBytes += below.ownedBytes
  }
  return { bytes, ownedBytes, looseBytes }
}
