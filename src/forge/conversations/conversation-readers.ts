import type { Db } from '../../platform/database/schema.ts'
import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { suffices } from '../core/levels.ts'
import type { User } from '../core/schema.ts'
import { accessOfUsers, type OpenRepository } from '../repositories/access/permissions.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { Conversation } from './schema.ts'

/**
 * Returns whether rights in a repository suffice to read its issues or its pull requests. Pull
 * requests consist of code.
 */
export function readsKind(
  units: OpenRepository['units'],
  { is_pull }: Pick<Conversation, 'is_pull'>,
): boolean {
  if (is_pull === 0) return suffices(units.issues, 'read')
  return suffices(units.pulls, 'read') && suffices(units.code, 'read')
}

/** Returns those of some users who are active and may read a conversation at this moment. */
export async function conversationReaders(
  db: Db,
  conversation: Pick<Conversation, 'repository_id' | 'is_pull'>,
  users: readonly User[],
): Promise<User[]> {
  const active = users.filter(({ state }) => state === 'NORMAL')
  if (active.length === 0) return []
  const repository = await findRepositoryById(db, conversation.repository_id)
  const owner = repository && (await findOwnerById(db, repository.owner_id))
  if (!owner) return []
  const access = await accessOfUsers(db, active, repository, owner)
  return active.filter(({ id }) => {
    const units = access.get(id)
    return units !== undefined && readsKind(units, conversation)
  })
}
