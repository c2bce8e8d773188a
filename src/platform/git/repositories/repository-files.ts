import type { Dirent } from 'node:fs'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { entriesOf, unlessGone } from './folders.ts'
import { type Repositories, repositoryPath } from './repositories.ts'

/** A file of a repository. */
export interface RepositoryFile {
  /** Relative to the folder of all repositories. */
  readonly path: string
  readonly bytes: number
  /**
   * Equal for hard links to the same file of objects, which forks share. Undefined for a file with
   * a single name.
   */
  readonly linkKey: string | undefined
  /**
   * The whole content of a file that may change. Otherwise an open file, which is closed when the
   * next file is requested.
   */
  readonly content: Buffer | FileHandle
}

/** Returns the folders that Git requires in a repository, even when they are empty. */
export function foldersOf(repositories: Repositories, id: number): string[] {
  const root = relative(repositories.folder, repositoryPath(repositories, id))
  return [join(root, 'objects'), join(root, 'refs')]
}

/**
 * Names of files that are being written and of pushes under review (tmp-objdir.c), and of files that
 * Git derives from packs: a copy of a multi-pack-index could name packs that the copy does not have.
 */
const NO_PACKS = /^(tmp_|incoming-|tmp_objdir-|multi-pack-index)/

/** The same for loose objects, the folder of packs, and the commit-graph. */
const NO_LOOSE_OBJECTS = /^(tmp_|incoming-|tmp_objdir-|pack$|commit-graphs?$)/

/** Suffix of Git's lock files. No name of a ref ends in this suffix. */
const LOCK = /\.lock$/

/**
 * Yields the files of a consistent copy of a repository while other processes write to it: refs
 * before objects, since Git never removes an object that a ref needs, and loose refs before packed
 * ones, as Git reads them. When the repository is deleted meanwhile, some files are missing.
 */
export async function* repositoryFiles(
  repositories: Repositories,
  id: number,
): AsyncGenerator<RepositoryFile, void, undefined> {
  const { folder } = repositories
  const root = repositoryPath(repositories, id)
  const changing: RepositoryFile[] = []
  for await (const path of filesBelow(join(root, 'refs'), LOCK))
    changing.push(...(await readWhole(folder, path)))
  for (const entry of await entriesOf(root)) {
    if (entry.isFile() && !LOCK.test(entry.name))
      changing.push(...(await readWhole(folder, join(root, entry.name))))
  }
  yield* changing
  yield* objectFiles(folder, join(root, 'objects'))
}

/**
 * Packs come last: `git repack` moves loose objects into packs, and objects of packs into new packs
 * (maintenance/steps.ts).
 */
async function* objectFiles(
  folder: string,
  root: string,
): AsyncGenerator<RepositoryFile, void, undefined> {
  for await (const path of filesBelow(root, NO_LOOSE_OBJECTS)) yield* opened(folder, path)
  const seen = new Set<string>()
  let hasGone = false
  do {
    hasGone = false
    for await (const path of filesBelow(join(root, 'pack'), NO_PACKS)) {
      if (seen.has(path)) continue
      seen.add(path)
      let isThere = false
      for await (const file of opened(folder, path)) {
        isThere = true
        yield file
      }
      // Before Git removed the pack, it created another one with the same objects.
      if (!isThere) hasGone = true
    }
  } while (hasGone)
}

/** Opens a file of objects. Yields nothing when the file does not exist. */
async function* opened(
  folder: string,
  path: string,
): AsyncGenerator<RepositoryFile, void, undefined> {
  const [file] = await unlessGone(async () => [await open(path)])
  if (!file) return
  try {
    yield await describe(folder, path, file)
  } finally {
    await file.close()
  }
}

/**
 * Describes a file of objects. The file system reuses inodes, so the key includes the name: files
 * of objects with the same name have the same content.
 */
async function describe(folder: string, path: string, file: FileHandle): Promise<RepositoryFile> {
  const { dev, ino, mtimeMs, nlink, size } = await file.stat()
  const linkKey = nlink > 1 ? `${dev}:${ino}:${mtimeMs}:${basename(path)}` : undefined
  return { path: relative(folder, path), bytes: size, linkKey, content: file }
}

/** Returns a file, or an empty list when the file does not exist, such as a deleted ref. */
function readWhole(folder: string, path: string): Promise<RepositoryFile[]> {
  return unlessGone(async () => {
    const content = await readFile(path)
    return [{ path: relative(folder, path), bytes: content.length, linkKey: undefined, content }]
  })
}

/**
 * Yields the files below a folder. Pack indexes come last, as Git writes them: an index without its
 * pack is worse than a pack without its index.
 */
async function* filesBelow(
  folder: string,
  except: RegExp,
): AsyncGenerator<string, void, undefined> {
  const entries = (await entriesOf(folder)).filter(({ name }) => !except.test(name))
  const isIndex = ({ name }: Dirent) => Number(name.endsWith('.idx'))
  for (const entry of entries.sort((a, b) => isIndex(a) - isIndex(b))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesBelow(path, except)
    else if (entry.isFile()) yield path
  }
}
