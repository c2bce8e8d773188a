import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import nodegit, { type Repository, type Tree } from 'nodegit'
import { explained, found } from '../core/errors.ts'
import { hasCode } from '../core/system-errors.ts'
import { oidOf } from '../objects/commits.ts'
import { inspectObjects } from '../objects/objects.ts'
import { treePath } from '../objects/trees.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'

/**
 * The files that say how to merge others (gitattributes(5)): by another driver, by none since they
 * are binary, with longer markers. Their contents by path.
 *
 * `git merge` reads them from its work tree, where our side is checked out. Here is none, and in a
 * bare repository Git reads none. So where they matter it is given a work tree that has these files
 * and nothing else: those at the top, and those above files that both sides have changed.
 * (Attributes of binary files also decide how line ends count when Git looks for what has moved; to
 * that only the file at the top contributes.)
 */
export type MergeAttributes = ReadonlyMap<string, Buffer>

const NAME = '.gitattributes'

/**
 * Longer files are as if they were not there; to Git that is so beyond 100 MiB (attr.c). None is as
 * long that is written by hand.
 */
const MAX_FILE_BYTES = 256 * 1024

/** Of all of them together. */
const MAX_BYTES = 16 * 1024 * 1024

/** Says something about merges, or defines a name for saying it. */
const ABOUT_MERGES = /merge|diff|binary|\[attr\]|conflict-marker-size/

/** Others want libuv's threads, too. */
const READS_AT_ONCE = 64

const FORMAT_BITS = 0o170000
const REGULAR_FILE = 0o100000

/**
 * The attribute files of some directories in a tree; none of them when they say nothing about
 * merges, as most do.
 *
 * @param directories paths from the top, which is empty. Those that the tree does not have are no
 *   error.
 */
export async function readMergeAttributes(
  repositories: Repositories,
  id: number,
  treeId: string,
  directories: Iterable<string>,
): Promise<MergeAttributes> {
  return repositories.handles.use(repositoryPath(repositories, id), async (repository) => {
    const tree = await explained(nodegit.Tree.lookup(repository, oidOf(treeId)))
    // Anybody can push a tree with a name such as `..`, which is no path.
    const paths = [...directories].flatMap(
      (directory) => treePath(directory === '' ? NAME : `${directory}/${NAME}`) ?? [],
    )
    const files = new Map<string, Buffer>()
    let bytes = 0
    for (let i = 0; i < paths.length && bytes < MAX_BYTES; i += READS_AT_ONCE) {
      const found = await findFiles(tree, paths.slice(i, i + READS_AT_ONCE))
      for (const [path, content] of await readFiles(repositories, id, repository, found)) {
        files.set(path, content)
        bytes += content.length
      }
    }
    const areAboutMerges = [...files.values()].some((content) =>
      ABOUT_MERGES.test(content.toString('latin1')),
    )
    return areAboutMerges ? files : new Map()
  })
}

/**
 * The ids of files, by their paths. A link there is no file to Git either (`READ_ATTR_NOFOLLOW` in
 * its attr.c).
 */
async function findFiles(tree: Tree, paths: readonly string[]): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const entries = await Promise.all(paths.map((path) => found(tree.entryByPath(path))))
  for (const [i, path] of paths.entries()) {
    const entry = entries[i]
    if (entry && (entry.filemode() & FORMAT_BITS) === REGULAR_FILE) files.set(path, entry.sha())
  }
  return files
}

/**
 * The contents of files that are not too long. libgit2 holds a blob as a whole to tell its size, so
 * Git is asked for that.
 */
async function readFiles(
  repositories: Repositories,
  id: number,
  repository: Repository,
  files: ReadonlyMap<string, string>,
): Promise<(readonly [path: string, content: Buffer])[]> {
  const infos = await inspectObjects(repositories, id, [...new Set(files.values())], {
    hasSlot: true,
  })
  const short = [...files].filter(
    ([, blobId]) => (infos.get(blobId)?.bytes ?? Number.POSITIVE_INFINITY) <= MAX_FILE_BYTES,
  )
  return Promise.all(
    short.map(async ([path, blobId]) => {
      const blob = await explained(nodegit.Blob.lookup(repository, oidOf(blobId)))
      return [path, blob.content()] as const
    }),
  )
}

/** Whether two sets of attribute files are the same. */
export function areSameAttributes(one: MergeAttributes, other: MergeAttributes): boolean {
  return (
    one.size === other.size && [...one].every(([path, content]) => other.get(path)?.equals(content))
  )
}

/** The directories that a file is in, from its own to the top. */
export function directoriesAbove(path: string): string[] {
  const directory = dirname(`/${path}`).slice(1)
  return directory === '' ? [''] : [directory, ...directoriesAbove(directory)]
}

/** Puts attribute files where Git looks for them, below a folder that is to be its work tree. */
export async function writeMergeAttributes(
  folder: string,
  attributes: MergeAttributes,
): Promise<void> {
  await mkdir(folder)
  for (const [path, content] of attributes) await put(join(folder, path), content)
}

async function put(file: string, content: Buffer): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  } catch (error) {
    // Nobody can check it out either.
    if (!hasCode(error, 'ENAMETOOLONG')) throw error
  }
}
