import { treePath } from '../../../git/objects/trees.ts'
import { DomainError } from '../../core/errors.ts'

/** Folders above a file. Git would take any number, each an object of its own. */
const MAX_COMPONENTS = 64

/** As much of a wrong path as its refusal repeats. */
const MAX_SHOWN_CHARACTERS = 200

/** Characters that HFS+ leaves out when it compares names (utf8.c of Git). */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/**
 * `.git` as NTFS has it too: with its short name, blanks and dots behind it, or a stream (path.c of
 * Git).
 */
const DOT_GIT = /^(?:\.git|git~1)[. ]*(?::.*)?$/i

/**
 * A path that a file may be written to, in Git's form. Stricter than Git: no control characters,
 * and a bounded depth.
 *
 * @throws INVALID_FILE_PATH for what no tree may have, since it would reach into the repositories
 *   of those who check it out.
 */
export function filePath(text: string): string {
  const path = treePath(text)
  const isFit =
    path &&
    !/[\p{Cc}\p{Cs}]/u.test(path) &&
    path.split('/').length <= MAX_COMPONENTS &&
    // A backslash separates components on Windows.
    !path.split(/[/\\]/).some((component) => DOT_GIT.test(component.replace(IGNORED_BY_HFS, '')))
  if (!isFit) throw new DomainError('INVALID_FILE_PATH', { path: shownPath(text) })
  return path
}

/** As much of a path as goes into an error. */
export function shownPath(path: string): string {
  return path.slice(0, MAX_SHOWN_CHARACTERS)
}

/** The folders above a path, from the top: `a` and `a/b` of `a/b/c`. */
export function foldersAbove(path: string): string[] {
  const components = path.split('/')
  return components.slice(1).map((_, i) => components.slice(0, i + 1).join('/'))
}
