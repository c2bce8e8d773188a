import { DomainError } from '../../core/errors.ts'

/** What fits a URL segment, a folder and a Git remote alike. */
const NAME = /^[A-Za-z0-9._-]{1,100}$/

/**
 * Endings with a meaning: `.git` is optional in URLs, wikis live at `.wiki`, and Git locks files by
 * `.lock`.
 */
const RESERVED_ENDING = /\.(git|wiki|lock)$/i

/** Dots lead up the tree; a lone hyphen stands for routes of clients. */
const RESERVED_NAME = /^(\.+|-)$/

/**
 * The form in which names of repositories are compared: they are ASCII, so this is all the folding
 * that they need.
 */
export function repositoryNameKey(name: string): string {
  return name.toLowerCase()
}

/** @throws INVALID_REPOSITORY_NAME */
export function checkRepositoryName(name: string): string {
  if (!NAME.test(name) || RESERVED_ENDING.test(name) || RESERVED_NAME.test(name)) {
    throw new DomainError('INVALID_REPOSITORY_NAME', { name: name.slice(0, 100) })
  }
  return name
}
