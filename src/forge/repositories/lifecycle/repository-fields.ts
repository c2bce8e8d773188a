import { isRefName } from '../../../platform/git/refs/refs.ts'
import { checkLength, checkVisible } from '../../accounts/users/user-fields.ts'
import { DomainError } from '../../core/errors.ts'

/** Limits of compatible systems. */
const MAX_CHARACTERS = { description: 2048, website: 1024 }
const MAX_BRANCH_CHARACTERS = 100

/** @throws INVALID_FIELD */
export function checkText(field: keyof typeof MAX_CHARACTERS, text: string | undefined): void {
  checkLength(field, text, MAX_CHARACTERS[field])
  if (field === 'website') checkVisible(field, text)
}

/** @throws INVALID_DEFAULT_BRANCH for an invalid branch name. */
export function checkBranchName(branch: string): void {
  if (!isRefName(branch) || branch.length > MAX_BRANCH_CHARACTERS)
    throw invalidDefaultBranch(branch)
}

export function invalidDefaultBranch(branch: string): DomainError {
  return new DomainError('INVALID_DEFAULT_BRANCH', {
    branch: branch.slice(0, MAX_BRANCH_CHARACTERS),
  })
}
