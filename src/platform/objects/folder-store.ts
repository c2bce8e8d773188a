import { randomUUID } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { type FileHandle, link, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { hasCode } from '../git/core/system-errors.ts'
import { type ListedObject, type ObjectStore, PlaceGoneError } from './object-store.ts'

/** How keys and paths below the folder correspond. Both have slashes. */
export interface FolderLayout {
  /** The folders that have all objects. */
  readonly folders: readonly string[]
  /** Returns the path of a key, or the folder of a prefix that ends with a slash. */
  pathOf(key: string): string
  /** Returns the key of a file; undefined for a file that is no object, such as a draft. */
  keyOf(path: string): string | undefined
}

/**
 * The folder of the drafts, inside each folder of objects. Both are on one file system, so that a draft
 * can be renamed, and a sweep reads one folder and not those of all objects.
 */
const DRAFTS_FOLDER = 'incoming'

/** The number of retries of a removal whose folder is not empty. */
const MAX_RETRIES = 3

/**
 * Creates a store of files.
 *
 * @param folder absolute path.
 */
export function createFolderStore(folder: string, layout: FolderLayout): ObjectStore {
  const pathOf = (key: string) => join(folder, layout.pathOf(key))
  return {
    name: 'disk',
    isAway: false,
    put(key, content) {
      const [top = ''] = layout.pathOf(key).split('/')
      return writeFile(
        folder,
        { path: pathOf(key), drafts: join(folder, top, DRAFTS_FOLDER) },
        content,
      )
    },

    async get(key, range) {
      const file = await unlessMissing(open(pathOf(key)))
      if (!file) return undefined
      const { size } = await file.stat()
      // The content stays readable if the file is removed meanwhile.
      const content = file.createReadStream(range && { start: range.first, end: range.last })
      return { bytes: size, content }
    },

    size: (key) => unlessMissing(stat(pathOf(key)).then(({ size }) => size)),
    delete: (key) => rm(pathOf(key), { force: true }),

    async deleteAll(prefix) {
      // A concurrent upload may add a file to the folder.
      await rm(pathOf(prefix), { recursive: true, force: true, maxRetries: MAX_RETRIES })
    },

    async copy(from, to) {
      const path = pathOf(to)
      await makeFolder(dirname(path))
      await link(pathOf(from), path).catch((error) => {
        if (!hasCode(error, 'EEXIST')) throw error
      })
      await syncFolders(folder, dirname(path))
    },

    list: (prefix) => listFolder(folder, layout, prefix),

    async removeDrafts(beforeMs) {
      let removed = 0
      for (const top of layout.folders)
        removed += await removeOldFiles(join(folder, top, DRAFTS_FOLDER), beforeMs)
      return removed
    },
  }
}

/** Removes the files of a folder that were changed before a time. Returns their number. */
async function removeOldFiles(folder: string, beforeMs: number): Promise<number> {
  let removed = 0
  for await (const { name } of entriesOf(folder)) {
    const path = join(folder, name)
    const found = await unlessMissing(stat(path))
    if (!found?.isFile() || found.mtimeMs >= beforeMs) continue
    await rm(path, { force: true })
    removed++
  }
  return removed
}

/**
 * Writes a file under a draft name, and renames the file when its content is on disk.
 *
 * @param folder the folder of the store, which has the file.
 */
async function writeFile(
  folder: string,
  { path, drafts }: { readonly path: string; readonly drafts: string },
  content: AsyncIterable<Uint8Array>,
): Promise<number> {
  const parent = dirname(path)
  const draft = join(drafts, randomUUID())
  await makeFolder(drafts)
  // Made before the content arrives: when `deleteAll` removes the folder meanwhile, the draft has no
  // place, and the object is refused.
  await makeFolder(parent)
  let bytes = 0
  // Opened before anything can fail: a stream that opens the file itself may create the file after
  // its removal.
  const file = await openNew(draft)
  try {
    await pipeline(
      content,
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          bytes += chunk.length
          yield chunk
        }
      },
      file.createWriteStream({ flush: true }),
    )
    await rename(draft, path)
    await syncFolders(folder, parent)
    return bytes
  } catch (error) {
    await rm(draft, { force: true })
    throw goneInstead(error)
  }
}

async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    throw goneInstead(error)
  }
}

function goneInstead(error: unknown): unknown {
  if (!hasCode(error, 'ENOENT')) return error
  return new PlaceGoneError('the folder of the object was removed', { cause: error })
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
}

/** Syncs a folder and those above, so that the names of their files survive a power failure. */
async function syncFolders(top: string, leaf: string): Promise<void> {
  for (let path = leaf; path.length >= top.length; path = dirname(path)) {
    const handle = await open(path, 'r')
    await handle.sync().finally(() => handle.close())
  }
}

async function* listFolder(
  folder: string,
  layout: FolderLayout,
  prefix: string,
): AsyncGenerator<ListedObject, void, undefined> {
  for await (const path of filesBelow(folder, layout.pathOf(prefix).replace(/\/$/, ''))) {
    const key = layout.keyOf(path)
    const found = key === undefined ? undefined : await unlessMissing(stat(join(folder, path)))
    if (key === undefined || !found) continue
    yield { key, bytes: found.size, timeMs: found.mtimeMs }
  }
}

/** Yields the paths of the files in a folder and the folders below, relative to `top`. */
async function* filesBelow(top: string, path: string): AsyncGenerator<string, void, undefined> {
  for await (const entry of entriesOf(join(top, path))) {
    const inside = `${path}/${entry.name}`
    if (entry.isDirectory()) yield* filesBelow(top, inside)
    else if (entry.isFile()) yield inside
  }
}

async function* entriesOf(folder: string): AsyncGenerator<Dirent, void, undefined> {
  const entries = await unlessMissing(opendir(folder))
  if (entries) yield* entries
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}
