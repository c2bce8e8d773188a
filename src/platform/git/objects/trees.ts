import type { TreeEntry as StoredEntry } from 'nodegit'
import { explained, found } from '../core/errors.ts'
import { libgit2 } from '../core/libgit2.ts'
import { bytesOfQuoted, textOfPath } from '../core/path-text.ts'
import { useObjects } from '../maintenance/limbo.ts'
import { readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'
import { objectCacheOf } from './object-cache.ts'
import { ObjectPresence } from './object-presence.ts'
import { inspectObjects } from './objects.ts'
import { listTreeFiles } from './tree-files.ts'

/** Kinds of tree entries. */
export type EntryKind = 'file' | 'dir' | 'symlink' | 'submodule'

/** An entry of a tree. */
export interface TreeEntry {
  /** Path from the requested tree, in the format of `textOfPath`. */
  readonly path: string
  /** Mode as stored, such as 0o100755. */
  readonly mode: number
  readonly kind: EntryKind
  /** Id of the blob or tree. For a submodule, the id of its commit in another repository. */
  readonly id: string
  /** Size of a file or symbolic link, where it was read with the entry. */
  readonly bytes?: number | undefined
}

/** A page of a tree. */
export interface TreePage {
  readonly entries: readonly TreeEntry[]
  /** Number of entries on all pages. */
  readonly total: number
}

/** Longest path that is looked up: PATH_MAX of Linux. libgit2 recurs for each component. */
const MAX_PATH_BYTES = 4096

/** Longest path in a list. Clients can push longer paths, which are truncated. */
const MAX_LISTED_BYTES = 64 * 1024

const FORMAT_BITS = 0o170000
const KINDS: ReadonlyMap<number, EntryKind> = new Map([
  [0o040000, 'dir'],
  [0o120000, 'symlink'],
  [0o160000, 'submodule'],
])

/** Returns the kind for a mode. Unknown modes are files: old repositories have 100664. */
export function kindOf(mode: number): EntryKind {
  return KINDS.get(mode & FORMAT_BITS) ?? 'file'
}

/**
 * Returns a path in the format of Git: components joined by single slashes, without a slash at the
 * start or end. The path of the root is empty.
 *
 * @returns undefined for a path that no tree can have: with empty components, `.`, `..`, NUL or
 *   unpaired surrogates, or longer than `MAX_PATH_BYTES`.
 */
export function treePath(text: string): string | undefined {
  const path = text.replace(/^\/|\/$/g, '')
  if (path === '') return ''
  if (/[\0\p{Cs}]/u.test(path) || Buffer.byteLength(path) > MAX_PATH_BYTES) return undefined
  return path.split('/').some((component) => ['', '.', '..'].includes(component)) ? undefined : path
}

/** Memory of the entries that were looked up, and of one without its path. */
const MAX_FOUND_BYTES = 8 * 1024 ** 2
const ENTRY_BYTES = 300

/**
 * Returns the entry of a tree at a path, or undefined when there is none. Entries that were found
 * are cached.
 *
 * @param path result of `treePath`, not the root.
 */
export async function findEntry(
  repositories: Repositories,
  id: number,
  treeId: string,
  path: string,
): Promise<TreeEntry | undefined> {
  const cache = objectCacheOf<TreeEntry>(
    repositories,
    'entries',
    MAX_FOUND_BYTES,
    (entry) => entry.path.length * 4 + ENTRY_BYTES,
  )
  const presence = new ObjectPresence(repositories, id)
  const variant = ` ${path}`
  const known = cache.get(id, treeId, presence, variant)
  if (known) return known
  const before = presence.evidenceOf(treeId)
  const entry = await lookUpEntry(repositories, id, treeId, path)
  if (entry) cache.set(id, treeId, entry, { before, presence, variant })
  return entry
}

async function lookUpEntry(
  repositories: Repositories,
  id: number,
  treeId: string,
  path: string,
): Promise<TreeEntry | undefined> {
  const literal = await useObjects(repositories, id, async (repository) => {
    const tree = await explained(
      libgit2().Tree.lookup(repository, libgit2().Oid.fromString(treeId)),
    )
    const entry = await found(tree.entryByPath(path))
    return entry && entryOf(path, entry)
  })
  return (
    literal ?? (path.includes('"') ? findQuotedEntry(repositories, id, treeId, path) : undefined)
  )
}

/** Finds an entry at a path with quoted components. libgit2 accepts paths in UTF-8 only. */
async function findQuotedEntry(
  repositories: Repositories,
  id: number,
  treeId: string,
  path: string,
): Promise<TreeEntry | undefined> {
  let entry: TreeEntry | undefined
  let folderId = treeId
  for (const component of path.split('/')) {
    if (entry && entry.kind !== 'dir') return undefined
    const wanted = bytesOfQuoted(component) ?? Buffer.from(component)
    entry = undefined
    for await (const record of splitAtZeros(
      readGit(repositories, id, lsTree(folderId)),
      MAX_LISTED_BYTES,
    )) {
      if (record.subarray(record.indexOf('\t') + 1).equals(wanted)) entry = readRecord(record)
    }
    if (!entry) return undefined
    folderId = entry.id
  }
  return entry && { ...entry, path }
}

/**
 * Returns the entries of a tree at paths and at the folders above them, by path, without paths that
 * do not exist. Each folder is read once, since a folder of 100,000 entries takes long to read.
 *
 * @param paths results of `treePath`, not the root.
 */
export async function findEntries(
  repositories: Repositories,
  id: number,
  treeId: string,
  paths: Iterable<string>,
): Promise<ReadonlyMap<string, TreeEntry>> {
  const entries = new Map<string, TreeEntry>()
  await useObjects(repositories, id, async (repository) => {
    const visit = async (folder: string, oid: string, below: Iterable<string>): Promise<void> => {
      const tree = await explained(libgit2().Tree.lookup(repository, libgit2().Oid.fromString(oid)))
      for (const [name, deeper] of byFirstComponent(below)) {
        const entry = await found(tree.entryByPath(name))
        if (!entry) continue
        const view = entryOf(folder + name, entry)
        entries.set(view.path, view)
        if (view.kind === 'dir' && deeper.length > 0) await visit(`${view.path}/`, view.id, deeper)
      }
    }
    await visit('', treeId, paths)
  })
  return entries
}

function entryOf(path: string, entry: StoredEntry): TreeEntry {
  const mode = entry.filemode()
  return { path, mode, kind: kindOf(mode), id: entry.sha() }
}

/** Groups paths by their first component. The groups contain the remaining paths, if any. */
function byFirstComponent(paths: Iterable<string>): ReadonlyMap<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const path of paths) {
    const slash = path.indexOf('/')
    const name = slash < 0 ? path : path.slice(0, slash)
    const group = groups.get(name) ?? []
    groups.set(name, group)
    if (slash >= 0) group.push(path.slice(slash + 1))
  }
  return groups
}

/** Largest complete list that is read with sizes and cached. */
const MAX_CACHED_ENTRIES = 20_000

/**
 * Longest output that is read as such a list. A repository of a few KiB can have thousands of paths
 * of 64 KiB each, since all of them can start with the same folder.
 */
const MAX_CACHED_OUTPUT_BYTES = 4 * 1024 ** 2

/**
 * Entries that are read without a Git process. More than a hundred cost more CPU time than the
 * process. A larger folder is often shown together with its last changes, which take a process.
 */
const MAX_ENTRIES_BELOW = 100
const MAX_ENTRIES_OF_FOLDER = 1_000

/** Memory of all cached lists. */
const MAX_LISTS_BYTES = 32 * 1024 ** 2

/** A list, or the fact that it is too long. */
type KnownList = readonly TreeEntry[] | 'too long'

const listsIn = (repositories: Repositories) =>
  objectCacheOf<KnownList>(repositories, 'trees', MAX_LISTS_BYTES, (list) =>
    list === 'too long' ? 0 : list.reduce((bytes, { path }) => bytes + path.length * 2 + 200, 0),
  )

/** Which entries of a tree to list. */
export interface TreeWindow {
  readonly recursive?: boolean
  readonly offset: number
  readonly limit: number
}

/**
 * Returns a page of the entries of a tree in Git's order. With `recursive`, the entries of
 * subdirectories follow their directory.
 *
 * A tree never changes, so a list of up to `MAX_CACHED_ENTRIES` and `MAX_CACHED_OUTPUT_BYTES` is
 * cached. The cost of a larger one is a walk through all entries for each page, and memory for one
 * page.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function listTree(
  repositories: Repositories,
  id: number,
  treeId: string,
  { recursive = false, offset, limit }: TreeWindow,
): Promise<TreePage> {
  const presence = new ObjectPresence(repositories, id)
  const variant = recursive ? ' recursive' : ''
  const known = listsIn(repositories).get(id, treeId, presence, variant)
  const before = presence.evidenceOf(treeId)
  const flags = recursive ? ['-r', '-t'] : []
  const list =
    known ??
    (await readListHere(repositories, id, treeId, recursive)) ??
    (await readList(repositories, id, lsTree(treeId, '--long', ...flags)))
  if (!known) listsIn(repositories).set(id, treeId, list, { before, presence, variant })
  if (list === 'too long')
    return readPage(repositories, id, lsTree(treeId, ...flags), { offset, limit })
  return { entries: list.slice(offset, offset + limit), total: list.length }
}

/** Reads a short list with sizes without a Git process. */
async function readListHere(
  repositories: Repositories,
  id: number,
  treeId: string,
  recursive: boolean,
): Promise<KnownList | undefined> {
  const maxEntries = recursive ? MAX_ENTRIES_BELOW : MAX_ENTRIES_OF_FOLDER
  const list = await listTreeFiles(repositories, id, treeId, { recursive, maxEntries })
  return list?.map((entry) => ({ ...entry, kind: kindOf(entry.mode) }))
}

/** Reads a list with sizes. */
async function readList(
  repositories: Repositories,
  id: number,
  args: readonly string[],
): Promise<KnownList> {
  const entries: TreeEntry[] = []
  let outputBytes = 0
  for await (const record of splitAtZeros(readGit(repositories, id, args), MAX_LISTED_BYTES)) {
    outputBytes += record.length
    const isLong = entries.length === MAX_CACHED_ENTRIES || outputBytes > MAX_CACHED_OUTPUT_BYTES
    if (isLong) return 'too long'
    entries.push(readRecord(record))
  }
  return entries
}

/** Reads a page without sizes. */
async function readPage(
  repositories: Repositories,
  id: number,
  args: readonly string[],
  { offset, limit }: TreeWindow,
): Promise<TreePage> {
  const entries: TreeEntry[] = []
  let total = 0
  for await (const record of splitAtZeros(readGit(repositories, id, args), MAX_LISTED_BYTES)) {
    if (total >= offset && entries.length < limit) entries.push(readRecord(record))
    total += 1
  }
  return { entries, total }
}

/** The paths of the files of a tree. */
export interface PathList {
  /** In the order of Git. */
  readonly paths: readonly string[]
  /** Whether the tree has more files than the list. */
  readonly isTruncated: boolean
}

/** A person looks for one file. gRPC clients accept 4 MiB by default, and each path has two bytes more. */
const MAX_PATHS = 100_000
const MAX_PATHS_BYTES = 3 * 1024 ** 2

/** Memory of all cached lists of paths. */
const MAX_PATH_LISTS_BYTES = 24 * 1024 ** 2

/**
 * Returns the paths of all files, symbolic links and submodules of a commit. The list of a commit never
 * changes and is cached.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export function listPaths(
  repositories: Repositories,
  id: number,
  commitId: string,
): Promise<PathList> {
  const cache = resultsOf<PathList>(
    repositories,
    'paths',
    MAX_PATH_LISTS_BYTES,
    ({ paths }) => bytesOfPaths(paths) * 2,
  )
  return cache.get(id, commitId, () => readPaths(repositories, id, commitId))
}

async function readPaths(
  repositories: Repositories,
  id: number,
  commitId: string,
): Promise<PathList> {
  const paths: string[] = []
  let bytes = 0
  const output = readGit(repositories, id, lsTree(commitId, '-r', '--name-only'), {
    isBuffered: true,
  })
  for await (const record of splitAtZeros(output, MAX_LISTED_BYTES)) {
    const path = textOfPath(record)
    bytes += bytesOfPaths([path])
    if (paths.length === MAX_PATHS || bytes > MAX_PATHS_BYTES) return { paths, isTruncated: true }
    paths.push(path)
  }
  return { paths, isTruncated: false }
}

/** Returns the size of paths in a message: each has a tag and a length beside its bytes. */
export function bytesOfPaths(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + Buffer.byteLength(path) + 4, 0)
}

/**
 * Yields the files, symbolic links and submodules of a commit with their sizes, in Git's order.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function* listFiles(
  repositories: Repositories,
  id: number,
  commitId: string,
): AsyncGenerator<TreeEntry, void, undefined> {
  const output = readGit(repositories, id, lsTree(commitId, '-r', '--long'), {
    isBuffered: true,
    priority: 'maintenance',
  })
  for await (const record of splitAtZeros(output, MAX_LISTED_BYTES)) yield readRecord(record)
}

function lsTree(treeId: string, ...flags: readonly string[]): string[] {
  return ['ls-tree', '-z', '--full-tree', ...flags, treeId]
}

/** Parses `mode type id<TAB>path`, with the size after the id for `--long` (git-ls-tree(1)). */
function readRecord(record: Buffer): TreeEntry {
  const tab = record.indexOf('\t')
  const [modeText = '', , id = '', size = ''] = record.toString('latin1', 0, tab).split(/ +/)
  const mode = Number.parseInt(modeText, 8)
  const entry = { path: textOfPath(record.subarray(tab + 1)), mode, kind: kindOf(mode), id }
  // Other entries have a hyphen, and files whose content is lost the word BAD.
  return /^[0-9]+$/.test(size) ? { ...entry, bytes: Number(size) } : entry
}

/**
 * Returns the sizes in bytes of the files and symbolic links among entries, by id.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function sizesOf(
  repositories: Repositories,
  id: number,
  entries: readonly TreeEntry[],
): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  const unknown: string[] = []
  for (const entry of entries) {
    if (entry.kind !== 'file' && entry.kind !== 'symlink') continue
    if (entry.bytes === undefined) unknown.push(entry.id)
    else sizes.set(entry.id, entry.bytes)
  }
  for (const { id: blobId, bytes } of (await inspectObjects(repositories, id, unknown)).values())
    sizes.set(blobId, bytes)
  return sizes
}
