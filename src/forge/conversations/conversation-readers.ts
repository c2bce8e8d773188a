import type { Db } from '../../platform/database/schema.ts'
import { findOwnerById } from '../accounts/users/owners.rows.ts'
import type { Caller } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { RepositoryName } from '../core/names.ts'
import type { User } from '../core/schema.ts'
import {
  accessOfUsers,
  type OpenRepository,
  openRepository,
} from '../repositories/access/permissions.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { Conversation, ConversationKinds } from './schema.ts'

/**
 * Returns the kinds of conversations that can be read with some rights in a repository. Pull
 * requests consist of code, so their readers need both features.
 */
export function readableKinds({ issues, pulls, code }: OpenRepository['units']): ConversationKinds {
  return {
    issues: suffices(issues, 'read'),
    pulls: suffices(pulls, 'read') && suffices(code, 'read'),
  }
}

/** Returns whether a conversation can be read with some rights in its repository. */
export function readsKind(
  units: OpenRepository['units'],
  { is_pull }: Pick<Conversation, 'is_pull'>,
): boolean {
  const kinds = readableKinds(units)
  return is_pull === 0 ? kinds.issues : kinds.pulls
}

/** A repository whose issues or pull requests the caller may read. */
export interface OpenConversations extends OpenRepository {
  /** What the caller may read. At least one is true. */
  readonly kinds: ConversationKinds
}

/**
 * Opens a repository for its conversations. `access` of the result is the level for issues.
 *
 * @throws REPOSITORY_NOT_FOUND, also if the caller may read neither issues nor pull requests;
 *   REPOSITORY_MOVED, REPOSITORY_OWNER_RENAMED
 */
export async function openConversations(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<OpenConversations> {
  const open = await openRepository(app, caller, name, 'none', 'issues')
  const kinds = readableKinds(open.units)
  if (!kinds.issues && !kinds.pulls) throw new DomainError('REPOSITORY_NOT_FOUND')
  return { ...open, kinds }
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
