import type { Caller } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { type RepositoryAccess, suffices } from '../core/levels.ts'
import type { RepositoryName } from '../core/names.ts'
import {
  checkNotArchived,
  type OpenRepository,
  openRepository,
} from '../repositories/access/permissions.ts'
import type { ReposApp } from '../repositories/ports.ts'

/**
 * Opens a repository for something that issues and pull requests share, such as labels. Access to
 * one of the two is enough. A repository with both features disabled is not found.
 *
 * @param needed `write` also requires that the repository is not archived.
 */
export async function openForPlanning(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  needed: 'read' | 'write',
): Promise<OpenRepository> {
  const open = await openRepository(app, caller, name, 'none', 'issues')
  const { repository, units } = open
  const levels: readonly RepositoryAccess[] = [
    repository.has_issues === 1 ? units.issues : 'none',
    repository.has_pull_requests === 1 ? units.pulls : 'none',
  ]
  if (!levels.some((level) => suffices(level, 'read')))
    throw new DomainError('REPOSITORY_NOT_FOUND')
  if (!levels.some((level) => suffices(level, needed)))
    throw new DomainError('REPOSITORY_ACCESS_DENIED', { needed })
  if (needed === 'write') checkNotArchived(repository)
  return open
}
