import { type LastChanges, lastChanges, readCommits } from '../../../git/history/history.ts'
import { type ObjectInfo, readObject, streamBlob } from '../../../git/objects/objects.ts'
import type { RawCommit } from '../../../git/objects/raw-objects.ts'
import { MAX_GITMODULES_BYTES, parseSubmodules } from '../../../git/objects/submodules.ts'
import {
  findEntry,
  listTree,
  sizesOf,
  type TreeEntry,
  treePath,
} from '../../../git/objects/trees.ts'
import type { Caller } from '../../core/access.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { type ByteRange, partOf } from './byte-ranges.ts'
import { commitIdOf, notFound, reading, readingStream } from './git-reading.ts'
import { admitContent } from './readers.ts'

/** A file, directory, symbolic link or submodule of a commit, as far as it was read. */
export interface EntryView {
  readonly open: OpenRepository
  readonly commitId: string
  /** As the caller named the commit, or the default branch. */
  readonly ref: string
  /** With its path from the top. */
  readonly entry: TreeEntry
  /** Of a file or a symbolic link; otherwise 0. */
  readonly bytes: number
  /**
   * Of a file, if it was asked for by itself and is not too large; what a symbolic link says, if it
   * was asked for by itself.
   */
  readonly content: Buffer | undefined
  /** Where a submodule comes from, if that is known. */
  readonly submoduleUrl: string | undefined
  /** The last commit that changed it, if it was found. */
  readonly lastCommit: RawCommit | undefined
}

/** What is at a path. */
export type ContentsView =
  | { readonly kind: 'entry'; readonly entry: EntryView }
  /** What a directory has, or the beginning of it. */
  | {
      readonly kind: 'directory'
      readonly entries: readonly EntryView[]
      readonly isTruncated: boolean
    }

/** A file to be sent as it is. */
export interface RawFile {
  readonly name: string
  readonly blobId: string
  readonly bytes: number
  readonly isText: boolean
  /** The content, or a part of it. */
  chunks(range: ByteRange | undefined): AsyncIterable<Buffer>
}

/** Entries shown of a directory: those that people make by hand have fewer. */
const MAX_ENTRIES = 1000

/**
 * Content that fits into an answer beside everything else, as in compatible systems; in base64 it
 * is a third more.
 */
export const MAX_INLINE_BYTES = 10 * 1024 * 1024

/**
 * Files up to here are read at once and sent from memory, so that no process waits for a slow
 * client.
 */
const MAX_BUFFERED_BYTES = 1024 * 1024

/** Kept of commits whose times are wanted only. */
const MAX_COMMIT_BYTES = 16 * 1024

/**
 * How far Git itself looks for a NUL before it takes a file for text (buffer_is_binary in
 * xdiff-interface.c).
 */
const SNIFFED_BYTES = 8000

/** A commit of a repository and a way to what is in it. */
interface Place {
  readonly open: OpenRepository
  readonly commitId: string
  readonly treeId: string
  readonly ref: string
}

/**
 * What is at a path of a commit.
 *
 * @param ref name of a branch or tag, or id of a commit; the default branch when empty.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REF_NOT_FOUND,
 *   PATH_NOT_FOUND, SERVER_BUSY, GIT_TIMEOUT
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

/**
 * The bytes of a file, or what a symbolic link says.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REF_NOT_FOUND,
 *   PATH_NOT_FOUND; also while it is read SERVER_BUSY, GIT_TIMEOUT
 */
export async function getRawFile(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  path: string,
  ref: string,
): Promise<RawFile> {
  const place = await openPlace(app, await openRepository(app, caller, name, 'read'), ref)
  const entry = await entryAt(app, place, path)
  if (entry.kind !== 'file' && entry.kind !== 'symlink')
    throw notFound('PATH_NOT_FOUND', 'path', path)
  const { id } = place.open.repository
  const blob = await reading(readObject(app.git, id, entry.id, keptOfRaw))
  if (!blob) throw notFound('PATH_NOT_FOUND', 'path', path)
  const isText = !blob.content.subarray(0, SNIFFED_BYTES).includes(0)
  const isWhole = blob.content.length === blob.bytes
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

/**
 * What is read of a file that is sent as it is: all of a small one, else enough to see what it is.
 */
function keptOfRaw({ bytes }: ObjectInfo): number {
  if (bytes > MAX_BUFFERED_BYTES) return SNIFFED_BYTES
  admitContent(bytes)
  return bytes
}

/**
 * What is read of a file that is sent within a message: all of it, or nothing of one that is too
 * large.
 *
 * @throws what the caller is refused with where too much of earlier answers waits already.
 */
export function keptInline({ bytes }: ObjectInfo): number {
  if (bytes > MAX_INLINE_BYTES) return 0
  // RFC 4648 section 4: base64 has four characters for three bytes.
  admitContent(Math.ceil(bytes / 3) * 4)
  return bytes
}

async function* once(content: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield content
}

/** @throws REF_NOT_FOUND */
async function openPlace(app: ReposApp, open: OpenRepository, text: string): Promise<Place> {
  const { id, default_branch } = open.repository
  const commitId = await commitIdOf(app, open.repository, text)
  const commit = (await reading(readCommits(app.git, id, [commitId], MAX_COMMIT_BYTES))).get(
    commitId,
  )
  if (!commit) throw notFound('REF_NOT_FOUND', 'ref', text)
  return { open, commitId, treeId: commit.treeId, ref: text || default_branch }
}

/** @throws PATH_NOT_FOUND */
async function entryAt(app: ReposApp, { open, treeId }: Place, text: string): Promise<TreeEntry> {
  const path = treePath(text)
  if (path === '') return { path, mode: 0o040000, kind: 'dir', id: treeId }
  const entry =
    path === undefined ? undefined : await findEntry(app.git, open.repository.id, treeId, path)
  if (!entry) throw notFound('PATH_NOT_FOUND', 'path', text)
  return entry
}

/** The last component of a path. */
export function nameOf({ path }: TreeEntry): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

async function viewEntry(app: ReposApp, place: Place, entry: TreeEntry): Promise<EntryView> {
  const { id } = place.open.repository
  const isBlob = entry.kind === 'file' || entry.kind === 'symlink'
  const blob = isBlob ? await reading(readObject(app.git, id, entry.id, keptInline)) : undefined
  const changes = await reading(lastChanges(app.git, id, place.commitId, entry.path, [entry]))
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
