import { textOfPath } from '../core/path-text.ts'
import { TEXT_WORK } from '../processes/read-work.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { ObjectFiles } from './object-files.ts'

/** An entry of a tree, with the size of a file or symbolic link. */
export interface ListedEntry {
  /** Path from the tree that is listed, in the format of `textOfPath`. */
  readonly path: string
  readonly mode: number
  readonly id: string
  readonly bytes?: number
}

/** Which entries to list, and how many at most. */
export interface ListingLimits {
  readonly recursive: boolean
  readonly maxEntries: number
}

/** Longest path. Git lists trees with longer paths, which it truncates. */
const MAX_PATH_CHARACTERS = 4096

const FORMAT_BITS = 0o170000
const FOLDER = 0o040000
const FILE = 0o100000
const SYMBOLIC_LINK = 0o120000
const SUBMODULE = 0o160000

/**
 * Lists a tree with sizes as `git ls-tree --long` does, from the files of the repository.
 *
 * @returns undefined for a large tree and for one that Git must read (see `ObjectFiles`).
 */
export async function listTreeFiles(
  repositories: Repositories,
  id: number,
  treeId: string,
  limits: ListingLimits,
): Promise<readonly ListedEntry[] | undefined> {
  const files = new ObjectFiles(repositories, id)
  try {
    const entries: ListedEntry[] = []
    if (!(await addEntries(files, { treeId, prefix: '' }, limits, entries))) return undefined
    const sized: ListedEntry[] = []
    for (const entry of entries) {
      const format = entry.mode & FORMAT_BITS
      const isBlob = format === FILE || format === SYMBOLIC_LINK
      const info = isBlob ? await files.inspect(entry.id) : undefined
      if (isBlob && info?.type !== 'blob') return undefined
      sized.push(info ? { ...entry, bytes: info.bytes } : entry)
    }
    return sized
  } finally {
    files.close()
  }
}

/** Adds the entries of a folder. Returns false when Git must read the tree. */
async function addEntries(
  files: ObjectFiles,
  { treeId, prefix }: { readonly treeId: string; readonly prefix: string },
  limits: ListingLimits,
  entries: ListedEntry[],
): Promise<boolean> {
  const tree = await files.read(treeId)
  if (tree?.type !== 'tree') return false
  const children = await files.run(() => {
    const parsed = parseTree(tree.content, limits.maxEntries - entries.length)
    return files.note((parsed?.length ?? limits.maxEntries) * TEXT_WORK) ? parsed : undefined
  })
  if (!children) return false
  for (const child of children) {
    const entry = { ...child, path: prefix + child.path }
    if (entries.length === limits.maxEntries || entry.path.length > MAX_PATH_CHARACTERS)
      return false
    entries.push(entry)
    const isEntered = limits.recursive && isFolder(entry.mode)
    const below = { treeId: entry.id, prefix: `${entry.path}/` }
    if (isEntered && !(await addEntries(files, below, limits, entries))) return false
  }
  return true
}

/**
 * Parses a tree object: `mode name`, NUL and the 20 bytes of an id for each entry.
 *
 * @returns undefined for a content that is no tree, and for one of more than `maxEntries`.
 */
function parseTree(content: Buffer, maxEntries: number): ListedEntry[] | undefined {
  const entries: ListedEntry[] = []
  let position = 0
  while (position < content.length) {
    const space = content.indexOf(0x20, position)
    const end = content.indexOf(0, space)
    const mode = content.toString('latin1', position, space)
    if (space < 0 || end < 0 || end + 21 > content.length || !/^[0-7]{1,6}$/.test(mode))
      return undefined
    if (entries.length === maxEntries) return undefined
    entries.push({
      path: textOfPath(content.subarray(space + 1, end)),
      mode: canonicalMode(Number.parseInt(mode, 8)),
      id: content.toString('hex', end + 1, end + 21),
    })
    position = end + 21
  }
  return entries
}

/** Returns whether a mode is that of a folder. */
export function isFolder(mode: number): boolean {
  return (mode & FORMAT_BITS) === FOLDER
}

/** Returns the mode that Git shows (`canon_mode` in object.h). */
export function canonicalMode(mode: number): number {
  const format = mode & FORMAT_BITS
  if (format === FILE) return (mode & 0o100) === 0 ? 0o100644 : 0o100755
  return format === FOLDER || format === SYMBOLIC_LINK ? format : SUBMODULE
}
