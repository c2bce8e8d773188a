import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Repository, Tree } from 'nodegit'
import { explained, found } from '../core/errors.ts'
import { libgit2 } from '../core/libgit2.ts'
import { hasCode } from '../core/system-errors.ts'
import { useObjects } from '../maintenance/limbo.ts'
import { oidOf } from '../objects/commits.ts'
import { inspectObjects } from '../objects/objects.ts'
import { treePath } from '../objects/trees.ts'
import type { Repositories } from '../repositories/repositories.ts'

/**
 * Contents of attribute files by path. They say how to merge other files (gitattributes(5)): by a
 * driver, not at all for binary files, with longer conflict markers.
 *
 * `git merge` reads attributes from the work tree, where our side is checked out. In a bare
 * repository, Git reads no attributes. When attributes affect a merge, Git therefore gets a work
 * tree that contains only the attribute files of the root and of the directories above files that
 * both sides have changed. (When Git searches for moved files, attributes of binary files affect
 * the comparison of line ends. For this, only the file of the root is used.)
 */
export type MergeAttributes = ReadonlyMap<string, Buffer>

const NAME = '.gitattributes'

/** Longer attribute files are ignored. The limit of Git is 100 MiB (attr.c). */
const MAX_FILE_BYTES = 256 * 1024

/** Limit of all attribute files together. */
const MAX_BYTES = 16 * 1024 * 1024

/** Matches attributes that affect merges, and macros, which may define them. */
const ABOUT_MERGES = /merge|diff|binary|\[attr\]|conflict-marker-size/

/** Concurrent reads, which leave threads of libuv to other work. */
const READS_AT_ONCE = 64

const FORMAT_BITS = 0o170000
const REGULAR_FILE = 0o100000

/**
 * Returns the attribute files of directories in a tree, none of them when no attribute affects
 * merges.
 *
 * @param directories paths from the root, whose path is empty. The directories need not exist.
 */
export async function readMergeAttributes(
  repositories: Repositories,
  id: number,
  treeId: string,
  directories: Iterable<string>,
): Promise<MergeAttributes> {
  return useObjects(repositories, id, async (repository) => {
    const tree = await explained(libgit2().Tree.lookup(repository, oidOf(treeId)))
    // Clients can push trees with names such as `..`, which are no paths.
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
 * Returns the ids of files by path. As in Git, symbolic links do not count (`READ_ATTR_NOFOLLOW` in
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
 * Returns the contents of files up to `MAX_FILE_BYTES`. Git reports the sizes, since libgit2 would
 * load a whole blob for its size.
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
      const blob = await explained(libgit2().Blob.lookup(repository, oidOf(blobId)))
      return [path, blob.content()] as const
    }),
  )
}

/** Returns whether two sets of attribute files are equal. */
export function areSameAttributes(one: MergeAttributes, other: MergeAttributes): boolean {
  return (
    one.size === other.size && [...one].every(([path, content]) => other.get(path)?.equals(content))
  )
}

/** Returns the directories above a file, from its own directory to the root. */
export function directoriesAbove(path: string): string[] {
  const directory = dirname(`/${path}`).slice(1)
  return directory === '' ? [''] : [directory, ...directoriesAbove(directory)]
}

/** Writes attribute files to a new folder that becomes a work tree. */
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
    // No system can check out such a path.
    if (!hasCode(error, 'ENAMETOOLONG')) throw error
  }
}
