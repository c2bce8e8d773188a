import { blameFile, type FileBlame, MAX_BLAMED_LINES } from '../../../platform/git/history/blame.ts'
import { readCommits } from '../../../platform/git/history/history.ts'
import {
  type LastChanges,
  lastChangeOf,
  lastChanges,
} from '../../../platform/git/history/last-changes.ts'
import { type LfsPointer, parseLfsPointer } from '../../../platform/git/objects/lfs-pointers.ts'
import { type ObjectInfo, readObject, streamBlob } from '../../../platform/git/objects/objects.ts'
import type { RawCommit } from '../../../platform/git/objects/raw-objects.ts'
import { MAX_GITMODULES_BYTES, parseSubmodules } from '../../../platform/git/objects/submodules.ts'
import {
  findEntry,
  listTree,
  sizesOf,
  type TreeEntry,
  treePath,
} from '../../../platform/git/objects/trees.ts'
import type { DownloadAs } from '../../../platform/objects/object-store.ts'
import type { Caller } from '../../core/access.ts'
import { type ByteRange, partOf } from '../../core/byte-ranges.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import { intactContents } from '../lfs/lfs-networks.ts'
import { lfsKey } from '../lfs/lfs-objects.ts'
import type { ReposApp } from '../ports.ts'
import { admitContent, commitIdOf, notFound, reading, readingStream } from './git-reading.ts'
import { type RefKind, type RefPath, splitRefPath } from './ref-paths.ts'

/** A file, directory, symbolic link or submodule of a commit. */
export interface EntryView {
  readonly open: OpenRepository
  readonly commitId: string
  /** The revision as the caller named it, or the default branch. */
  readonly ref: string
  /** With its path from the root. */
  readonly entry: TreeEntry
  /** Size of a file or symbolic link; otherwise 0. */
  readonly bytes: number
  /**
   * Content of a file that was requested alone and is not too large, or the target of a symbolic
   * link that was requested alone.
   */
  readonly content: Buffer | undefined
  /** URL of a submodule, if known. */
  readonly submoduleUrl: string | undefined
  /** The last commit that changed the entry, if it was found. */
  readonly lastCommit: RawCommit | undefined
}

/** The result of reading a path. */
type ContentsView =
  | { readonly kind: 'entry'; readonly entry: EntryView }
  /** The entries of a directory, possibly truncated. */
  | {
      readonly kind: 'directory'
      readonly entries: readonly EntryView[]
      readonly isTruncated: boolean
    }

/** A file in its raw form. */
interface RawFile {
  readonly name: string
  readonly blobId: string
  readonly bytes: number
  readonly isText: boolean
  /** Returns the content, or a range of it. */
  chunks(range: ByteRange | undefined): AsyncIterable<Buffer>
  /** Returns the URL of the content in a store from which clients may read; undefined elsewhere. */
  readonly urlInStore?: ((as: DownloadAs) => Promise<string>) | undefined
}

/** The number of entries shown of a directory. Larger directories are usually generated. */
const MAX_ENTRIES = 1000

/** The size of content within a message, as in compatible systems. Base64 adds a third. */
export const MAX_INLINE_BYTES = 10 * 1024 * 1024

/**
 * The size of a file that is read at once and sent from memory, so that no Git process waits for a
 * slow client.
 */
const MAX_BUFFERED_BYTES = 1024 * 1024

/** The bytes read of a commit for its time and tree. */
const MAX_COMMIT_BYTES = 16 * 1024

/**
 * The bytes that Git examines for a NUL to tell text from binary files (buffer_is_binary in
 * xdiff-interface.c).
 */
const SNIFFED_BYTES = 8000

/** A commit of a repository and its tree. */
export interface Place {
  readonly open: OpenRepository
  readonly commitId: string
  readonly treeId: string
  readonly ref: string
}

/**
 * Returns the entry at a path of a commit, or the entries of a directory.
 *
 * @param ref name of a branch or tag, or id of a commit; empty for the default branch
 */
export async function getContents(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  path: string,
  ref: string,
): Promise<ContentsView> {
  const place = await openPlace(app, await openRepository(app, caller, name, 'read'), ref)
  const entry = await entryAt(app, place, path)
  if (entry.kind === 'dir') return viewDirectory(app, place, entry)
  return { kind: 'entry', entry: await viewEntry(app, place, entry) }
}

/** A revision and a path in one text, which `splitRefPath` divides. */
interface RefPathText {
  readonly text: string
  readonly kind: RefKind | undefined
}

/**
 * Returns the content of a file, or the target of a symbolic link.
 *
 * @param asked a path and a revision, or one text with both
 * @param resolvesLfs whether the object of Git LFS takes the place of its pointer
 */
export async function getRawFile(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  asked: RefPath | RefPathText,
  resolvesLfs = false,
): Promise<RawFile> {
  const open = await openRepository(app, caller, name, 'read')
  const { ref, path } =
    'text' in asked ? await splitRefPath(app, open.repository, asked.text, asked.kind) : asked
  const place = await openPlace(app, open, ref)
  const entry = await entryAt(app, place, path)
  if (entry.kind !== 'file' && entry.kind !== 'symlink')
    throw notFound('PATH_NOT_FOUND', 'path', path)
  const { id } = place.open.repository
  const blob = await reading(readObject(app.git, id, entry.id, rawBytesToRead))
  if (!blob) throw notFound('PATH_NOT_FOUND', 'path', path)
  const isText = !blob.content.subarray(0, SNIFFED_BYTES).includes(0)
  const isWhole = blob.content.length === blob.bytes
  const pointer = resolvesLfs && entry.kind === 'file' ? parseLfsPointer(blob.content) : undefined
  const object = pointer && (await storedLfsObject(app, id, pointer))
  if (object) return { name: nameOf(entry), isText: false, ...object }
  return {
    name: nameOf(entry),
    blobId: entry.id,
    bytes: blob.bytes,
    isText,
    chunks(range) {
      const chunks = isWhole ? once(blob.content) : readingStream(streamBlob(app.git, id, entry.id))
      return range ? partOf(chunks, range) : chunks
    },
  }
}

/** Returns the object of a pointer; undefined if the repository does not have the object. */
async function storedLfsObject(
  app: ReposApp,
  repositoryId: number,
  { oid }: LfsPointer,
): Promise<Omit<RawFile, 'name' | 'isText'> | undefined> {
  const stored = app.settings.lfs ? await intactContents(app, [repositoryId], [oid]) : undefined
  const content = stored?.get(oid)
  if (!content) return undefined
  const { direct } = app.objects.of(content.store)
  return {
    blobId: oid,
    bytes: content.bytes,
    urlInStore: direct && ((as) => direct.downloadUrl(lfsKey(oid), as)),
    async *chunks(range) {
      const opened = await app.objects.of(content.store).get(lfsKey(oid), range)
      // Another process has just lost the file.
      if (!opened) throw notFound('PATH_NOT_FOUND', 'path', oid)
      yield* opened.content
    },
  }
}

/**
 * Returns the bytes to read of a raw file: all of a small file, else enough to tell text from
 * binary.
 */
function rawBytesToRead({ bytes }: ObjectInfo): number {
  if (bytes > MAX_BUFFERED_BYTES) return SNIFFED_BYTES
  admitContent(bytes)
  return bytes
}

/**
 * Returns the bytes to read of a file that is sent within a message: all, or none if the file is
 * too large.
 *
 * @throws if too much of the caller's earlier responses is still in memory
 */
export function inlineBytesToRead({ bytes }: ObjectInfo): number {
  if (bytes > MAX_INLINE_BYTES) return 0
  // RFC 4648 section 4: base64 has four characters for three bytes.
  admitContent(Math.ceil(bytes / 3) * 4)
  return bytes
}

async function* once(content: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield content
}

/** Returns the commit of a revision; the default branch for an empty one. */
export async function openPlace(app: ReposApp, open: OpenRepository, text: string): Promise<Place> {
  const { id, default_branch } = open.repository
  const commitId = await commitIdOf(app, open.repository, text)
  const commit = (await reading(readCommits(app.git, id, [commitId], MAX_COMMIT_BYTES))).get(
    commitId,
  )
  if (!commit) throw notFound('REF_NOT_FOUND', 'ref', text)
  return { open, commitId, treeId: commit.treeId, ref: text || default_branch }
}

/** Returns what a commit has at a path. */
export async function entryAt(
  app: ReposApp,
  { open, treeId }: Place,
  text: string,
): Promise<TreeEntry> {
  const path = treePath(text)
  if (path === '') return { path, mode: 0o040000, kind: 'dir', id: treeId }
  const entry =
    path === undefined ? undefined : await findEntry(app.git, open.repository.id, treeId, path)
  if (!entry) throw notFound('PATH_NOT_FOUND', 'path', text)
  return entry
}

/** Returns the last component of a path. */
export function nameOf({ path }: TreeEntry): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

async function viewEntry(app: ReposApp, place: Place, entry: TreeEntry): Promise<EntryView> {
  const { id } = place.open.repository
  const isBlob = entry.kind === 'file' || entry.kind === 'symlink'
  const blob = isBlob
    ? await reading(readObject(app.git, id, entry.id, inlineBytesToRead))
    : undefined
  const changes = await reading(lastChangeOf(app.git, id, place.commitId, entry))
  const [view] = await viewEntries(
    app,
    place,
    [entry],
    new Map([[entry.id, blob?.bytes ?? 0]]),
    changes,
  )
  if (!view) throw new Error('an entry has one view')
  return blob && blob.bytes <= MAX_INLINE_BYTES ? { ...view, content: blob.content } : view
}

async function viewDirectory(
  app: ReposApp,
  place: Place,
  directory: TreeEntry,
): Promise<ContentsView> {
  const { id } = place.open.repository
  const { entries, total } = await reading(
    listTree(app.git, id, directory.id, { offset: 0, limit: MAX_ENTRIES }),
  )
  const prefix = directory.path === '' ? '' : `${directory.path}/`
  const placed = entries.map((entry) => ({ ...entry, path: prefix + entry.path }))
  const [sizes, changes] = await Promise.all([
    reading(sizesOf(app.git, id, placed)),
    reading(lastChanges(app.git, id, place.commitId, directory.path, placed)),
  ])
  return {
    kind: 'directory',
    entries: await viewEntries(app, place, placed, sizes, changes),
    isTruncated: total > entries.length,
  }
}

async function viewEntries(
  app: ReposApp,
  place: Place,
  entries: readonly TreeEntry[],
  sizes: ReadonlyMap<string, number>,
  changes: LastChanges,
): Promise<EntryView[]> {
  const { open, commitId, ref } = place
  const commits = await reading(
    readCommits(app.git, open.repository.id, [...changes.values()], MAX_COMMIT_BYTES),
  )
  const urls = entries.some(({ kind }) => kind === 'submodule')
    ? await submoduleUrls(app, place)
    : undefined
  return entries.map((entry) => ({
    open,
    commitId,
    ref,
    entry,
    bytes: sizes.get(entry.id) ?? 0,
    content: undefined,
    submoduleUrl: entry.kind === 'submodule' ? urls?.get(entry.path) : undefined,
    lastCommit: commits.get(changes.get(entry.path) ?? ''),
  }))
}

async function submoduleUrls(
  app: ReposApp,
  { open, treeId }: Place,
): Promise<ReadonlyMap<string, string>> {
  const { id } = open.repository
  const entry = await findEntry(app.git, id, treeId, '.gitmodules')
  if (entry?.kind !== 'file') return new Map()
  const blob = await reading(readObject(app.git, id, entry.id, MAX_GITMODULES_BYTES))
  return parseSubmodules(blob?.content.toString() ?? '')
}

/** Authors of the lines of a file. */
export interface Blame extends FileBlame {
  readonly open: OpenRepository
  /** The commits of the ranges, in the order of their first lines. */
  readonly commits: readonly RawCommit[]
}

/** The bytes read of a commit for its author and its subject. */
const MAX_BLAMED_COMMIT_BYTES = 4096

/** Stands for invalid UTF-8 in a path, which cannot be an argument of a process. */
const REPLACEMENT = '\ufffd'

/**
 * Returns which commit wrote each line of a file.
 *
 * @param asked with `bypassesIgnoreFile`: whether `.git-blame-ignore-revs` has no effect
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REF_NOT_FOUND,
 *   PATH_NOT_FOUND, FILE_TOO_LARGE, SERVER_BUSY, GIT_TIMEOUT
 */
export async function getBlame(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  { ref, path, bypassesIgnoreFile }: RefPath & { readonly bypassesIgnoreFile: boolean },
): Promise<Blame> {
  const open = await openRepository(app, caller, name, 'read')
  const place = await openPlace(app, open, ref)
  const entry = await entryAt(app, place, path)
  if (entry.kind !== 'file' || entry.path.includes(REPLACEMENT))
    throw notFound('PATH_NOT_FOUND', 'path', path)
  const { id } = open.repository
  const { commitId, treeId } = place
  const file = { commitId, treeId, path: entry.path, blobId: entry.id, bypassesIgnoreFile }
  const blame = await reading(blameFile(app.git, id, file))
  if (!blame) throw new DomainError('FILE_TOO_LARGE', { limit: String(MAX_BLAMED_LINES) })
  const ids = [...new Set(blame.ranges.map((range) => range.commitId))]
  const found = await reading(readCommits(app.git, id, ids, MAX_BLAMED_COMMIT_BYTES))
  return { ...blame, open, commits: ids.flatMap((wanted) => found.get(wanted) ?? []) }
}

/** Returns what a file says as a pointer of Git LFS. Undefined for any other entry. */
export function lfsPointerOf({ entry, content }: EntryView): LfsPointer | undefined {
  return entry.kind === 'file' && content ? parseLfsPointer(content) : undefined
}
