import type { Tx } from '../../platform/database/schema.ts'
import { isBlocked } from '../conversations/dependencies.rows.ts'
import type { Conversation, ReferenceAction } from '../conversations/schema.ts'
import type { OpenTarget } from '../conversations/text-references.ts'
import { nowSeconds } from '../core/core.ts'
import { suffices } from '../core/levels.ts'
import type { User } from '../core/schema.ts'
import { touchPull } from '../pulls/heads/pull-requests.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { recordDuplicate } from './duplicates.ts'
import { recordIssueChange } from './issue-changes.ts'
import { setIssueState } from './issues.rows.ts'

/** What a commit does to an issue. */
interface CommitAction {
  readonly action: ReferenceAction
  /** The id of the commit. */
  readonly commit: string
  /** Who pushed the commit, or merged the pull request. */
  readonly actorId: number
}

/** Returns whether a user may close and reopen a named issue: its poster, or who may write to issues. */
export function mayClose({ id }: User, { target, repository, open }: OpenTarget): boolean {
  if (target.is_pull === 1 || repository.archive_time !== null) return false
  return target.poster_id === id || suffices(open.units.issues, 'write')
}

/**
 * Closes or reopens an issue because of a commit. The caller has checked the right. An issue that is
 * in the state already, and one with an open dependency, stays as it is.
 */
export async function actOnIssue(
  app: ReposApp,
  tx: Tx,
  issue: Conversation,
  { action, commit, actorId }: CommitAction,
): Promise<void> {
  if (action === 'none' || (action === 'closes' && (await isBlocked(tx, issue.id)))) return
  const closes = action === 'closes'
  const now = nowSeconds(app.clock)
  if (!(await setIssueState(tx, issue.id, closes ? 'CLOSED' : 'OPEN', now))) return
  await touchPull(tx, issue.id, now, actorId)
  const changed = { ...issue, state_reason: '', duplicate_of_id: null } as const
  await recordDuplicate(app, tx, actorId, { before: issue, after: changed })
  await recordIssueChange(app, tx, actorId, changed, {
    type: closes ? 'ISSUE_CLOSED' : 'ISSUE_REOPENED',
    told: [{ type: 'issues', action: closes ? 'closed' : 'reopened', commit }],
  })
}
