import type { Db } from '../../platform/database/schema.ts'
import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { suffices } from '../core/levels.ts'
import type { User } from '../core/schema.ts'
import type { PullRequest } from '../pulls/schema.ts'
import { accessOfUsers } from '../repositories/access/permissions.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'

/** Returns those of some users who are active and may read a pull request at this moment. */
export async function pullReaders(
  db: Db,
  { repository_id }: Pick<PullRequest, 'repository_id'>,
  users: readonly User[],
): Promise<User[]> {
  const repository = await findRepositoryById(db, repository_id)
  const owner = repository && (await findOwnerById(db, repository.owner_id))
  if (!owner) return []
  const active = users.filter(({ state }) => state === 'NORMAL')
  if (active.length === 0) return []
  const access = await accessOfUsers(db, active, repository, owner)
  return active.filter(({ id }) => {
    const units = access.get(id)
    return units !== undefined && suffices(units.pulls, 'read') && suffices(units.code, 'read')
  })
}
