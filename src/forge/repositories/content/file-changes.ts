import { findEntries, type TreeEntry, treePath } from '../../../platform/git/objects/trees.ts'
import type { Repositories } from '../../../platform/git/repositories/repositories.ts'
import { DomainError } from '../../core/errors.ts'

/** Files that one call can change. */
const MAX_FILES = 300

/** Folders whose trees one call can write. */
const MAX_FOLDERS = 1000

const REGULAR_FILE = 0o100644

const OPERATIONS = ['create', 'update', 'upload', 'rename', 'delete'] as const

/** `upload` means `create` or `update`, depending on whether the file exists. */
type FileOperation = (typeof OPERATIONS)[number]

/** The request for a change of a file. Empty texts are absent. */
export interface FileChange {
  readonly operation: string
  readonly path: string
  /** The new content in base64. Empty in a rename to keep the content. */
  readonly content: string
  /** The id of the current blob, so that the change does not overwrite another. */
  readonly sha: string
  readonly fromPath: string
}

/** A change with a valid form. */
export interface CheckedChange {
  readonly operation: FileOperation
  readonly path: string
  readonly fromPath: string
  readonly content: Buffer
  readonly sha: string
}

/** The new state of a file. */
export interface PlannedFile {
  readonly mode: number
  /** The new content, or an existing blob. */
  readonly content: Buffer | { readonly blobId: string }
}

/** The new state of each changed path. Undefined for a deleted file. */
export type Plan = ReadonlyMap<string, PlannedFile | undefined>

/** Checks the form of changes. */
export function checkChanges(changes: readonly FileChange[]): CheckedChange[] {
  if (changes.length === 0) throw new DomainError('INVALID_FIELD', { field: 'files' })
  if (changes.length > MAX_FILES)
    throw new DomainError('TOO_MANY_FILE_CHANGES', { limit: String(MAX_FILES) })
  const checked = changes.map(checkChange)
  const paths = checked.flatMap(({ path, fromPath }) =>
    path === fromPath ? [path] : [path, fromPath],
  )
  const twice = paths.find((path, i) => paths.indexOf(path) < i)
  if (twice !== undefined) throw unfit(twice, 'the path appears twice')
  if (new Set(paths.flatMap(foldersAbove)).size > MAX_FOLDERS) {
    throw new DomainError('TOO_MANY_FILE_CHANGES', { limit: String(MAX_FILES) })
  }
  return checked
}

function checkChange(change: FileChange): CheckedChange {
  const operation = OPERATIONS.find((known) => known === change.operation)
  const isMovable = operation === 'update' || operation === 'upload' || operation === 'rename'
  const isMove = isMovable && change.fromPath !== ''
  // The file must exist, and can have any name that Git stores.
  const isPresent = operation === 'delete' || (operation === 'update' && !isMove)
  const path = isPresent ? presentPath(change.path) : filePath(change.path)
  const fromPath = isMove ? presentPath(change.fromPath) : path
  if (!operation) throw unfit(path, 'the operation is unknown')
  const needsSha = operation === 'delete' || operation === 'update'
  if (needsSha && change.sha === '') throw new DomainError('INVALID_FIELD', { field: 'sha' })
  if (operation === 'rename' && path === fromPath) throw unfit(path, 'from_path is missing')
  return { operation, path, fromPath, content: decode(path, change.content), sha: change.sha }
}

/** Decodes base64 (RFC 4648), with or without line breaks. */
function decode(path: string, content: string): Buffer {
  const text = content.replace(/[\r\n]/g, '')
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text))
    throw unfit(path, 'the content is not valid base64')
  return Buffer.from(text, 'base64')
}

/**
 * Returns the effect of changes on a tree.
 *
 * @param treeId undefined for an empty tree.
 */
export async function planChanges(
  git: Repositories,
  repositoryId: number,
  treeId: string | undefined,
  changes: readonly CheckedChange[],
): Promise<Plan> {
  const paths = changes.flatMap(({ path, fromPath }) => [path, fromPath])
  const entries: ReadonlyMap<string, TreeEntry> =
    treeId === undefined ? new Map() : await findEntries(git, repositoryId, treeId, paths)
  const plan = new Map<string, PlannedFile | undefined>()
  for (const change of changes) {
    const { path, fromPath } = change
    const source = entries.get(fromPath)
    checkEntries(change, source, entries.get(path))
    if (path !== fromPath) plan.set(fromPath, undefined)
    plan.set(path, change.operation === 'delete' ? undefined : plannedFile(change, source))
  }
  for (const [path, file] of plan) if (file) checkWay(path, plan, entries)
  return plan
}

function checkEntries(
  { operation, path, fromPath, sha, content }: CheckedChange,
  source: TreeEntry | undefined,
  target: TreeEntry | undefined,
): void {
  for (const entry of [source, target]) {
    if (entry?.kind === 'dir') throw unfit(entry.path, 'the path is a directory')
    if (entry?.kind === 'submodule') throw unfit(entry.path, 'the path is a submodule')
  }
  const isMove = path !== fromPath
  if (target && (isMove || operation === 'create'))
    throw new DomainError('FILE_EXISTS', { path: shownPath(path) })
  if (!source) {
    const needsSource = isMove || operation === 'update' || operation === 'delete'
    if (needsSource) throw new DomainError('PATH_NOT_FOUND', { path: shownPath(fromPath) })
    return
  }
  if (sha !== '' && sha !== source.id) {
    throw new DomainError('FILE_CHANGED', {
      path: shownPath(fromPath),
      given: sha.slice(0, 64),
      expected: source.id,
    })
  }
  // A client would expect the change in the target of the link.
  const isWritten = operation !== 'delete' && !(operation === 'rename' && content.length === 0)
  if (source.kind === 'symlink' && isWritten) throw unfit(fromPath, 'the path is a symbolic link')
}

/** An executable file remains executable. */
function plannedFile(
  { operation, content }: CheckedChange,
  source: TreeEntry | undefined,
): PlannedFile {
  const keepsContent = source !== undefined && operation === 'rename' && content.length === 0
  return {
    mode: source?.mode ?? REGULAR_FILE,
    content: keepsContent ? { blobId: source.id } : content,
  }
}

/** Checks that only folders are above a file, before and after the changes. */
function checkWay(path: string, plan: Plan, entries: ReadonlyMap<string, TreeEntry>): void {
  for (const folder of foldersAbove(path)) {
    const entry = plan.has(folder) ? undefined : entries.get(folder)
    const isInTheWay =
      plan.get(folder) !== undefined || (entry !== undefined && entry.kind !== 'dir')
    if (isInTheWay) throw unfit(path, `${shownPath(folder)} is not a directory`)
  }
}

function unfit(path: string, problem: string): DomainError {
  return new DomainError('INVALID_FILE_CHANGE', { path: shownPath(path), problem })
}

/** The depth of a path. Git has no limit, and each folder is an object. */
const MAX_COMPONENTS = 64

/** The number of characters of an invalid path that its error repeats. */
const MAX_SHOWN_CHARACTERS = 200

/** The characters that HFS+ ignores when it compares names (utf8.c of Git). */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/**
 * The names that NTFS treats as `.git`: its short name, trailing spaces and dots, and streams
 * (path.c of Git).
 */
const DOT_GIT = /^(?:\.git|git~1)[. ]*(?::.*)?$/i

/**
 * Returns a valid path for writing a file, in Git's form. Stricter than Git: control characters are
 * refused and the depth is limited.
 *
 * @throws INVALID_FILE_PATH, also for paths that would write into the `.git` folder of a clone
 */
export function filePath(text: string): string {
  const path = presentPath(text)
  if (/\p{Cc}/u.test(path)) throw new DomainError('INVALID_FILE_PATH', { path: shownPath(text) })
  return path
}

/**
 * Returns the path of a file that exists, in Git's form. Such a file can be changed, deleted and
 * renamed even when its name has control characters.
 *
 * @throws INVALID_FILE_PATH
 */
function presentPath(text: string): string {
  const path = treePath(text)
  if (!path || path.split('/').length > MAX_COMPONENTS || hasDotGit(path))
    throw new DomainError('INVALID_FILE_PATH', { path: shownPath(text) })
  return path
}

/** Returns whether a path leads into the `.git` folder of a clone. */
function hasDotGit(path: string): boolean {
  // A backslash separates components on Windows.
  return path
    .split(/[/\\]/)
    .some((component) => DOT_GIT.test(component.replace(IGNORED_BY_HFS, '')))
}

/** Returns the part of a path that an error repeats. */
function shownPath(path: string): string {
  return path.slice(0, MAX_SHOWN_CHARACTERS)
}

/** Returns the parent folders of a path, from the root: `a` and `a/b` of `a/b/c`. */
export function foldersAbove(path: string): string[] {
  const components = path.split('/')
  return components.slice(1).map((_, i) => components.slice(0, i + 1).join('/'))
}
