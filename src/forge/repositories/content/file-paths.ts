import { treePath } from '../../../platform/git/objects/trees.ts'
import { DomainError } from '../../core/errors.ts'

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
export function presentPath(text: string): string {
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
export function shownPath(path: string): string {
  return path.slice(0, MAX_SHOWN_CHARACTERS)
}

/** Returns the parent folders of a path, from the root: `a` and `a/b` of `a/b/c`. */
export function foldersAbove(path: string): string[] {
  const components = path.split('/')
  return components.slice(1).map((_, i) => components.slice(0, i + 1).join('/'))
}
