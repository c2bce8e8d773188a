import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { PullName } from '../../core/names.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type OpenPull, openPull, rereadForChange } from '../heads/open-pulls.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { updatePullRequest } from '../heads/pull-requests.rows.ts'
import { recordTimeline } from './pull-timeline.ts'

/** Maximum length of a reason. Compatible systems accept any text. */
const MAX_REASON_CHARACTERS = 255

/**
 * Locks the conversation of a pull request. Only users with write access then comment, review and
 * react. Has no effect on a locked one.
 *
 * @param reason any text, or empty.
 * @throws as `openPull`; INVALID_LOCK_REASON
 */
export async function lockConversation(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  reason: string,
): Promise<void> {
  const open = await openPull(app, caller, name, 'write')
  const given = reason.trim()
  if ([...given].length > MAX_REASON_CHARACTERS) throw new DomainError('INVALID_LOCK_REASON')
  await change(app, caller, open, given)
}

/**
 * Unlocks the conversation of a pull request, if it is locked.
 *
 * @throws as `openPull`
 */
export async function unlockConversation(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
): Promise<void> {
  const open = await openPull(app, caller, name, 'write')
  await change(app, caller, open, null)
}

/** @param reason null to unlock. */
async function change(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  reason: string | null,
): Promise<void> {
  await changeWatched(app, async (tx) => {
    const present = await rereadForChange(tx, open)
    if ((present.lock_reason === null) === (reason === null)) return
    const changed = await updatePullRequest(tx, present.id, { lock_reason: reason })
    const type = reason === null ? 'unlock' : 'lock'
    const actorId = caller.user.id
    await recordTimeline(app, tx, actorId, present.id, { type, newValue: reason ?? '' })
    await recordPullChange(app, tx, actorId, changed, { type: 'PULL_REQUEST_EDITED', told: [] })
  })
}

/**
 * Checks that a caller may add to the conversation of a pull request.
 *
 * @throws CONVERSATION_LOCKED
 */
export function checkNotLocked({
  access,
  pull,
}: {
  readonly access: OpenPull['access']
  readonly pull: Pick<OpenPull['pull'], 'lock_reason'>
}): void {
  if (pull.lock_reason !== null && !suffices(access, 'write'))
    throw new DomainError('CONVERSATION_LOCKED', { reason: pull.lock_reason })
}
