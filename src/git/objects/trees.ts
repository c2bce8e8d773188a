import nodegit, { type TreeEntry as StoredEntry } from 'nodegit'
import { explained, found } from '../core/errors.ts'
import { bytesOfQuoted, textOfPath } from '../core/path-text.ts'
import { readGit, splitAtZeros } from '../repositories/reading.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'
import { inspectObjects } from './objects.ts'

/** What a tree can have at a path. */
export type EntryKind = 'file' | 'dir' | 'symlink' | 'submodule'

/** One name of a tree. */
export interface TreeEntry {
  /** From the top of the tree that was asked for, as `textOfPath` writes it. */
  readonly path: string
  /** As stored, for example 0o100755. */
  readonly mode: number
  readonly kind: EntryKind
  /** Of the blob or tree; of a submodule its commit, which is in another repository. */
  readonly id: string
}

/** A page of a tree. */
export interface TreePage {
  readonly entries: readonly TreeEntry[]
  /** Entries on all pages. */
  readonly total: number
}

/**
 * Longest path that is looked up, in bytes: PATH_MAX of Linux, beyond which nobody has a file.
 * libgit2 recurs by component.
 */
const MAX_PATH_BYTES = 4096

/** Kept of a path in a list. Longer ones can be pushed. */
const MAX_LISTED_BYTES = 64 * 1024

const FORMAT_BITS = 0o170000
const KINDS: ReadonlyMap<number, EntryKind> = new Map([
  [0o040000, 'dir'],
  [0o120000, 'symlink'],
  [0o160000, 'submodule'],
])

/** What a mode says. Everything unknown is a file: old repositories have modes such as 100664. */
export function kindOf(mode: number): EntryKind {
  return KINDS.get(mode & FORMAT_BITS) ?? 'file'
}

/**
 * A path as Git has it: from the top, its components joined by single slashes, none at either end.
 * The top itself is empty.
 *
 * @returns undefined for what no tree can have: empty components, `.`, `..`, NUL, half characters,
 *   more than `MAX_PATH_BYTES`.
 */
export function treePath(text: string): string | undefined {
  const path = text.replace(/^\/|\/$/g, '')
  if (path === '') return ''
  if (/[\0\p{Cs}]/u.test(path) || Buffer.byteLength(path) > MAX_PATH_BYTES) return undefined
  return path.split('/').some((component) => ['', '.', '..'].includes(component)) ? undefined : path
}

/**
 * What a tree has at a path.
 *
 * @param path as `treePath` gives it, and not the top.
 * @returns undefined when there is nothing.
 */
export async function findEntry(
  repositories: Repositories,
  id: number,
  treeId: string,
  path: string,
): Promise<TreeEntry | undefined> {
  const literal = await repositories.handles.use(
    repositoryPath(repositories, id),
    async (repository) => {
      const tree = await explained(nodegit.Tree.lookup(repository, nodegit.Oid.fromString(treeId)))
      const entry = await found(tree.entryByPath(path))
      return entry && entryOf(path, entry)
    },
  )
  return (
    literal ?? (path.includes('"') ? findQuotedEntry(repositories, id, treeId, path) : undefined)
  )
}

/**
 * What a tree has at a path some of whose components are quoted: libgit2 takes paths in UTF-8 only.
 */
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
 * What a tree has at some paths and at the folders above them, by path; what is not there is left
 * out. Each folder is read once, however many of the paths lead through it: one of a hundred
 * thousand entries takes long.
 *
 * @param paths as `treePath` gives them, and not the top.
 */
export async function findEntries(
  repositories: Repositories,
  id: number,
  treeId: string,
  paths: Iterable<string>,
): Promise<ReadonlyMap<string, TreeEntry>> {
  const entries = new Map<string, TreeEntry>()
  await repositories.handles.use(repositoryPath(repositories, id), async (repository) => {
    const visit = async (folder: string, oid: string, below: Iterable<string>): Promise<void> => {
      const tree = await explained(nodegit.Tree.lookup(repository, nodegit.Oid.fromString(oid)))
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

/** Paths by their first component, without it; what has no more of them is left out. */
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

/**
 * A page of the entries of a tree, in Git's order; with `recursive` also of all that is below it,
 * directories before what they have.
 *
 * Costs a walk through all of them, whatever the page, and memory for the page only.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function listTree(
  repositories: Repositories,
  id: number,
  treeId: string,
  {
    recursive = false,
    offset,
    limit,
  }: { readonly recursive?: boolean; readonly offset: number; readonly limit: number },
): Promise<TreePage> {
  const args = lsTree(treeId, ...(recursive ? ['-r', '-t'] : []))
  const entries: TreeEntry[] = []
  let total = 0
  for await (const record of splitAtZeros(readGit(repositories, id, args), MAX_LISTED_BYTES)) {
    if (total >= offset && entries.length < limit) entries.push(readRecord(record))
    total += 1
  }
  return { entries, total }
}

function lsTree(treeId: string, ...flags: readonly string[]): string[] {
  return ['ls-tree', '-z', '--full-tree', ...flags, treeId]
}

/** `mode type id<TAB>path` (git-ls-tree(1)). */
function readRecord(record: Buffer): TreeEntry {
  const tab = record.indexOf('\t')
  const [modeText = '', , id = ''] = record.toString('latin1', 0, tab).split(' ')
  const mode = Number.parseInt(modeText, 8)
  return { path: textOfPath(record.subarray(tab + 1)), mode, kind: kindOf(mode), id }
}

/**
 * Bytes of the blobs among some entries, by their ids.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export async function sizesOf(
  repositories: Repositories,
  id: number,
  entries: readonly TreeEntry[],
): Promise<ReadonlyMap<string, number>> {
  const blobs = entries
    .filter(({ kind }) => kind === 'file' || kind === 'symlink')
    .map((entry) => entry.id)
  const infos = await inspectObjects(repositories, id, blobs)
  return new Map([...infos.values()].map((info) => [info.id, info.bytes]))
}
