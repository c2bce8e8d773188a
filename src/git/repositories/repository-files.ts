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
   * Equal for links to one file of objects, such as forks share; undefined for a file that has one
   * name only.
   */
  readonly linkKey: string | undefined
  /**
   * What is in it: in whole where it may change, else open for reading, until the next file is
   * asked for.
   */
  readonly content: Buffer | FileHandle
}

/** Folders without which Git takes none for a repository, though they may be empty. */
export function foldersOf(repositories: Repositories, id: number): string[] {
  const root = relative(repositories.folder, repositoryPath(repositories, id))
  return [join(root, 'objects'), join(root, 'refs')]
}

/** Objects on their way in: a file that is being written, or a push under review (tmp-objdir.c). */
const UNFINISHED_OBJECTS = /^(tmp_|incoming-|tmp_objdir-)/

/** The same, and packs. */
const NO_LOOSE_OBJECTS = /^(tmp_|incoming-|tmp_objdir-|pack$)/

/** No name of a ref ends so: Git locks files by it. */
const LOCK = /\.lock$/

/**
 * The files of a repository that make a working copy of it, while others work on it: refs before
 * objects, since no object that a ref needs is ever lost, and loose refs before packed ones, as Git
 * reads them. Of a repository that is deleted meanwhile, some.
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
 * Packs last: a `git repack` moves loose objects into packs, and those of packs into others
 * (tidyPacks in mirrors.ts).
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
    for await (const path of filesBelow(join(root, 'pack'), UNFINISHED_OBJECTS)) {
      if (seen.has(path)) continue
      seen.add(path)
      let isThere = false
      for await (const file of opened(folder, path)) {
        isThere = true
        yield file
      }
      // What was in it is in a pack that was made before it went.
      if (!isThere) hasGone = true
    }
  } while (hasGone)
}

/** A file of objects, opened; none when it is gone. */
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
 * An inode that has become free is given to the next file; one of the same name among objects has
 * the same content.
 */
async function describe(folder: string, path: string, file: FileHandle): Promise<RepositoryFile> {
  const { dev, ino, mtimeMs, nlink, size } = await file.stat()
  const linkKey = nlink > 1 ? `${dev}:${ino}:${mtimeMs}:${basename(path)}` : undefined
  return { path: relative(folder, path), bytes: size, linkKey, content: file }
}

/** A file as a list of one; an empty one when it is gone, as a ref that was deleted is. */
function readWhole(folder: string, path: string): Promise<RepositoryFile[]> {
  return unlessGone(async () => {
    const content = await readFile(path)
    return [{ path: relative(folder, path), bytes: content.length, linkKey: undefined, content }]
  })
}

/**
 * An index comes last in its folder, as Git writes them: one without its pack is worse than a pack
 * without its index.
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
