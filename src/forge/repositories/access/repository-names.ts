import { DomainError } from '../../core/errors.ts'

/** The characters that are safe in a URL segment, a folder name and a Git remote. */
const NAME = /^[A-Za-z0-9._-]{1,100}$/

/**
 * Reserved endings: `.git` is optional in URLs, `.wiki` names wikis, and Git names its lock files
 * `.lock`.
 */
const RESERVED_ENDING = /\.(git|wiki|lock)$/i

/** Reserved names: dots refer to parent folders, and a hyphen stands for routes of clients. */
const RESERVED_NAME = /^(\.+|-)$/

/**
 * Returns the form in which repository names are compared. Names are ASCII, so lower case is
 * enough.
 */
export function repositoryNameKey(name: string): string {
  return name.toLowerCase()
}

/**
 * Returns a valid repository name unchanged.
 *
 * @throws INVALID_REPOSITORY_NAME
 */
export function checkRepositoryName(name: string): string {
  if (!NAME.test(name) || RESERVED_ENDING.test(name) || RESERVED_NAME.test(name)) {
    throw new DomainError('INVALID_REPOSITORY_NAME', { name: name.slice(0, 100) })
  }
  return name
}
