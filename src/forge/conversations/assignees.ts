import type { Tx } from '../../platform/database/schema.ts'
import { isBlocked } from '../accounts/users/blocks.ts'
import { findUserByUsername } from '../accounts/users/owners.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError, metadataText } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import { nameKey } from '../core/names.ts'
import { accessOfUser, type OpenRepository } from '../repositories/access/permissions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { assigneesOf, replaceAssignees } from './participants.rows.ts'
import { type ChangePlace, differenceEvents, recordTimelineEvents } from './timeline.ts'

/** Maximum number of assignees. */
const MAX_ASSIGNEES = 100

/**
 * Finds assignees of a conversation: active users who may read it.
 *
 * @param unit the feature of the repository that the conversation belongs to.
 * @param names usernames in any case of letters. Duplicates count once.
 * @returns their ids.
 */
export async function findAssignees(
  app: ReposApp,
  caller: SignedIn,
  open: Pick<OpenRepository, 'repository' | 'owner'>,
  unit: 'issues' | 'pulls',
  names: readonly string[],
): Promise<number[]> {
  if (names.length > MAX_ASSIGNEES) throw new DomainError('INVALID_FIELD', { field: 'assignees' })
  const ids = new Set<number>()
  for (const name of new Map(names.map((each) => [nameKey(each), each])).values()) {
    ids.add(await findAssignee(app, caller, open, unit, name))
  }
  return [...ids]
}

async function findAssignee(
  app: ReposApp,
  caller: SignedIn,
  { repository, owner }: Pick<OpenRepository, 'repository' | 'owner'>,
  unit: 'issues' | 'pulls',
  name: string,
): Promise<number> {
  const user = await findUserByUsername(app.db, name)
  if (!user) throw new DomainError('ASSIGNEE_NOT_FOUND', { name: metadataText(name) })
  const { id } = user
  const units = await accessOfUser(app, user, repository, owner)
  if (user.state !== 'NORMAL' || !suffices(units[unit], 'read')) {
    throw new DomainError('ASSIGNEE_NOT_ASSIGNABLE', {
      user_id: String(id),
      repository: repository.name,
    })
  }
  const isUnwelcome =
    (await isBlocked(app, [id], caller.user.id)) || (await isBlocked(app, [owner.id], id))
  if (isUnwelcome) throw new DomainError('USER_BLOCKED')
  return id
}

/**
 * Replaces the assignees of a conversation, and tells its timeline.
 *
 * @throws a foreign key violation if one of the users was deleted.
 */
export async function setAssignees(
  app: ReposApp,
  tx: Tx,
  place: ChangePlace,
  userIds: readonly number[],
): Promise<void> {
  const before = await assigneesOf(tx, place.conversationId)
  await replaceAssignees(tx, place.conversationId, userIds)
  await recordTimelineEvents(app, tx, place, differenceEvents('assignees', before, userIds))
}
