import { readFile, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { entriesOf, unlessGone } from './folders.ts'
import { type Repositories, repositoryPath } from './repositories.ts'

/** A file of a repository. */
export interface RepositoryFile {
  /** Relative to the folder of all repositories. */
  readonly path: string
  readonly bytes: number
  /** Which file on the disk it is: two paths with the same one are links to one file. */
  readonly inode: string
  /** What was in it, if it may change; otherwise it stays as it is, to be read from its place. */
  readonly content: Buffer | undefined
}

/** Folders without which Git takes none for a repository, though they may be empty. */
export function foldersOf(repositories: Repositories, id: number): string[] {
  const root = relative(repositories.folder, repositoryPath(repositories, id))
  return [join(root, 'objects'), join(root, 'refs')]
}

/** Objects on their way in: a file that is being written, or a push under review (tmp-objdir.c). */
const UNFINISHED_OBJECTS = /^(tmp_|incoming-|tmp_objdir-)/

/** No name of a ref ends so: Git locks files by it. */
const LOCK = /\.lock$/

/**
 * The files of a repository that make a working copy of it, while others push to it: refs before objects, since objects are only
 * ever added, and loose refs before packed ones, as Git reads them. Of a repository that is deleted meanwhile, some.
 */
export async function* repositoryFiles(
  repositories: Repositories,
  id: number,
): AsyncGenerator<RepositoryFile, void, undefined> {
  const root = repositoryPath(repositories, id)
  const snapshot: RepositoryFile[] = []
  for await (const path of filesBelow(join(root, 'refs'), LOCK))
    snapshot.push(...(await located(repositories, path, true)))
  for (const entry of await entriesOf(root)) {
    if (!entry.isFile() || LOCK.test(entry.name)) continue
    snapshot.push(...(await located(repositories, join(root, entry.name), true)))
  }
  yield* snapshot
  for await (const path of filesBelow(join(root, 'objects'), UNFINISHED_OBJECTS)) {
    yield* await located(repositories, path, false)
  }
}

async function* filesBelow(folder: string, except: RegExp): AsyncGenerator<string, void, undefined> {
  for (const entry of await entriesOf(folder)) {
    if (except.test(entry.name)) continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesBelow(path, except)
    else if (entry.isFile()) yield path
  }
}

/** A file as a list of one; an empty one when it is gone, as a ref that was deleted is. */
function located({ folder }: Repositories, path: string, isMutable: boolean): Promise<RepositoryFile[]> {
  return unlessGone(async () => {
    const content = isMutable ? await readFile(path) : undefined
    const { dev, ino, size } = await stat(path)
    return [{ path: relative(folder, path), bytes: content?.length ?? size, inode: `${dev}:${ino}`, content }]
  })
}
