import { authorAddresses } from '../../platform/git/history/authors.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import { findAccounts } from '../repositories/commits/commit-authors.ts'
import { reading } from '../repositories/content/git-reading.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { findBranch } from '../repositories/refs/branches.rows.ts'
import { hasContributed } from './conversations.rows.ts'

/**
 * Checks that a caller, who may read the issues of a repository, may open issues there and comment on
 * them. Whoever may write to the repository may.
 *
 * @throws ISSUE_CREATION_RESTRICTED, SERVER_BUSY, GIT_TIMEOUT
 */
export async function checkIssueAccess(
  app: ReposApp,
  { user }: SignedIn,
  { repository, units }: Pick<OpenRepository, 'repository' | 'units'>,
): Promise<void> {
  const access = repository.issue_access
  if (access === 'everyone') return
  if (Object.values(units).some((level) => suffices(level, 'write'))) return
  const isContributor =
    access === 'contributors' &&
    ((await hasContributed(app.db, repository, user.id)) ||
      (await hasCommitted(app, repository, user.id)))
  if (!isContributor) throw new DomainError('ISSUE_CREATION_RESTRICTED', { access })
}

/** Returns whether a user is the author of a commit of the default branch, by a verified address. */
async function hasCommitted(
  app: ReposApp,
  { id, default_branch }: OpenRepository['repository'],
  userId: number,
): Promise<boolean> {
  const branch = await findBranch(app.db, id, default_branch)
  if (!branch) return false
  const addresses = await reading(authorAddresses(app.git, id, branch.commit_id))
  const accounts = await findAccounts(app, addresses)
  return [...accounts.values()].some((account) => account.id === userId)
}
