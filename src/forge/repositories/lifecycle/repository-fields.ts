import { isRefName } from '../../../platform/git/refs/refs.ts'
import type { Owner } from '../../accounts/schema.ts'
import { checkLength, checkVisible } from '../../accounts/users/user-fields.ts'
import { DomainError } from '../../core/errors.ts'
import type { Repository } from '../schema.ts'

/** Returns whether some users cannot read a repository. */
export function isHidden(repository: Repository, owner: Owner): boolean {
  return repository.private === 1 || owner.visibility !== 'public'
}

/** Limits of compatible systems. */
const MAX_CHARACTERS = { description: 2048, website: 1024 }
const MAX_BRANCH_CHARACTERS = 100

/** Refuses a text that is too long. */
export function checkText(field: keyof typeof MAX_CHARACTERS, text: string | undefined): void {
  checkLength(field, text, MAX_CHARACTERS[field])
  if (field === 'website') checkVisible(field, text)
}

/** Refuses what is no valid name of a branch. */
export function checkBranchName(branch: string): void {
  if (!isRefName(branch) || branch.length > MAX_BRANCH_CHARACTERS)
    throw invalidDefaultBranch(branch)
}

export function invalidDefaultBranch(branch: string): DomainError {
  return new DomainError('INVALID_DEFAULT_BRANCH', {
    branch: branch.slice(0, MAX_BRANCH_CHARACTERS),
  })
}

/** The characters that are safe in a URL segment, a folder name and a Git remote. */
const NAME = /^[A-Za-z0-9._-]{1,100}$/

/**
 * Reserved endings: `.git` is optional in URLs, `.wiki` names wikis, `.atom` names feeds, and Git names
 * its lock files `.lock`.
 */
const RESERVED_ENDING = /\.(git|wiki|lock|atom)$/i

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
