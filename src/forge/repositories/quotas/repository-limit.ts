import type { Db } from '../../../platform/database/schema.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { DomainError } from '../../core/errors.ts'
import { countRepositoriesOf } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'

/**
 * Checks that an owner may have one more repository: before the work, so that no work is in vain, and
 * in the transaction that adds the repository, so that two servers never add the last one twice.
 *
 * @throws REPOSITORY_LIMIT_REACHED
 */
export async function checkRepositoryLimit(app: ReposApp, db: Db, ownerId: number): Promise<void> {
  const { maxRepositories } = app.settings
  if (maxRepositories === undefined) return
  if ((await countRepositoriesOf(db, ownerId)) < maxRepositories) return
  const owner = await findOwnerById(db, ownerId)
  app.quotaRefusals.add('repositories', owner?.kind === 'ORGANIZATION' ? 'organisation' : 'account')
  throw new DomainError('REPOSITORY_LIMIT_REACHED', { limit: String(maxRepositories) })
}
