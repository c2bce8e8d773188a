import type { Tx } from '../../platform/database/schema.ts'
import { isBlocked } from '../accounts/users/blocks.ts'
import { findUserByUsername } from '../accounts/users/owners.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { DomainError, metadataText } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import { type ConversationName, nameKey } from '../core/names.ts'
import { accessOfUser, type OpenRepository } from '../repositories/access/permissions.ts'
import { changeWatched } from '../repositories/activity/repository-events.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { assigneesOf, insertParticipants, replaceAssignees } from './participants.rows.ts'
import type { ConversationsApp, OpenConversation } from './ports.ts'
import { type ChangePlace, differenceEvents, recordTimelineEvents } from './timeline.ts'

/** Maximum number of assignees. */
export const MAX_ASSIGNEES = 100

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

/**
 * Returns those of some users who can be assigned to a new issue, as `findAssignees` does. Others are
 * left out.
 */
export async function assignableAmong(
  app: ReposApp,
  caller: SignedIn,
  open: Pick<OpenRepository, 'repository' | 'owner'>,
  names: readonly string[],
): Promise<number[]> {
  const ids = new Set<number>()
  for (const name of new Set(names.slice(0, MAX_ASSIGNEES))) {
    const found = await assigneeOrRefusal(app, caller, open, 'issues', name)
    if (typeof found === 'number') ids.add(found)
  }
  return [...ids]
}

async function findAssignee(...args: Parameters<typeof assigneeOrRefusal>): Promise<number> {
  const found = await assigneeOrRefusal(...args)
  if (typeof found !== 'number') throw found
  return found
}

async function assigneeOrRefusal(
  app: ReposApp,
  caller: SignedIn,
  { repository, owner }: Pick<OpenRepository, 'repository' | 'owner'>,
  unit: 'issues' | 'pulls',
  name: string,
): Promise<number | DomainError> {
  const user = await findUserByUsername(app.db, name)
  if (!user) return new DomainError('ASSIGNEE_NOT_FOUND', { name: metadataText(name) })
  const { id } = user
  const units = await accessOfUser(app, user, repository, owner)
  if (user.state !== 'NORMAL' || !suffices(units[unit], 'read')) {
    return new DomainError('ASSIGNEE_NOT_ASSIGNABLE', {
      user_id: String(id),
      repository: repository.name,
    })
  }
  const isUnwelcome =
    (await isBlocked(app, [id], caller.user.id)) || (await isBlocked(app, [owner.id], id))
  return isUnwelcome ? new DomainError('USER_BLOCKED') : id
}

/**
 * Replaces the assignees of a conversation, and tells its timeline.
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

/**
 * Adds assignees to a conversation. Users who are assigned already stay.
 */
export async function addAssignees(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  usernames: readonly string[],
): Promise<void> {
  await changeAssignees(app, caller, name, usernames, (present, named) => [
    ...present,
    ...named.filter((id) => !present.includes(id)),
  ])
}

/**
 * Removes assignees from a conversation. Users who are not assigned are ignored.
 */
export async function removeAssignees(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  usernames: readonly string[],
): Promise<void> {
  await changeAssignees(app, caller, name, usernames, (present, named) =>
    present.filter((id) => !named.includes(id)),
  )
}

async function changeAssignees(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  usernames: readonly string[],
  idsFrom: (present: readonly number[], named: readonly number[]) => readonly number[],
): Promise<void> {
  const open = await app.conversations.open(app, caller, name, 'write')
  const { id } = open.conversation
  const named = await findAssignees(app, caller, open, unitOf(open), usernames)
  await changeWatched(app, async (tx) => {
    const { record } = await open.beginChange(tx)
    const before = await assigneesOf(tx, id)
    const after = idsFrom(before, named)
    if (after.length > MAX_ASSIGNEES) throw new DomainError('INVALID_FIELD', { field: 'assignees' })
    if (after.length === before.length) return
    await setAssignees(app, tx, { conversationId: id, actorId: caller.user.id }, after)
    await insertParticipants(tx, id, after)
    await record(caller.user.id, { type: 'assignees', before, after })
  })
}

/**
 * Checks that a user can be assigned to a conversation.
 */
export async function checkAssignable(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
  username: string,
): Promise<void> {
  const open = await app.conversations.open(app, caller, name, 'read')
  const user = await findUserByUsername(app.db, username)
  const units = user && (await accessOfUser(app, user, open.repository, open.owner))
  if (user?.state !== 'NORMAL' || !units || !suffices(units[unitOf(open)], 'read'))
    throw new DomainError('USER_NOT_FOUND', { name: metadataText(username) })
}

function unitOf({ conversation: { is_pull } }: OpenConversation): 'issues' | 'pulls' {
  return is_pull === 1 ? 'pulls' : 'issues'
}
