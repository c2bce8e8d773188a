import type { Db } from '../../platform/database/schema.ts'
import { blockExists } from '../accounts/users/blocks.rows.ts'
import { findAssignees } from '../conversations/assignees.ts'
import { findMilestone } from '../conversations/milestones.rows.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { IssueHookEvent } from './issue-changes.ts'

/** The assignees of a request, in the two forms that clients use. */
interface NamedAssignees {
  /** A username, in addition to `assignees`; empty for none. */
  readonly assignee: string
  /** Usernames. Undefined for no change. Ignored when the first one is empty. */
  readonly assignees: readonly string[] | undefined
}

/**
 * Returns the ids of the assignees that a request names; undefined for no change.
 */
export async function readAssignees(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  { assignee, assignees }: NamedAssignees,
): Promise<number[] | undefined> {
  if (assignees === undefined && assignee === '') return undefined
  const listed = assignees?.[0] === '' ? [] : (assignees ?? [])
  const names = [...listed, assignee].filter((name) => name !== '')
  return findAssignees(app, caller, open, 'issues', names)
}

export async function requireMilestone(
  db: Db,
  { repository }: OpenRepository,
  id: number,
): Promise<void> {
  if (!(await findMilestone(db, repository.id, id))) throw new DomainError('MILESTONE_NOT_FOUND')
}

/** Refuses a caller without write access whom the owner of the repository blocks. */
export async function checkWelcome(
  db: Db,
  { user }: SignedIn,
  { owner, access }: OpenRepository,
): Promise<void> {
  if (!suffices(access, 'write') && (await blockExists(db, [owner.id], user.id)))
    throw new DomainError('USER_BLOCKED')
}

/** Returns an event of webhooks for each user who is assigned or no longer assigned. */
export function assignEvents(
  before: readonly number[],
  after: readonly number[],
): IssueHookEvent[] {
  const added = after.filter((id) => !before.includes(id))
  const removed = before.filter((id) => !after.includes(id))
  return [
    ...added.map(() => ({ type: 'issue_assign', action: 'assigned' }) as const),
    ...removed.map(() => ({ type: 'issue_assign', action: 'unassigned' }) as const),
  ]
}

/** Returns the event of webhooks about changed labels. None if nothing has changed. */
export function labelEvents(before: readonly number[], after: readonly number[]): IssueHookEvent[] {
  const addedLabels = after.filter((id) => !before.includes(id))
  const removedLabels = before.filter((id) => !after.includes(id))
  if (addedLabels.length === 0 && removedLabels.length === 0) return []
  const action = after.length === 0 ? 'label_cleared' : 'label_updated'
  return [{ type: 'issue_label', action, addedLabels, removedLabels }]
}
